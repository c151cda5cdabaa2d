package web

import (
	"strconv"
	"strings"
	"time"

	"holdfast/store"
)

var calendarType = []string{"text/calendar; charset=utf-8; method=PUBLISH"}

// getICS answers an appointment as an iCalendar object (RFC 5545). A calendar that knows it already takes the newer
// version, and a cancelled one leaves the calendar.
func (s *Server) getICS(c *call) error {
	a, err := s.reachable(c)
	if err != nil {
		return err
	}
	h := c.rw.Header()
	h["Content-Type"] = calendarType
	h["Content-Disposition"] = []string{`attachment; filename="appointment.ics"`}
	c.status, c.out = 200, s.calendar(c, &a)
	return nil
}

func (s *Server) calendar(c *call, a *store.Appointment) []byte {
	clinic := &s.engine.Schedule().Clinic
	summary, with := clinic.Name, ""
	if t, err := s.engine.AppointmentType(a.AppointmentTypeID); err == nil {
		summary = t.Name + ", " + clinic.Name
	}
	if p, err := s.engine.Specialist(a.SpecialistID); err == nil {
		with = p.Name
	}
	url := s.manageURL(c, a)
	status := "CONFIRMED"
	if a.Status == store.Cancelled {
		status = "CANCELLED"
	}
	var b calendarText
	b.line("BEGIN", "VCALENDAR")
	b.line("VERSION", "2.0")
	b.line("PRODID", "-//Holdfast//Appointments//EN")
	b.line("CALSCALE", "GREGORIAN")
	b.line("METHOD", "PUBLISH")
	b.line("BEGIN", "VEVENT")
	b.line("UID", a.ID+"@holdfast")
	b.line("SEQUENCE", strconv.FormatInt(a.Version, 10))
	b.line("DTSTAMP", calendarTime(a.UpdatedAt))
	b.line("DTSTART", calendarTime(a.SlotStart))
	b.line("DTEND", calendarTime(a.SlotEnd))
	b.line("SUMMARY", calendarEscape(summary))
	b.line("STATUS", status)
	if with != "" {
		b.line("DESCRIPTION", calendarEscape(with+"\n"+url))
	}
	if clinic.Address != "" {
		b.line("LOCATION", calendarEscape(clinic.Address))
	}
	if url != "" {
		b.line("URL", url)
	}
	b.line("END", "VEVENT")
	b.line("END", "VCALENDAR")
	return b
}

func calendarTime(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// calendarEscape is for TEXT values (section 3.3.11).
func calendarEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", "").Replace(s)
}

// calendarText is content lines, folded at 75 octets and never inside a character (section 3.1).
type calendarText []byte

func (b *calendarText) line(name, value string) {
	width := 0
	for _, r := range name + ":" + value {
		n := len(string(r))
		if width+n > 75 {
			*b = append(*b, "\r\n "...)
			width = 1
		}
		*b = append(*b, string(r)...)
		width += n
	}
	*b = append(*b, "\r\n"...)
}
