package browsertest

import (
	"context"

	"github.com/chromedp/chromedp/kb"
)

// driver is the browser behind a tab, with the functions that both Chromium and Firefox support. Tests use p.do to call
// functions that only Chromium supports.
type driver interface {
	// evaluate runs a script with user activation, waits for its promise and returns the result as JSON, or nil for
	// undefined.
	evaluate(ctx context.Context, script string) ([]byte, error)
	// open navigates to an address and waits until the server begins to respond. reload waits until the page has
	// loaded.
	open(ctx context.Context, address string) error
	reload(ctx context.Context) error
	// everyDocument runs a script before the scripts of any page, for the lifetime of the tab.
	everyDocument(ctx context.Context, script string) error
	// opened returns the tab that a page in this tab has opened, or nil if there is none.
	opened(ctx context.Context) (*tab, error)

	// mouse performs one action with the left button, at a position in points from the top left corner of the page's
	// window.
	mouse(ctx context.Context, kind mouse, x, y float64) error
	// key presses and releases a key, with the modifier shift or ctrl, or with 0 for none. If a letter needs the shift
	// key, key adds it.
	key(ctx context.Context, k *kb.Key, modifiers int64) error
	// write types text into the focused element.
	write(ctx context.Context, text string) error

	// size sets the size of the window, in points.
	size(ctx context.Context, width, height int64) error
	// colours sets the preferences of the reader's system: light or dark, and whether it replaces the colours of the
	// page. Animations are off.
	colours(ctx context.Context, scheme string, forced bool) error
	// network disconnects or reconnects the network.
	network(ctx context.Context, there bool) error
	// forget deletes the cookies that the tab can see.
	forget(ctx context.Context) error
	// picture returns a PNG of the visible part of the page.
	picture(ctx context.Context) ([]byte, error)
}

// mouse is one action of a mouse.
type mouse int

const (
	mouseMove mouse = iota
	mouseDown
	mouseUp
)
