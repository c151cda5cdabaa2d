package browsertest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromiumTab drives a tab with the DevTools protocol.
type chromiumTab struct{ p *tab }

// watch creates a tab from a Chromium context, and reports forbidden behaviour of its page to its test. done is called
// after the test.
func (h *house) watch(t testing.TB, ctx context.Context, done func()) *tab {
	t.Helper()
	p := h.newTab(t)
	p.ctx, p.driver = ctx, chromiumTab{p}
	watching, look := context.WithCancel(ctx)
	if err := chromedp.Listen(watching, p.saw); err != nil {
		t.Fatalf("no tab: %v", err)
	}
	// Every tab behaves as if it had the focus.
	p.do(command(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}))
	return p.watched(look, done)
}

// saw handles every event of the tab.
func (p *tab) saw(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		said := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			said += " " + e.ExceptionDetails.Exception.Description
		}
		p.complain("throw " + said)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var said []string
			for _, a := range e.Args {
				said = append(said, string(a.Value)+a.Description)
			}
			p.complain("write on the console: " + strings.Join(said, " "))
		}
	case *log.EventEntryAdded:
		// A refusal by the API is not an error of the page, but a policy violation is.
		bad := e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning
		if bad && e.Entry.Source != log.EntrySourceNetwork {
			p.complain(fmt.Sprintf("have the browser say (%s) %s", e.Entry.Source, e.Entry.Text))
		}
	case *network.EventLoadingFinished:
		p.receives(e.EncodedDataLength)
	case *network.EventRequestWillBeSent:
		p.requested(e.Request.Method, e.Request.URL)
	}
}

// command returns a protocol command as a step.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, c, params)
		return err
	})
}

// do runs steps of chromedp in the tab.
func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return chromedp.Do(ctx, steps...) })
}

func (d chromiumTab) evaluate(ctx context.Context, script string) ([]byte, error) {
	userGesture := func(e *runtime.EvaluateParams) {
		yes := true
		e.UserGesture = &yes
	}
	return chromedp.Run(ctx, chromedp.Evaluate[[]byte](script, chromedp.EvalAwaitPromise, userGesture))
}

func (d chromiumTab) open(ctx context.Context, address string) error {
	return chromedp.Do(ctx, command(page.Navigate, page.NavigateParams{URL: address}))
}

func (d chromiumTab) reload(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Reload()) }

func (d chromiumTab) everyDocument(ctx context.Context, script string) error {
	return chromedp.Do(ctx, command(page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
}

func (d chromiumTab) opened(context.Context) (*tab, error) {
	infos, err := chromedp.Targets(d.p.ctx)
	if err != nil {
		return nil, err
	}
	own := chromedp.FromContext(d.p.ctx)
	for _, info := range infos {
		if info.Type == "page" && info.OpenerID == own.Target.TargetID {
			ctx, cancel := chromedp.NewContext(d.p.ctx, chromedp.WithTargetID(target.ID(info.TargetID)))
			if err := chromedp.Do(ctx); err != nil { // attaches for the lifetime of this call's context
				cancel()
				return nil, err
			}
			return d.p.h.watch(d.p.t, ctx, cancel), nil
		}
	}
	return nil, nil
}

func (d chromiumTab) mouse(ctx context.Context, kind mouse, x, y float64) error {
	named := [...]input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved,
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased}[kind]
	if kind == mouseMove {
		return chromedp.Do(ctx, chromedp.MouseEvent(named, x, y, chromedp.ButtonLeft))
	}
	return chromedp.Do(ctx, chromedp.MouseEvent(named, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// key replaces chromedp's own KeyEvent, which types a letter even if the page handles the key.
func (d chromiumTab) key(ctx context.Context, k *kb.Key, modifiers int64) error {
	down := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Key: k.Key, Code: k.Code, Modifiers: modifiers,
		WindowsVirtualKeyCode: k.Windows, NativeVirtualKeyCode: k.Native,
	}
	if modifiers == 0 {
		down.Text, down.UnmodifiedText = k.Text, k.Unmodified
	}
	if k.Shift {
		down.Modifiers |= shift
	}
	up := down
	up.Type, up.Text, up.UnmodifiedText = input.DispatchKeyEventTypeKeyUp, "", ""
	return chromedp.Do(ctx, command(input.DispatchKeyEvent, down), command(input.DispatchKeyEvent, up))
}

func (d chromiumTab) write(ctx context.Context, text string) error {
	return chromedp.Do(ctx, command(input.InsertText, input.InsertTextParams{Text: text}))
}

func (d chromiumTab) size(ctx context.Context, width, height int64) error {
	return chromedp.Do(ctx, command(emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}))
}

func (d chromiumTab) colours(ctx context.Context, scheme string, forced bool) error {
	asked := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"}}
	if forced {
		asked = append(asked, &emulation.MediaFeature{Name: "forced-colors", Value: "active"})
	}
	return chromedp.Do(ctx, command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: asked}))
}

func (d chromiumTab) network(ctx context.Context, there bool) error {
	return chromedp.Do(ctx, connection(there))
}

// conditionsByRule contains offline in each rule, and once more for Chromium 148, which requires it for all rules
// together.
type conditionsByRule struct {
	network.EmulateNetworkConditionsByRuleParams
	Offline bool `json:"offline"`
}

// networkRule returns a step that allows the requests to a URL, or blocks them. An empty URL means all requests.
func networkRule(url string, there bool) chromedp.Action[chromedp.Void] {
	emulate := cdp.Command[conditionsByRule, network.EmulateNetworkConditionsByRuleResult]{
		Method: network.CommandEmulateNetworkConditionsByRule,
	}
	rule := network.Conditions{URLPattern: url, Offline: !there, DownloadThroughput: -1, UploadThroughput: -1}
	return command(emulate, conditionsByRule{
		network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{&rule}}, !there,
	})
}

// connection returns a step that reconnects the network, or disconnects it.
func connection(there bool) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(
		networkRule("", there),
		command(network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: !there,
			DownloadThroughput: -1, UploadThroughput: -1}),
	)
}

func (d chromiumTab) forget(ctx context.Context) error {
	return chromedp.Do(ctx, command(network.ClearBrowserCookies, cdp.Empty{}))
}

func (d chromiumTab) picture(ctx context.Context) ([]byte, error) {
	return chromedp.Run(ctx, chromedp.CaptureScreenshot())
}
