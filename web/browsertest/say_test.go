package browsertest

import (
	"fmt"
	"slices"
	"testing"
)

// hear collects all announcements in window.heard. An announcement disappears from the page after a while.
const hear = `(() => {
	window.heard = []
	const note = () => document.querySelectorAll('[aria-live]').forEach(e => {
		const said = e.textContent.trim()
		if (said && said !== window.heard.at(-1)) window.heard.push(said)
	})
	new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true })
})()`

// TestCountdownIsAnnouncedThreeTimes: a screen reader announces the countdown at five, two and one minutes and at no
// other time, and never the holds of other clients. The test changes the page's own clock, as
// TestHoldIsExtendedTenTimes does.
func TestCountdownIsAnnouncedThreeTimes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.run(hear)
	p.ownClock()
	h.hold("a-stranger-00001", "ada", h.at("12:00"), 300)
	p.shows(h.at("12:00"), "held")
	p.take(h.at("10:00"))
	h.hold("a-stranger-00002", "ada", h.at("13:00"), 300)
	var want []string
	for _, minutes := range []int{10, 5, 4, 2, 1} {
		p.run(fmt.Sprintf(`(() => {
			const [m, s] = document.querySelector('.hold-left').innerText.match(/\d+/g)
			window.later += (m * 60 + +s - %d * 60) * 1000
		})()`, minutes))
		p.until(fmt.Sprintf(`document.querySelector('.hold-left').innerText.match(/\d+/)[0] < %d`, minutes))
		switch minutes {
		case 5:
			want = append(want, "10:00 is held for 5 more minutes.")
		case 2:
			want = append(want, "10:00 is held for 2 more minutes.")
		case 1:
			want = append(want, "10:00 is held for 1 more minute.")
		}
		if len(want) > 0 {
			p.until(`window.heard.includes(` + quoted(want[len(want)-1]) + `)`)
		}
	}
	if got := ask[[]string](p, `window.heard`); !slices.Equal(got, want) {
		t.Errorf("spoken: %q, want %q", got, want)
	}
}

// TestAnnouncementDoesNotStay: a screen reader announces the booking. Later the text is no longer at the end of the
// page, where it would be wrong after a cancellation.
func TestAnnouncementDoesNotStay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.run(hear)
	p.take(h.at("10:00"))
	p.confirm()
	p.booked()
	p.until(`window.heard.some(text => text.includes('booked'))`)
	p.until(`[...document.querySelectorAll('body > [aria-live]')].every(e => e.textContent === '')`)
}
