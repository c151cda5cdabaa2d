package browsertest

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/store"
	"holdfast/web"
)

// newDemo returns a house with the page /demo and its user.
func newDemo(t testing.TB) *house {
	t.Helper()
	h := newHouseWith(t, engine.Options{}, web.Options{Demo: true})
	owner := account.NewUser{Email: web.DemoEmail, Name: "Robin Harbour", Role: store.RoleOwner,
		Password: web.DemoPassword}
	if _, err := h.engine.Account.CreateUser(t.Context(), "system", owner); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestDemoShowsHoldOnThreePages: a time that is taken on the left phone turns grey on the right one and appears as a
// ghost at the desk, all in one window.
func TestDemoShowsHoldOnThreePages(t *testing.T) {
	t.Parallel()
	h := newDemo(t)
	p := h.tab(t)
	p.size(1600, 1000)
	p.open("/demo?lang=en")
	p.until(`document.querySelectorAll('iframe').length === 3`)
	p.run(`window.left = document.querySelectorAll('iframe')[0], window.desk = document.querySelectorAll('iframe')[1], window.right = document.querySelectorAll('iframe')[2]`)
	in := func(frame, selector string) string {
		return frame + `.contentDocument.querySelector(` + quoted(selector) + `)`
	}
	for _, phone := range []string{"left", "right"} {
		p.until(in(phone, ".live[data-link=live]"))
		p.until(in(phone, `.day input[value="`+h.date+`"]`))
		p.run(in(phone, `.day input[value="`+h.date+`"]`) + `.click()`)
		p.until(in(phone, chip(h.at("09:00"))))
	}
	p.run(`desk.contentWindow.location.hash = 'day/` + h.date + `'`)
	p.until(in("desk", ".busywrap:not(.loading) .board"))
	h.hold("a-stranger-00001", "karim", h.at("09:00"), 600) // so that the phone's hold takes the last specialist
	p.run(in("left", chip(h.at("09:00"))+" input") + `.click()`)
	// The desk opens the day and marks the time that is selected on the phone. It checks the phones only three times a
	// second, so the test waits for the mark before it presses the button.
	p.until(in("desk", ".touched"))
	p.run(in("left", ".bar button") + `.click()`)
	p.until(in("left", ".hold[data-phase=held]"))
	p.until(in("right", chip(h.at("09:00"))+`[data-status="held"]`))
	p.until(in("desk", `[data-col=ada] .ghosted`))
}

// TestDemoIsAccessible checks the demo's window in each language and both themes.
func TestDemoIsAccessible(t *testing.T) {
	t.Parallel()
	for _, lang := range languagesOf(t) {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			p := newDemo(t).tab(t)
			p.size(1600, 1000)
			p.open("/demo?lang=" + lang)
			p.until(`document.querySelectorAll('iframe').length === 3 && document.querySelectorAll('iframe')[1].contentDocument.querySelector('.board')`)
			p.accessible("the demo")
			if lang == "en" {
				p.shot("demo-1")
			}
			p.click(".race .btn")
			p.there(".score")
			if got := ask[[]string](p, `[...document.querySelectorAll('.score dd')].slice(0, 3).map(d => d.innerText)`); len(got) != 3 || got[0] != "1" || got[1] != "49" || got[2] != "0" {
				t.Errorf("the race ended with %v, want 1 booked, 49 refused, 0 overlaps", got)
			}
			p.accessible("the race")
			if lang == "en" {
				p.shot("demo-2")
			}
		})
	}
}

// TestDemoSurvivesNetworkCut: the left phone loses its connection, shows that, and reconnects. The bookings are
// counted before and after.
func TestDemoSurvivesNetworkCut(t *testing.T) {
	t.Parallel()
	h := newDemo(t)
	h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup",
		"specialistId": "ada", "slotStartDate": h.at("09:00"), "patient": map[string]any{"name": "Lena Vogt"}}, asAdmin)
	p := h.tab(t)
	p.size(1600, 1000)
	p.open("/demo?lang=en")
	p.until(`document.querySelectorAll('iframe')[0]?.contentDocument.querySelector('.live[data-link=live]')`)
	p.press("Disconnect phone 1")
	p.says("Appointments so far: 1.")
	p.until(`document.querySelectorAll('iframe')[0].contentDocument.body.innerText.includes('No connection')`)
	p.accessible("a phone without a connection")
	h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup",
		"specialistId": "ada", "slotStartDate": h.at("10:00"), "patient": map[string]any{"name": "Per Lind"}}, asAdmin)
	p.press("Reconnect phone 1")
	p.says("Appointments before: 1; still there: 1; booked in the meantime: 1. Nothing was lost.")
	p.until(`!document.querySelectorAll('iframe')[0].contentDocument.body.innerText.includes('No connection')`)
}
