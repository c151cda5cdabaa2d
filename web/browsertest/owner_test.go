package browsertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// state is a page of the console, or a dialog on it: how to open it from the previous page, and the selector of an
// element that shows that it is open. A state without a hash is a dialog on the page before it, and Escape closes it.
type state struct {
	name, hash string
	open       string // the element to click
	there      string
}

// office are the pages other than the calendar, with their dialogs.
var office = []state{
	{"specialists", "specialists", "", ".lines .line:nth-child(2)"},
	{"a new specialist", "", ".office-tools .btn.primary", "dialog #name"},
	{"switching a specialist off", "", ".line-do .btn.quiet", "dialog .btn.solid"},
	{"hours", "hours/ada", "", ".window"},
	{"overrides", "overrides/ada", "", ".lines .line"},
	{"days off", "", ".office-tools .btn.primary", "dialog #from"},
	{"absences", "away", "", ".lines .line"},
	{"an absence", "", "a.line-title", ".away-rows tbody tr"},
	{"a new absence", "away/new/karim", "", "#away-until"},
	{"types", "types", "", ".lines .line:nth-child(3)"},
	{"a type", "", ".line-do .btn", "dialog #name"},
	{"requests", "requests", "", ".lines .line"},
	{"declining a request", "", ".line-do .btn.quiet", "dialog .btn.solid"},
	{"queue", "queue", "", ".lines .line:nth-child(2)"},
	{"giving up", "", ".line-do .btn.quiet", "dialog .btn.solid"},
	{"sessions", "sessions", "", ".lines.inner .line:nth-child(2)"},
	{"online", "online/karim", "", ".online .line"},
	{"live", "live", "", ".charts > .plate:last-child tbody tr"},
	{"users", "users", "", ".lines .line"},
	{"a new user", "", ".office-tools .btn.primary", "dialog #password"},
	{"keys", "keys", "", ".lines .line"},
	{"a new key", "", ".office-tools .btn.primary", "dialog #name"},
	{"settings", "settings", "", ".setting .hook"},
	{"reports", "reports", "", ".bars rect"},
	{"audit", "audit", "", ".lines .line details"},
	{"data", "data", "", "#export-from"},
	{"account", "account", "", ".lines.inner .line"},
}

// furnished returns a practice with data on every page of the console: a queue with a waiting booking and one with an
// unknown outcome, a request for a session and one for an appointment, days off, an absence, a key, a webhook, holds.
func furnished(t testing.TB) *house {
	t.Helper()
	h, fake := newPractice(t, 0)
	// enough outcomes for any test that checks the queue
	fake.Outcomes(slices.Repeat([]upstreamtest.Outcome{upstreamtest.RateLimited}, 20)...)
	h.queued("Lena Vogt", "09:00", "pending", false)
	per := h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "longer", "specialistId": "karim", "slotStartDate": h.at("10:00"), "patient": map[string]any{"name": "Per Lind", "phone": "030 1112233", "notes": "Comes with a dog"},
	}, asAdmin)
	h.must(201, "POST", "/v1/specialists/ada/overrides", map[string]any{"date": "2030-12-24", "closed": true, "reason": "Christmas"}, asAdmin)
	h.must(201, "POST", "/v1/api-keys", map[string]any{"name": "Phone agent", "scope": "agent"}, asAdmin)
	h.must(200, "PUT", "/v1/settings", map[string]any{"publicBookings": map[string]any{"confirm": true}}, asAdmin)
	h.must(202, "POST", "/v1/appointment-types/checkup/book", map[string]any{
		"clientId": "a-visitor-who-asks-1", "slotStartDate": h.at("15:00"), "patient": map[string]any{"name": "Omar Ruiz", "phone": "030 1112233"},
	})
	h.must(200, "PUT", "/v1/settings", map[string]any{
		"webhooks":    []map[string]any{{"url": "https://hooks.example.org/holdfast", "active": true}},
		"bookingRule": map[string]any{"url": "https://rules.example.org/booking"}, "embedOrigins": []string{"https://praxis.example"},
	}, asAdmin)
	h.must(200, "POST", "/v1/specialists/karim/online", nil, asAdmin)
	h.asks("a-patient-at-home-1")
	taken := h.asks("a-patient-at-home-2")
	h.must(200, "POST", "/v1/sessions/"+taken+"/accept", map[string]any{"specialistId": "karim"}, asAdmin)
	h.hold("a-stranger-00001", "ada", h.at("11:00"), 600)
	h.must(201, "POST", "/v1/absences", map[string]any{
		"specialistId": "karim", "start": h.at("09:30"), "end": h.at("11:30"), "reason": "Course", "choices": []map[string]any{
			{"appointmentId": per.get("appointment", "id"), "by": "call", "specialistId": "karim", "slotStartDate": h.at("16:00")},
		},
	}, asAdmin)
	return h
}

// visit opens the states one after another, and calls do in each.
func (p *tab) visit(lang string, states []state, do func(state)) {
	p.t.Helper()
	for _, s := range states {
		if s.hash != "" {
			p.open("/staff?lang=" + lang + "#" + s.hash)
		}
		if s.open != "" {
			p.click(s.open)
		}
		p.there(s.there)
		p.until(`!document.querySelector('[aria-busy=true]')`)
		do(s)
		if s.hash == "" {
			p.key(kb.Escape)
			p.until(`!document.querySelector('dialog')`)
		}
	}
}

// TestSettingsPagesAreAccessible checks every page except the calendar and its dialogs, in each language and both
// themes.
func TestSettingsPagesAreAccessible(t *testing.T) {
	t.Parallel()
	for _, lang := range languagesOf(t) {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			h := furnished(t)
			email := h.staff(store.RoleOwner)
			p := h.tab(t)
			p.size(1280, 800)
			p.open("/staff?lang=" + lang + "#day/" + h.date)
			p.signIn(email)
			p.visit(lang, office, func(s state) {
				p.accessible(s.name)
				if lang != "ar-XB" {
					p.shot("office-" + strings.ReplaceAll(s.name, " ", "-") + "-" + lang)
				}
			})
			// The new key is shown once.
			p.open("/staff?lang=" + lang + "#keys")
			p.click(".office-tools .btn.primary")
			p.there("dialog #name:focus")
			p.key("till")
			p.click("dialog [type=submit]")
			p.there("dialog #key")
			p.accessible("a key that is shown once")
		})
	}
}

// TestOwnerSendsTestEmail checks that an owner who sends a test email sees that no mail server is set up.
func TestOwnerSendsTestEmail(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.there("#origins")
	p.until(`(b => b && (b.id = 'mail-test'))([...document.querySelectorAll('.setting .btn')].find(b => b.innerText === 'Send a test email to me'))`)
	p.click("#mail-test")
	p.says("This server sends no email.")
}
