package browsertest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/clinic"
	"holdfast/store"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
)

// long is a realistic German word of 36 letters, which does not fit on one line of a heading on any phone.
const long = "Kieferorthopädiefachassistenzsprech" + "s"

// TestLongWordDoesNotWidenPage: texts from clinics and patients do not make a page wider than a phone, however long
// their words are.
func TestLongWordDoesNotWidenPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) {
		f.Clinic.Name, f.Clinic.Address, f.Clinic.Email = long, long+"straße 1, "+long, "post@"+
			strings.ToLower(strings.ReplaceAll(long, "ä", "ae"))+".example"
		f.AppointmentTypes[0].Name, f.AppointmentTypes[0].Description = long, long+long
		f.Specialists[0].Name = long
	})
	p := h.tab(t)
	fits := func(step string) {
		t.Helper()
		if wide := ask[int](p, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("%s is %d points wide on a screen of 390", step, wide)
		}
		p.shot("long-" + strings.ReplaceAll(step, " ", "-"))
	}
	p.open("/?lang=de")
	p.click(".card input[value=checkup]")
	p.click(".who input[value=ada]")
	fits("choosing what")
	p.click(".bar button")
	p.live()
	p.day(h.date)
	p.choose(h.at("10:00"))
	fits("choosing a time")
	p.click(".bar button")
	p.held()
	fits("giving details")
	p.fill("#name", long)
	p.fill("#email", strings.Repeat("x", 60)+"@example.org")
	p.click(".details [type=submit]")
	p.booked()
	fits("a booked appointment")
	p.reload()
	p.booked()
	p.click(".btn.danger")
	p.there("#reason")
	fits("cancelling")
	p.click(".actions .textlink")
	p.click(".row + .row .btn")
	p.live()
	fits("choosing another time")
	p.choose(ask[string](p, `document.querySelector('.chip[data-status=free]').dataset.start`))
	p.click(".bar button")
	p.there(".move")
	fits("confirming another time")
}

// TestCountdownShowsRemainingTime: the countdown of a hold is labelled as remaining time, so that it cannot be mistaken
// for a time of day.
func TestCountdownShowsRemainingTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	for lang, want := range map[string]string{
		"en": `^1[45]:\d\d min left$`, "de": `^noch 1[45]:\d\d Min\.$`, "es": `^quedan 1[45]:\d\d min$`,
		"en-XA": `1[45]:\d\d .*one`, "ar-XB": `1[45]:\d\d`,
	} {
		p.open("/?type=checkup&specialist=ada&lang=" + lang)
		p.held()
		p.until(`document.querySelector('.hold-left').innerText`)
		if got := p.text(".hold-left"); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: the countdown is %q, want %s", lang, got, want)
		}
		p.shot("countdown-" + lang)
	}
}

// TestPagesNameForeignZone: a user in a time zone other than the clinic's sees which zone the times are in, on every
// page with times.
func TestPagesNameForeignZone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.changed = true
	p.do(command(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/New_York"}))
	names := func(selector string) {
		t.Helper()
		if got := p.text(selector); !strings.Contains(got, "Coordinated Universal Time") {
			t.Errorf("%s shows %q, without the name of the time zone", selector, got)
		}
	}
	p.when("&specialist=ada")
	names(".times .zone")
	p.take(h.at("10:00"))
	names(".hold")
	p.confirm()
	p.booked()
	p.says("You're booked.")
	names(".ticket-said")
	p.look("book-4-booked-zone")
	p.click(".btn.danger")
	p.there("#reason")
	names(".ticket-when")
}

// TestConsoleNamesKeysOfLanguage: the list of shortcuts names the keys as a keyboard for the language of the page does.
// A short date is written in the same way with and without a time.
func TestConsoleNamesKeysOfLanguage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.leave()
	p.open("/staff?lang=de#day/" + h.date)
	p.board()
	p.key("?")
	p.there("dialog kbd")
	keys := ask[[]string](p, `[...document.querySelectorAll('dialog kbd')].map(x => x.innerText)`)
	for _, want := range []string{"Strg", "Umschalt", "Entf", "Pos1", "Ende", "Bild ↑"} {
		if !slices.Contains(keys, want) {
			t.Errorf("the keys are %q, without %s", keys, want)
		}
	}
	for _, other := range []string{"Ctrl", "Shift", "Del", "Home", "End", "PgUp"} {
		if slices.Contains(keys, other) {
			t.Errorf("a German page names the key %s", other)
		}
	}
	p.key(kb.Escape)
	p.closed()
	p.key("+")
	p.there(".found-time:focus")
	p.key(kb.Enter)
	p.there("#when-date")
	short := ask[string](p, `document.querySelector('#when-date').value`)
	full := ask[string](p, `document.querySelector('dialog header b').innerText`)
	if !strings.HasPrefix(full, short+", ") {
		t.Errorf("a short date is %q, and with a time %q", short, full)
	}
}
