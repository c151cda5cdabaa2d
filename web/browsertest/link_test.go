package browsertest

import (
	"regexp"
	"testing"
)

// TestOfflinePageRecovers: without a network the page shows the true state, and recovers automatically when the network
// is back.
func TestOfflinePageRecovers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.run(`window.sameDocument = true`)
	p.axe() // axe cannot be loaded later
	p.offline(true)
	p.there(".live[data-link=offline]")
	p.there(".notice.warn")
	if got := p.text(".notice.warn"); !regexp.MustCompile(`^No connection\. Times as of \d\d:\d\d\. We are trying to reconnect\.$`).MatchString(got) {
		t.Errorf("without a network, the page shows %q", got)
	}
	p.accessible("no connection")
	p.look("book-7-offline")
	h.hold("a-stranger-00001", "ada", h.at("10:00"), 300)
	p.offline(false)
	p.there(".live[data-link=live]")
	p.shows(h.at("10:00"), "held") // the page catches up with the changes made in the meantime
	p.until("!document.querySelector('.notice.warn')")
	if !ask[bool](p, `window.sameDocument === true`) {
		t.Error("the page was reloaded")
	}
}

func TestOfflinePageKeepsHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	p.offline(true)
	p.there(".notice.warn")
	if got := p.text(".notice.warn"); !regexp.MustCompile(`^No connection\. We are holding 10:00 for you until \d\d:\d\d\.$`).MatchString(got) {
		t.Errorf("without a network, the page shows %q", got)
	}
	p.offline(false)
	p.there(".live[data-link=live]")
	p.confirm()
	p.booked()
	h.one(t)
}

// TestLostAnswerBooksOnce: the server stores the booking, but its response is lost. The page repeats the request with
// the same key, and only one booking exists.
func TestLostAnswerBooksOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	h.loseAnswers("/book")
	p.confirm()
	p.says("We don't know yet whether we received your booking. Please do not book again.")
	p.accessible("an unknown outcome")
	p.look("book-8-unknown")
	h.one(t)
	// After a reload, the page still shows that the outcome is unknown.
	p.reload()
	p.says("Please do not book again.")
	h.loseAnswers("")
	p.until(`(document.querySelector('.notice .btn.primary')?.click(), document.querySelector('.ticket'))`)
	p.says("You're booked.")
	if a := h.one(t); a["slotStartDate"] != h.at("10:00") {
		t.Errorf("the database has %v", a)
	}
}
