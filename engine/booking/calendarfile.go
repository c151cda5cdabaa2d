package booking

import (
	"strconv"
	"strings"
	"time"

	"holdfast/store"
)

// CalendarFile is an appointment as an iCalendar object (RFC 5545) with its manage link, which may be empty. A calendar
// that knows it already takes the newer version, and a cancelled one leaves the calendar.
func (bk *Booking) CalendarFile(a *store.Appointment, manageURL string) []byte {
	clinic := &bk.clinic.Schedule().Clinic
	summary, with := clinic.Name, ""
	if t, err := bk.clinic.AppointmentType(a.AppointmentTypeID); err == nil {
		summary = t.Name + ", " + clinic.Name
	}
	if p, err := bk.clinic.Specialist(a.SpecialistID); err == nil {
		with = p.Name
	}
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
		b.line("DESCRIPTION", calendarEscape(with+"\n"+manageURL))
	}
	if clinic.Address != "" {
		b.line("LOCATION", calendarEscape(clinic.Address))
	}
	if manageURL != "" {
		b.line("URL", manageURL)
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
