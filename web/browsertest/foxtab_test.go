package browsertest

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/chromedp/chromedp/kb"
)

// foxTab drives a tab of Firefox with WebDriver BiDi.
type foxTab struct {
	p       *tab
	context string
}

func (d foxTab) call(ctx context.Context, method string, params object) error {
	if err := firefox.bring(ctx, d.context); err != nil {
		return err
	}
	params["context"] = d.context
	return firefox.call(ctx, method, params, nil)
}

func (d foxTab) evaluate(ctx context.Context, script string) ([]byte, error) {
	if err := firefox.bring(ctx, d.context); err != nil {
		return nil, err
	}
	return firefox.evaluate(ctx, d.context, script)
}

func (d foxTab) open(ctx context.Context, address string) error {
	return d.call(ctx, "browsingContext.navigate", object{"url": address, "wait": "interactive"})
}

func (d foxTab) reload(ctx context.Context) error {
	return d.call(ctx, "browsingContext.reload", object{"wait": "complete"})
}

func (d foxTab) everyDocument(ctx context.Context, script string) error {
	return firefox.call(ctx, "script.addPreloadScript", object{"functionDeclaration": "() => {" +
		script + "}", "contexts": []string{d.context}}, nil)
}

func (d foxTab) opened(context.Context) (*tab, error) {
	firefox.mu.Lock()
	var other string
	for opened, by := range firefox.openers {
		if by == d.context && firefox.tabs[opened] == nil {
			other = opened
		}
	}
	firefox.mu.Unlock()
	if other == "" {
		return nil, nil
	}
	return d.p.h.watchFirefox(d.p.t, other, func() {}), nil // deleted with the user context of the first tab
}

func (d foxTab) mouse(ctx context.Context, kind mouse, x, y float64) error {
	steps := []object{{"type": "pointerMove", "x": x, "y": y}}
	if named := map[mouse]string{mouseDown: "pointerDown", mouseUp: "pointerUp"}[kind]; named != "" {
		steps = append(steps, object{"type": named, "button": 0})
	}
	return d.perform(ctx, object{"type": "pointer", "id": "mouse", "actions": steps})
}

// perform sends input actions to the page. At the end of a page, Tab moves the focus to the address bar. perform first
// moves the focus back to the page, because input from BiDi, unlike a person's input, does not do that.
func (d foxTab) perform(ctx context.Context, action object) error {
	if err := d.inside(ctx, `own.embedderElement.matches(':focus') || own.embedderElement.focus()`); err != nil {
		return err
	}
	return d.call(ctx, "input.performActions", object{"actions": []object{action}})
}

// webdriverKeys are WebDriver's names of the keys that type no letter.
var webdriverKeys = map[string]string{
	"Backspace": "\uE003", "Tab": "\uE004", "Enter": "\uE006", "Shift": "\uE008", "Control": "\uE009",
	"Escape": "\uE00C", "PageUp": "\uE00E", "PageDown": "\uE00F", "End": "\uE010", "Home": "\uE011",
	"ArrowLeft": "\uE012", "ArrowUp": "\uE013", "ArrowRight": "\uE014", "ArrowDown": "\uE015", "Delete": "\uE017",
}

func (d foxTab) key(ctx context.Context, k *kb.Key, modifiers int64) error {
	steps, err := webdriverPress(k, modifiers)
	if err != nil {
		return err
	}
	return d.keys(ctx, steps)
}

// webdriverPress returns the steps that press and release a key while modifiers are held down.
func webdriverPress(k *kb.Key, modifiers int64) ([]object, error) {
	value := k.Key
	if named := webdriverKeys[k.Key]; named != "" {
		value = named
	} else if len([]rune(value)) != 1 {
		return nil, fmt.Errorf("unknown key %q", value)
	}
	if k.Shift {
		modifiers |= shift
	}
	steps := []object{{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}}
	for modifier, held := range map[int64]string{shift: webdriverKeys["Shift"], ctrl: webdriverKeys["Control"]} {
		if modifiers&modifier != 0 {
			steps = slices.Concat([]object{{"type": "keyDown", "value": held}}, steps,
				[]object{{"type": "keyUp", "value": held}})
		}
	}
	return steps, nil
}

func (d foxTab) keys(ctx context.Context, steps []object) error {
	return d.perform(ctx, object{"type": "key", "id": "keys", "actions": steps})
}

func (d foxTab) write(ctx context.Context, text string) error {
	return d.keys(ctx, webdriverText(text))
}

// webdriverText returns the steps that press a key for each letter, because WebDriver has no command for pasting text.
func webdriverText(text string) []object {
	steps := []object{}
	for _, letter := range text {
		steps = append(steps, object{"type": "keyDown", "value": string(letter)},
			object{"type": "keyUp", "value": string(letter)})
	}
	return steps
}

func (d foxTab) size(ctx context.Context, width, height int64) error {
	return d.call(ctx, "browsingContext.setViewport", object{"viewport": object{"width": width, "height": height}})
}

// inside runs a script in the browser's own window. In the script, own is the browsing context of the tab.
func (d foxTab) inside(ctx context.Context, script string) error {
	_, err := firefox.evaluate(ctx, firefox.inside, `(own => { `+script+` })(
		ChromeUtils.importESModule('chrome://remote/content/shared/NavigableManager.sys.mjs').NavigableManager.getBrowsingContextById(`+quoted(d.context)+`))`)
	return err
}

// colours uses the browser's internals, because BiDi does not have a command for colours yet. The preferences turn
// animations off.
func (d foxTab) colours(ctx context.Context, scheme string, forced bool) error {
	replaced := map[bool]string{false: "none", true: "active"}[forced]
	return d.inside(ctx, `own.prefersColorSchemeOverride = `+quoted(scheme)+`; own.forcedColorsOverride = `+
		quoted(replaced))
}

func (d foxTab) network(ctx context.Context, there bool) error {
	var conditions any
	if !there {
		conditions = object{"type": "offline"}
	}
	return firefox.call(ctx, "emulation.setNetworkConditions",
		object{"contexts": []string{d.context}, "networkConditions": conditions}, nil)
}

func (d foxTab) forget(ctx context.Context) error {
	return firefox.call(ctx, "storage.deleteCookies",
		object{"partition": object{"type": "context", "context": d.context}}, nil)
}

func (d foxTab) picture(ctx context.Context) ([]byte, error) {
	var shot struct{ Data string }
	if err := firefox.call(ctx, "browsingContext.captureScreenshot", object{"context": d.context}, &shot); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(shot.Data)
}
