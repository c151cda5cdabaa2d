package browsertest

import (
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// What the device is like that a tab is on: its size, its colours and its network.

func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.do(command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}))
}

// theme is what the reader's system asks for: light or dark. Nothing moves, so that a picture is of the end.
func (p *tab) theme(name string) {
	p.t.Helper()
	p.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}))
}

// ownColours has the reader's system replace every colour by its own few, light on dark.
func (p *tab) ownColours() {
	p.t.Helper()
	p.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "forced-colors", Value: "active"}, {Name: "prefers-color-scheme", Value: "dark"}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}))
	if !ask[bool](p, `matchMedia('(forced-colors: active)').matches`) {
		p.t.Fatal("the colours are not forced, and the test proves nothing")
	}
}

// offline takes the network away, or gives it back.
func (p *tab) offline(away bool) {
	p.t.Helper()
	p.do(connection(!away))
}

// connection is the step that takes the network away or gives it back.
func connection(there bool) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(
		command(network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
			{Offline: !there, DownloadThroughput: -1, UploadThroughput: -1},
		}}),
		command(network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: !there, DownloadThroughput: -1, UploadThroughput: -1}),
	)
}
