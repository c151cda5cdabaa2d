package web_test

import (
	"strings"
	"testing"
)

// unfolded parses content lines as a calendar program does (RFC 5545, section 3.1).
func unfolded(t *testing.T, ics string) map[string]string {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSuffix(ics, "\r\n"), "\r\n") {
		if len(line) > 75 {
			t.Errorf("a line of %d octets: %q", len(line), line)
		}
		if strings.ContainsAny(line, "\r\n") {
			t.Errorf("a line does not end with CRLF: %q", line)
		}
	}
	lines := make(map[string]string)
	for line := range strings.SplitSeq(strings.ReplaceAll(ics, "\r\n ", ""), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			lines[name] = value
		}
	}
	return lines
}

func TestAppointmentICS(t *testing.T) {
	h := newHouse(t)
	h.do("PUT", "/v1/clinic", map[string]any{
		"name":    "Praxis für Zähne; Ärzte, Haus \\ Hof, und noch ein recht langer Name, der gefaltet wird",
		"contact": map[string]any{"address": "Kai 1\n20457 Hamburg"},
	}, asAdmin).want(200)
	h.do("PUT", "/v1/settings", map[string]any{"reminderHours": 24}, asAdmin).want(200)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201)
	r := h.do("GET", "/v1/appointments/managed/ics", nil, booked.managing()).want(200)
	if got := r.header.Get("Content-Type"); !strings.HasPrefix(got, "text/calendar") {
		t.Errorf("got Content-Type %q", got)
	}
	lines := unfolded(t, r.raw)
	for name, want := range map[string]string{
		"METHOD": "PUBLISH", "VERSION": "2.0", "STATUS": "CONFIRMED", "SEQUENCE": "1",
		"UID": booked.text("appointment", "id") + "@holdfast", "DTSTART": h.start.Format("20060102T150405Z"),
		"LOCATION": `Kai 1\n20457 Hamburg`,
		"SUMMARY":  `checkup\, Praxis für Zähne\; Ärzte\, Haus \\ Hof\, und noch ein recht langer Name\, der gefaltet wird`, "URL": booked.text("appointment", "manageUrl"),
	} {
		if lines[name] != want {
			t.Errorf("%s: got %q, want %q", name, lines[name], want)
		}
	}
	if strings.Contains(r.raw, "Patient 1") || strings.Contains(r.raw, "example.org") {
		t.Errorf("the calendar file contains the person:\n%s", r.raw)
	}
	alarm := "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT1440M\r\nDESCRIPTION:" +
		lines["SUMMARY"] + "\r\nEND:VALARM\r\nEND:VEVENT\r\n"
	if !strings.Contains(strings.ReplaceAll(r.raw, "\r\n ", ""), alarm) {
		t.Errorf("the calendar file has no alarm at the reminder:\n%s", r.raw)
	}
	// A newer version replaces the event, and a cancelled one removes it from the calendar.
	cancelled := h.do("POST", "/v1/appointments/managed/cancel", nil, booked.managing()).want(200)
	r = h.do("GET", "/v1/appointments/"+cancelled.text("appointment", "id")+"/ics", nil, asAdmin).want(200)
	lines = unfolded(t, r.raw)
	if strings.Contains(r.raw, "VALARM") {
		t.Errorf("a cancelled appointment has an alarm:\n%s", r.raw)
	}
	if lines["STATUS"] != "CANCELLED" || lines["SEQUENCE"] != "2" {
		t.Errorf("got %v", lines)
	}
	h.do("GET", "/v1/appointments/managed/ics?token=forged", nil).problem(401, "unauthorized")
}
