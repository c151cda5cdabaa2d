package browsertest

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// stranger books a time without the browser and returns the path of its manage link.
func (h *house) stranger(clock string) string {
	h.t.Helper()
	got := h.must(201, "POST", "/v1/appointment-types/checkup/book", map[string]any{
		"clientId": "a-patient-at-home-1", "slotStartDate": h.at(clock), "specialistId": "ada",
		"patient": map[string]any{"name": "Lena Vogt", "email": "lena@example.org"},
	})
	link, _ := got.get("appointment", "manageUrl").(string)
	at := strings.Index(link, "/manage#")
	if at < 0 {
		h.t.Fatalf("%s has no manage link", got.raw)
	}
	return link[at:]
}

// TestPatientMovesByLink: the appointment keeps its old time until the new one is confirmed. Then the old link stops
// working.
func TestPatientMovesByLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	link := h.stranger("10:00")
	p := h.tab(t)
	p.open(link)
	p.booked()
	p.says("Dr Ada Brandt")
	p.look("manage-1")
	p.click(".row + .row .btn")
	p.live()
	p.day(h.date)
	p.look("manage-2-change")
	p.choose(h.at("15:00"))
	p.click(".bar button")
	p.there(".move")
	if a := h.one(t); a["slotStartDate"] != h.at("10:00") {
		t.Errorf("before the new time is confirmed, the database has %v", a)
	}
	p.click(".actions .primary")
	p.says("Your appointment was moved.")
	if a := h.one(t); a["slotStartDate"] != h.at("15:00") {
		t.Errorf("the database has %v", a)
	}
	if strings.HasSuffix(ask[string](p, "location.href"), link) {
		t.Error("the old link is still in the address bar")
	}
	p.reload()
	p.booked()
	p.says("15:00")

	old := h.tab(t)
	old.open(link)
	old.says("This link no longer works. The link was replaced or has expired. Call 030 1234567.")
	old.there(`main a.btn[href^="/"]`)
	old.look("manage-3-dead")
}

// TestPatientCancelsByLink: neither opening the page nor requesting its address, as an email scanner does, cancels the
// appointment. A button does.
func TestPatientCancelsByLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	link := h.stranger("10:00")
	h.must(200, "GET", "/manage", nil)
	p := h.tab(t)
	p.open(link)
	p.booked()
	p.click(".btn.danger")
	p.there("#reason")
	p.look("manage-4-cancel")
	p.reload()
	p.there(".ticket")
	h.one(t)
	if p.count("#reason") == 0 {
		p.click(".btn.danger")
	}
	p.fill("#reason", "On holiday")
	p.click(".btn.solid")
	p.says("Cancelled. The time is free again.")
	p.accessible("a cancelled appointment")
	p.look("manage-5-cancelled")
	if list := h.bookings(); len(list) != 0 {
		t.Errorf("after the cancellation, the database has %v", list)
	}
	p.click(".notice.ok a")
	p.live()
	p.day(h.date)
	p.shows(h.at("10:00"), "free")
}

func TestManagePageRefusesLateChange(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	link := h.stranger("10:00")
	h.must(200, "PUT", "/v1/settings", map[string]any{"changeCutoffHours": 24 * 30}, asAdmin)
	p := h.tab(t)
	p.open(link)
	p.says("This appointment can no longer be changed online. Please call 030 1234567.")
	p.there("#link")
	if body := p.text("body"); strings.Contains(body, "You need it to change or cancel") {
		t.Errorf("a link that changes nothing is to be saved for changes: %s", body)
	}
	if n := p.count(".btn.danger"); n != 0 {
		t.Error("the button is still there after the cut-off")
	}
}

// TestPageLinksToWebCalendars: the page of an appointment has plain links that add it to Google Calendar and Outlook.
// They contain the time and the clinic, and nothing about the patient.
func TestPageLinksToWebCalendars(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	link := h.stranger("10:00")
	p := h.tab(t)
	p.open(link)
	p.booked()
	p.there(".calendars a[href]")
	google := ask[string](p, `document.querySelector('a[href^="https://calendar.google.com/"]').href`)
	outlook := ask[string](p, `document.querySelector('a[href^="https://outlook.live.com/"]').href`)
	for _, href := range []string{google, outlook} {
		u, err := url.Parse(href)
		if err != nil {
			t.Fatal(err)
		}
		title := u.Query().Get("text") + u.Query().Get("subject")
		if !strings.HasPrefix(title, "Check-up, ") || u.Query().Get("location") == "" {
			t.Errorf("the link has the title %q and the place %q", title, u.Query().Get("location"))
		}
		for _, secret := range []string{"Lena", "lena", "manage", link[len("/manage#"):]} {
			if strings.Contains(href, secret) {
				t.Errorf("the link contains %q: %s", secret, href)
			}
		}
	}
	start, err := time.Parse(time.RFC3339, h.at("10:00"))
	if err != nil {
		t.Fatal(err)
	}
	dates := start.UTC().Format("20060102T150405Z") + "/" + start.Add(30*time.Minute).UTC().Format("20060102T150405Z")
	if u, _ := url.Parse(google); u.Query().Get("dates") != dates {
		t.Errorf("Google's link has the times %q, want %q", u.Query().Get("dates"), dates)
	}
	if u, _ := url.Parse(outlook); u.Query().Get("startdt") != h.at("10:00") {
		t.Errorf("Outlook's link starts at %q, want %q", u.Query().Get("startdt"), h.at("10:00"))
	}
	p.accessible("an appointment with calendar links")
	p.shot("calendar-links")
}
