package message

import (
	"cmp"
	"fmt"
	"net/mail"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// CalendarMethod is what a calendar does with a file (RFC 5546).
type CalendarMethod string

const (
	CalendarPublish CalendarMethod = "PUBLISH" // shows it: a file that somebody takes along
	CalendarRequest CalendarMethod = "REQUEST" // invites: enters it, or moves what it knows by its UID to the new time
	CalendarCancel  CalendarMethod = "CANCEL"  // takes it out
)

// Invitation is who is told of an appointment by a calendar file. The zero value publishes it to nobody in particular.
type Invitation struct {
	Method    CalendarMethod // empty: CalendarPublish
	Organizer mail.Address   // of the clinic; without an address, the one in its contact data
	Attendee  string         // the patient's address; not with CalendarPublish
	ManageURL string         // may be empty
}

// CalendarFile is an appointment as an iCalendar object (RFC 5545). Its UID stays, and its SEQUENCE grows with every change of
// the appointment, so a calendar that knows it already takes the newer version and passes over an older one.
func (ms *Messages) CalendarFile(a *store.Appointment, to Invitation) []byte {
	return ms.calendar(to, []store.Appointment{*a}, func(*store.Appointment) string { return to.ManageURL })
}

// calendar is several appointments as one object; linkTo gives the link that opens each.
func (ms *Messages) calendar(to Invitation, list []store.Appointment, linkTo func(*store.Appointment) string) []byte {
	b := beginCalendar(cmp.Or(to.Method, CalendarPublish))
	for i := range list {
		to.ManageURL = linkTo(&list[i])
		ms.calendarEvent(&b, &list[i], to)
	}
	b.line("END", "VCALENDAR")
	return b
}

// SpecialistCalendar is what a specialist has before them, for their own calendar program, which asks for it again every quarter of an
// hour. Patients are named in it with names only.
func (ms *Messages) SpecialistCalendar(p *store.Specialist, list []store.Appointment, names bool) []byte {
	about := &ms.clinic.Schedule().Clinic
	b := beginFeed(p.Name + ", " + about.Name)
	for i := range list {
		a := &list[i]
		summary, patient := a.AppointmentTypeID, ""
		if t, err := ms.clinic.AppointmentType(a.AppointmentTypeID); err == nil {
			summary = t.Name
		}
		if names && a.Patient.Name != "" {
			summary, patient = a.Patient.Name+", "+summary, a.Patient.Phone
		}
		b.beginEvent(a)
		b.line("SUMMARY", calendarEscape(summary))
		b.line("STATUS", "CONFIRMED")
		if patient != "" {
			b.line("DESCRIPTION", calendarEscape(patient))
		}
		if where := ms.location(a, about.Locale); where != "" {
			b.line("LOCATION", calendarEscape(where))
		}
		b.line("END", "VEVENT")
	}
	b.line("END", "VCALENDAR")
	return b
}

// PatientCalendar is one appointment for the patient's own calendar program, without the link that changes it: whoever reads the
// calendar sees the appointment and does no more. Cancelled, it says so.
func (ms *Messages) PatientCalendar(a *store.Appointment) []byte {
	b := beginFeed(ms.clinic.Schedule().Clinic.Name)
	ms.calendarEvent(&b, a, Invitation{})
	b.line("END", "VCALENDAR")
	return b
}

func (ms *Messages) calendarEvent(b *calendarText, a *store.Appointment, to Invitation) {
	about := &ms.clinic.Schedule().Clinic
	language, _ := lettersFor(a.Locale, about.Locale)
	summary, with := about.Name, ""
	if t, err := ms.clinic.AppointmentType(a.AppointmentTypeID); err == nil {
		summary = clinic.NameIn(&t, language) + ", " + about.Name
	}
	if p, err := ms.clinic.Specialist(a.SpecialistID); err == nil {
		with = p.Name
	}
	status := "CONFIRMED"
	if a.Status == store.Cancelled {
		status = "CANCELLED"
	}
	b.beginEvent(a)
	b.line("ORGANIZER"+calendarParam("CN", cmp.Or(to.Organizer.Name, about.Name)), calendarAddress(cmp.Or(to.Organizer.Address, about.Email)))
	if cmp.Or(to.Method, CalendarPublish) != CalendarPublish {
		// The patient has chosen the time: there is nothing to accept.
		b.line("ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;RSVP=FALSE", calendarAddress(to.Attendee))
	}
	b.line("SUMMARY", calendarEscape(summary))
	b.line("STATUS", status)
	if with != "" {
		b.line("DESCRIPTION", calendarEscape(strings.TrimSuffix(with+"\n"+to.ManageURL, "\n")))
	}
	if where := ms.location(a, language); where != "" {
		b.line("LOCATION", calendarEscape(where))
	}
	if to.ManageURL != "" {
		b.line("URL", to.ManageURL)
	}
	b.line("END", "VEVENT")
}

// location is where an appointment is: the address, or the link of a video call.
func (ms *Messages) location(a *store.Appointment, language string) string {
	s := ms.clinic.Current()
	if t := s.TypeOf(a.AppointmentTypeID); t != nil && t.Page.Remote {
		if a.Status == store.Cancelled {
			return ""
		}
		return s.VideoLink(a)
	}
	return s.Where(a, language)
}

func calendarTime(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// calendarEscape is for TEXT values (section 3.3.11). A line break of any kind becomes the two characters \n, and no other
// control character stays.
func calendarEscape(s string) string {
	s = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`).Replace(s)
	return strings.Map(dropControl, s)
}

// calendarParam is a parameter with a text for its value, quoted. What a quoted text cannot have (section 3.2) is left ms.
func calendarParam(name, value string) string {
	value = strings.Map(dropControl, strings.ReplaceAll(value, `"`, "'"))
	if value == "" {
		return ""
	}
	return ";" + name + `="` + value + `"`
}

// calendarAddress is a mail address as a URI. Whoever has none is nobody that mail could be sent to.
func calendarAddress(address string) string {
	if address == "" {
		return "invalid:nomail"
	}
	var b strings.Builder
	b.WriteString("mailto:")
	for _, c := range []byte(address) {
		if c > ' ' && c < 0x7f && !strings.ContainsRune(`%?&#"<>[\]^{|};,:/`+"`", rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func dropControl(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// beginCalendar is what every object begins with.
func beginCalendar(method CalendarMethod) (b calendarText) {
	b.line("BEGIN", "VCALENDAR")
	b.line("VERSION", "2.0")
	b.line("PRODID", "-//Holdfast//Appointments//EN")
	b.line("CALSCALE", "GREGORIAN")
	b.line("METHOD", string(method))
	return b
}

// beginFeed is what an object begins with that a calendar program reads again and again.
func beginFeed(name string) calendarText {
	b := beginCalendar(CalendarPublish)
	for _, property := range []string{"NAME", "X-WR-CALNAME"} {
		b.line(property, calendarEscape(name))
	}
	b.line("REFRESH-INTERVAL;VALUE=DURATION", "PT15M")
	b.line("X-PUBLISHED-TTL", "PT15M")
	return b
}

// beginEvent is by what a calendar knows an appointment, and when it is, in UTC.
func (b *calendarText) beginEvent(a *store.Appointment) {
	b.line("BEGIN", "VEVENT")
	b.line("UID", a.ID+"@holdfast")
	b.line("SEQUENCE", strconv.FormatInt(a.Version, 10))
	b.line("DTSTAMP", calendarTime(a.UpdatedAt))
	b.line("DTSTART", calendarTime(a.SlotStart))
	b.line("DTEND", calendarTime(a.SlotEnd))
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
