package browsertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// spoken returns the label of a time for a screen reader.
func (p *tab) spoken(start string) string {
	p.t.Helper()
	return ask[string](p, `document.querySelector(`+quoted(chip(start)+" input")+`).getAttribute('aria-label')`)
}

// unlooked waits until no selection of a time is shown.
func (p *tab) unlooked(start string) {
	p.t.Helper()
	p.until(`document.querySelector(` + quoted(chip(start)+":not(.looking)") + `)`)
}

// TestSelectionOfClosedTabExpires: a phone that switches off sends nothing, not even a release. Its selection expires
// within ten seconds.
func TestSelectionOfClosedTabExpires(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	own, closeIt := chromedp.NewContext(chromium.open(t), chromedp.WithNewBrowserContext())
	a, b := h.watch(t, own, closeIt), h.tab(t)
	start := h.at("10:00")
	for _, p := range []*tab{a, b} {
		p.when("&specialist=ada")
	}
	a.choose(start)
	b.there(chip(start) + ".looking")
	if got := b.spoken(start); got != "10:00, someone is looking at this time" {
		t.Errorf("the name of a selected time is %q", got)
	}
	if got := ask[string](b, `getComputedStyle(document.querySelector(`+quoted(chip(start)+" .face")+
		`), '::after').borderTopColor`); got != "rgb(122, 75, 0)" {
		t.Errorf("the ring of a selected time is %s, want the amber of --warn", got)
	}

	// A crashed page does not respond, so the test does not wait for it.
	crash, cancel := context.WithTimeout(own, time.Second)
	defer cancel()
	_ = chromedp.Do(crash, command(page.Crash, cdp.Empty{}))
	killed := time.Now()
	b.unlooked(start)
	t.Logf("from the crash to the other tab no longer showing the selection: %v (at most 10s after the last renewal)", time.Since(killed))
	if got := b.spoken(start); got != "10:00" {
		t.Errorf("the name of a time that is no longer selected is %q", got)
	}
	b.shows(start, "free")
}

// TestPagePollsWithoutStream: a network that breaks event streams (a proxy that buffers, a filter) still allows plain
// requests. After three failed streams the page polls instead, shows the same information, and returns to the stream
// when it works again.
func TestPagePollsWithoutStream(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.streams(false)
	p.open("/?lang=en&type=checkup&specialist=ada")
	p.there(".live[data-link=polling]")
	if n := ask[int](p, `performance.getEntriesByType('resource').filter(e => e.name.includes('/v1/holds/stream')).length`); n < 3 {
		t.Errorf("the page stopped reconnecting after %d attempts, want 3", n)
	}
	p.day(h.date)
	start, other := h.at("10:00"), h.at("11:00")

	// The page shows other clients' actions: a selection appears and expires, and a hold greys the time out. The other
	// client renews its selection until the page shows it, because a selection lasts only ten seconds, and on a busy
	// machine a page that polls every five seconds could miss it.
	looking, stop := context.WithCancel(t.Context())
	var stranger sync.WaitGroup
	stranger.Go(func() {
		again := time.NewTicker(2 * time.Second)
		defer again.Stop()
		for looking.Err() == nil {
			_, _ = h.ask("POST", "/v1/slots/select", map[string]any{
				"clientId": "a-stranger-00001", "appointmentTypeId": "checkup", "slotStartDate": start,
				"specialistId": "ada",
			})
			select {
			case <-looking.Done():
			case <-again.C:
			}
		}
	})
	t.Cleanup(func() { stop(); stranger.Wait() })
	p.there(chip(start) + ".looking")
	stop()
	p.unlooked(start)
	h.hold("a-stranger-00001", "ada", start, 300)
	p.shows(start, "held")

	// Other clients see the selected time, even one that connects later, and each poll renews the selection.
	p.choose(other)
	neighbour := h.tab(t)
	neighbour.when("&specialist=ada")
	neighbour.there(chip(other) + ".looking")

	// When the stream works again, the page uses it without a reload, and stops polling.
	p.run(`window.sameDocument = true`)
	p.streams(true)
	p.there(".live[data-link=live]")
	h.hold("a-stranger-00002", "ada", h.at("12:00"), 300)
	p.shows(h.at("12:00"), "held")
	p.shows(start, "held")
	if !ask[bool](p, `window.sameDocument === true`) {
		t.Error("the page was reloaded")
	}
	if polls := `performance.getEntriesByType('resource').filter(e => e.name.includes('/v1/slots/poll')).length`; ask[int](p, polls) == 0 {
		t.Error("the page never requested /v1/slots/poll")
	}
}

// streams blocks only the event streams of a tab, or allows them again.
func (p *tab) streams(there bool) {
	p.t.Helper()
	p.do(networkRule("http://"+p.host+"/v1/holds/stream", there))
}

// TestPointingSelectsTime: a mouse that rests on a time marks it for other visitors, as focus does, until the mouse
// leaves.
func TestPointingSelectsTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a, b := h.tab(t), h.tab(t)
	for _, p := range []*tab{a, b} {
		p.when("&specialist=ada")
	}
	start := h.at("10:00")
	a.there(chip(start))
	x, y := a.place(chip(start))
	a.mouse(mouseMove, x, y)
	b.there(chip(start) + ".looking")
	a.mouse(mouseMove, 1, 1)
	b.unlooked(start)
}
