package browsertest

import (
	"regexp"
	"testing"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// refusals are the server's codes that a page shows a sentence for. public_bookings is a reason of rate_limited, and
// internal has no specific text.
var refusals = []string{
	"cooldown_active", "quota_exceeded", "storage_unavailable", "storage_full", "overloaded", "forbidden", "not_found",
	"version_mismatch", "not_bookable", "validation_failed", "rate_limited", "public_bookings", "internal",
}

// blank matches a gap that a missing value leaves in a sentence.
var blank = regexp.MustCompile(`[{}]|\s[.,:;]|\b(call|a|an|from|of|to)\s*[.,:;]|\b(undefined|null|NaN|Invalid Date)\b`)

// TestSentencesHaveNoGaps: no sentence about a refusal has a gap on any page, even if the server has sent only a code
// and the clinic has no phone number.
func TestSentencesHaveNoGaps(t *testing.T) {
	t.Parallel()
	silent := func(f *clinic.File) { f.Clinic.Phone = "" }
	// press presses a button, refuses the request that it sends in each way, and checks each sentence.
	press := func(t *testing.T, p *tab, button string) {
		t.Helper()
		p.there(button)
		p.run(`(() => {
			const real = window.fetch
			window.fetch = (to, o) => {
				if (!o || o.method === 'GET' || /select$/.test(to)) return real(to, o)
				const said = window.refuse
				setTimeout(() => { window.refused = said }, 100) // after the page has processed it
				const code = said === 'public_bookings' ? 'rate_limited' : said
				return Promise.resolve(new Response(JSON.stringify({ code, status: 409, reason: said === 'public_bookings' ? said : undefined }), { status: 409 }))
			}
		})()`)
		for _, refusal := range refusals {
			p.run(`window.refuse = ` + quoted(refusal) + `, window.refused = ''`)
			p.there(button + `:not([aria-disabled=true])`)
			p.run(`document.querySelector(` + quoted(button) + `).click()`)
			p.until(`window.refused === ` + quoted(refusal))
			p.there(".notice")
			for _, text := range ask[[]string](p, `[...document.querySelectorAll('.notice')].map(e => e.innerText)`) {
				if text == "" || blank.MatchString(text) {
					t.Errorf("%s: the page contains %q", refusal, text)
				}
			}
		}
		p.forgive()
	}
	t.Run("holding", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, silent)
		p := h.tab(t)
		p.when("&specialist=ada")
		p.choose(h.at("10:00"))
		press(t, p, ".bar button")
	})
	t.Run("cancelling", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, silent)
		p := h.tab(t)
		p.open(h.stranger("10:00"))
		p.click(".btn.danger")
		press(t, p, ".actions [type=submit]")
	})
	t.Run("moving", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, silent)
		p := h.tab(t)
		p.open(h.stranger("10:00"))
		p.click(".row + .row .btn")
		p.live()
		p.day(h.date)
		p.choose(h.at("15:00"))
		press(t, p, ".bar button")
	})
	t.Run("confirming", func(t *testing.T) {
		t.Parallel()
		h := everyBookingConfirmed(t)
		h.must(200, "PUT", "/v1/clinic", map[string]any{"contact": map[string]any{"phone": ""}}, asAdmin)
		h.must(202, "POST", "/v1/appointment-types/checkup/book", map[string]any{
			"clientId": "a-visitor-of-sentences", "slotStartDate": h.at("10:00"),
			"patient": map[string]any{"name": "Lena Sorge", "email": "visitor@example.org"},
		})
		r := h.requests()[0]
		p := h.tab(t)
		p.open("/manage?lang=en#" + h.engine.Booking.ManageToken(&store.Appointment{ID: r.ID, SlotEnd: r.SlotEnd,
			CreatedAt: r.CreatedAt}))
		press(t, p, ".actions .primary")
	})
	t.Run("waiting", func(t *testing.T) {
		t.Parallel()
		h := mailing(t, silent, func(f *clinic.File) { f.Specialists[0].WeeklyHours = nil })
		p := h.tab(t)
		p.open("/?lang=en&type=class")
		p.click(".times .btn")
		p.there("#email")
		p.fill("#name", "Lena Sorge")
		p.fill("#email", "lena@example.org")
		press(t, p, ".actions .primary")
	})
	t.Run("setting up", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, empty)
		path, token := h.setupLink(t)
		p := h.tab(t)
		p.open(path + "?lang=en#" + token)
		for field, text := range map[string]string{"#clinic": "Harbour Clinic", "#name": "Olga Owner",
			"#email": "olga@example.org", "#password": "a few words together"} {
			p.there(field)
			p.fill(field, text)
		}
		press(t, p, "main [type=submit], form [type=submit]")
	})
	t.Run("the office", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, silent)
		p := h.desk(t, store.RoleOwner)
		p.open("/staff?lang=en#settings")
		p.fill("#consent", "We keep what you type.")
		press(t, p, ".settings [type=submit]")
	})
}
