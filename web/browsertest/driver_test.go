package browsertest

import (
	"context"

	"github.com/chromedp/chromedp/kb"
)

// driver is the browser behind a tab, as far as Chromium and Firefox both go. What Chromium alone can do, a test asks with p.do.
type driver interface {
	// evaluate runs a script as if a person had asked for it, waits for its promise and gives the JSON of what it comes to:
	// nil for undefined.
	evaluate(ctx context.Context, script string) ([]byte, error)
	// open goes to an address and waits until it has begun to answer; reload waits until the page is there.
	open(ctx context.Context, address string) error
	reload(ctx context.Context) error
	// everyDocument runs a script before those of any page, for as long as the tab lives.
	everyDocument(ctx context.Context, script string) error
	// opened is the tab that a page of this one has opened, nil if none has.
	opened(ctx context.Context) (*tab, error)

	// mouse does one thing with the left button, in points from the top left corner of the page's window.
	mouse(ctx context.Context, kind mouse, x, y float64) error
	// key presses a key and lets go, with shift, ctrl or 0. A letter that needs the shift key has it.
	key(ctx context.Context, k *kb.Key, modifiers int64) error
	// write puts a text where the focus is.
	write(ctx context.Context, text string) error

	// size is the window's, in points.
	size(ctx context.Context, width, height int64) error
	// colours are what the reader's system asks for: light or dark, and whether it replaces those of the page. Nothing moves.
	colours(ctx context.Context, scheme string, forced bool) error
	// network takes the network away, or gives it back.
	network(ctx context.Context, there bool) error
	// forget has the browser forget the cookies that the tab can see.
	forget(ctx context.Context) error
	// picture is a PNG of what is seen.
	picture(ctx context.Context) ([]byte, error)
}

// mouse is one thing that is done with a mouse.
type mouse int

const (
	mouseMove mouse = iota
	mouseDown
	mouseUp
)
