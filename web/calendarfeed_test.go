package web_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestCalendarFeed: a specialist's calendar is read at an address that is shown once. The calendar is up to date, and
// contains no names unless they were requested. The address stops working when it is revoked or another one is created.
func TestCalendarFeed(t *testing.T) {
	h := newHouse(t)
	read := func(address string, headers ...header) *reply {
		t.Helper()
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return h.do("GET", u.Path, nil, headers...)
	}
	feed := "/v1/specialists/ada/calendar-feed"
	if got := h.do("GET", feed, nil, asAdmin).want(200); got.get("calendarFeed", "on") != false {
		t.Errorf("before there is one: %s", got.raw)
	}
	made := h.do("POST", feed, map[string]any{}, asAdmin).want(201)
	address := made.text("calendarFeed", "url")
	if webcal := made.text("calendarFeed", "webcal"); !strings.HasPrefix(webcal, "webcal://") ||
		!strings.HasSuffix(address, strings.TrimPrefix(webcal, "webcal")) {
		t.Errorf("got %s and %s", address, webcal)
	}
	if got := h.do("GET", feed, nil, asAdmin).want(200); got.get("calendarFeed", "on") != true ||
		strings.Contains(got.raw, "url") {
		t.Errorf("the answer repeats the address: %s", got.raw)
	}
	empty := read(address).want(200)
	tag := header{"If-None-Match": empty.header.Get("ETag")}
	read(address, tag).want(304)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	lines := unfolded(t, read(address, tag).want(200).raw)
	if lines["UID"] != booked.text("appointment", "id")+"@holdfast" ||
		lines["DTSTART"] != h.start.Format("20060102T150405Z") || lines["SUMMARY"] != "checkup" {
		t.Errorf("with one appointment: %v", lines)
	}
	if text := read(address, header{"Accept-Encoding": "gzip"}).want(200); text.header.Get("Content-Encoding") != "" {
		t.Error("the secret address is compressed")
	} else if strings.Contains(text.raw, "Patient 1") || strings.Contains(text.raw, "1234567") {
		t.Errorf("it contains a person:\n%s", text.raw)
	}
	named := h.do("POST", feed, map[string]any{"names": true}, asAdmin).want(201).text("calendarFeed", "url")
	read(address).problem(404, "not_found")
	if lines := unfolded(t, read(named).want(200).raw); lines["SUMMARY"] != `Patient 1\, checkup` {
		t.Errorf("with names: %v", lines)
	}
	h.do("POST", "/v1/appointments/managed/cancel", nil, booked.managing()).want(200)
	if text := read(named).want(200).raw; strings.Contains(text, "VEVENT") {
		t.Errorf("it contains the cancelled appointment:\n%s", text)
	}

	// Neither the clinic file nor the audit log contains the secret of the address, and importing a file does not
	// revoke the address.
	file := h.do("GET", "/v1/export", nil, asAdmin).want(200).raw
	audit := h.do("GET", "/v1/audit", nil, asAdmin).want(200).raw
	if strings.Contains(file, `"feed"`) || strings.Contains(audit, `"hash"`) ||
		!strings.Contains(audit, "specialist.feed_made") {
		t.Errorf("the clinic file or the audit log contains the address: %s\n%s", file, audit)
	}
	h.do("PATCH", "/v1/specialists/ada", map[string]any{"line": "Children"}, asAdmin).want(200)
	h.do("POST", "/v1/import", file, asAdmin).want(200)
	read(named).want(200)
	h.do("DELETE", feed, nil, asAdmin).want(200)
	read(named).problem(404, "not_found")
	read("/v1/calendars/.ics").problem(404, "not_found")
	h.do("POST", "/v1/specialists/nobody/calendar-feed", map[string]any{}, asAdmin).problem(404, "not_found")
}

// TestFeedOfDeactivatedSpecialistIsClosed: the calendar of a deactivated specialist can no longer be read.
func TestFeedOfDeactivatedSpecialistIsClosed(t *testing.T) {
	h := newHouse(t)
	address := h.do("POST", "/v1/specialists/ada/calendar-feed", map[string]any{},
		asAdmin).want(201).text("calendarFeed", "url")
	_, path, _ := strings.Cut(address, "/v1/")
	h.do("GET", "/v1/"+path, nil).want(200)
	h.do("PATCH", "/v1/specialists/ada", map[string]any{"active": false}, asAdmin).want(200)
	h.do("GET", "/v1/"+path, nil).problem(404, "not_found")
}

// TestFeedEndsWithAccount: a user who leaves loses access to the calendar, even though another user continues to work
// as the same specialist.
func TestFeedEndsWithAccount(t *testing.T) {
	h := newHouse(t)
	user := h.do("POST", "/v1/users", map[string]any{"email": "ada@clinic.example", "name": "Ada", "role": "specialist",
		"specialistId": "ada",
		"password":     "a few words together"}, asAdmin).want(201).text("user", "id")
	_, path, _ := strings.Cut(h.do("POST", "/v1/specialists/ada/calendar-feed", map[string]any{},
		asAdmin).want(201).text("calendarFeed", "url"), "/v1/")
	h.do("PATCH", "/v1/users/"+user, map[string]any{"name": "Ada B."}, asAdmin).want(200)
	h.do("GET", "/v1/"+path, nil).want(200)
	h.do("PATCH", "/v1/users/"+user, map[string]any{"active": false}, asAdmin).want(200)
	h.do("GET", "/v1/"+path, nil).problem(404, "not_found")
}

// TestAppointmentFeed: a patient's calendar program reads one appointment in its current state, moved or cancelled, at
// an address that gives read access only.
func TestAppointmentFeed(t *testing.T) {
	h := newHouse(t)
	read := func(address string, headers ...header) *reply {
		t.Helper()
		_, path, _ := strings.Cut(address, "/v1/")
		return h.do("GET", "/v1/"+path, nil, headers...)
	}
	const at = "/v1/appointments/managed/calendar"
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	made := h.do("GET", at, nil, booked.managing()).want(200)
	address := made.text("calendar", "url")
	if webcal := made.text("calendar", "webcal"); !strings.HasPrefix(webcal, "webcal://") ||
		!strings.HasSuffix(address, strings.TrimPrefix(webcal, "webcal")) {
		t.Errorf("got %s and %s", address, webcal)
	}
	first := read(address).want(200)
	lines := unfolded(t, first.raw)
	if lines["UID"] != booked.text("appointment", "id")+"@holdfast" || lines["STATUS"] != "CONFIRMED" ||
		lines["SEQUENCE"] != "1" || lines["REFRESH-INTERVAL;VALUE=DURATION"] == "" {
		t.Errorf("as booked: %v", lines)
	}
	if strings.Contains(first.raw, "manage") || strings.Contains(first.raw, "Patient 1") ||
		strings.Contains(first.raw, "example.org") {
		t.Errorf("it contains the person or the link:\n%s", first.raw)
	}
	tag := header{"If-None-Match": first.header.Get("ETag")}
	read(address, tag).want(304)

	// The address is not a manage link.
	_, secret, _ := strings.Cut(strings.TrimSuffix(address, ".ics"), "/calendars/")
	h.do("POST", "/v1/appointments/managed/cancel", nil, header{"Holdfast-Manage": secret}).problem(401, "unauthorized")
	h.do("GET", "/v1/appointments/managed/ics?token="+secret, nil).problem(401, "unauthorized")
	_, token, _ := strings.Cut(booked.text("appointment", "manageUrl"), "#")
	h.do("GET", "/v1/calendars/"+token+".ics", nil).problem(404, "not_found")

	moved := h.do("POST", "/v1/appointments/managed/reschedule",
		map[string]any{"slotStartDate": h.at(60), "specialistId": "ada"}, booked.managing()).want(200)
	if lines := unfolded(t, read(address,
		tag).want(200).raw); lines["DTSTART"] != h.start.Add(time.Hour).Format("20060102T150405Z") ||
		lines["SEQUENCE"] != "2" {
		t.Errorf("after a move: %v", lines)
	}
	if again := h.do("GET", at, nil, moved.managing()).want(200).text("calendar", "url"); again != address {
		t.Errorf("the second address differs: %s and %s", again, address)
	}
	h.do("POST", "/v1/appointments/managed/cancel", nil, moved.managing()).want(200)
	if lines := unfolded(t, read(address).want(200).raw); lines["STATUS"] != "CANCELLED" || lines["SEQUENCE"] != "3" {
		t.Errorf("after the cancellation: %v", lines)
	}
}

// TestAppointmentFeedEnds: the address of an appointment's calendar stops working when the patient or the desk
// revokes it, when the email address that it was sent to changes, and when the person is erased.
func TestAppointmentFeedEnds(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	id := booked.text("appointment", "id")
	at := "/v1/appointments/" + id + "/calendar"
	var addresses []string
	next := func() {
		t.Helper()
		_, path, _ := strings.Cut(h.do("GET", at, nil, asAdmin).want(200).text("calendar", "url"), "/v1/")
		h.do("GET", "/v1/"+path, nil).want(200)
		addresses = append(addresses, "/v1/"+path)
	}
	ended := func() {
		t.Helper()
		for _, path := range addresses {
			h.do("GET", path, nil).problem(404, "not_found")
		}
	}
	next()
	h.do("DELETE", at, nil, booked.managing()).want(200)
	ended()
	next()
	h.do("DELETE", at, nil, asAdmin).want(200)
	ended()
	next()
	h.do("PATCH", "/v1/appointments/"+id, map[string]any{"patient": map[string]any{"phone": "030 7654321"}},
		asAdmin).want(200)
	h.do("GET", addresses[2], nil).want(200)
	h.do("PATCH", "/v1/appointments/"+id, map[string]any{"patient": map[string]any{"email": "another@example.org"}},
		asAdmin).want(200)
	ended()
	next()
	if audit := h.do("GET", "/v1/audit", nil, asAdmin).want(200).raw; strings.Count(audit,
		"appointment.calendar_ended") != 2 {
		t.Errorf("the log: %s", audit)
	}
	h.do("POST", "/v1/people/erase", map[string]any{"email": "another@example.org"}, asAdmin).want(200)
	ended()
	h.do("GET", at, nil, asAdmin).problem(404, "not_found")
	// Those addresses give no access to the data of a different patient who takes over the appointment.
	h.do("PATCH", "/v1/appointments/"+id,
		map[string]any{"patient": map[string]any{"name": "Per Lind", "phone": "030 1112233"}}, asAdmin).want(200)
	ended()
}
