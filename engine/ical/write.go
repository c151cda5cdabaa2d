package ical

import (
	"fmt"
	"net/mail"
	"strconv"
	"strings"
	"time"
)

// Method tells a calendar program what to do with a calendar object (RFC 5546).
type Method string

const (
	Publish Method = "PUBLISH" // shows the event; the file has no addressee
	Request Method = "REQUEST" // invites: adds the event, or moves the one with the same UID to the new time
	Cancel  Method = "CANCEL"  // removes the event
)

// Event is one appointment as shown in a calendar. Every string can be empty and can contain any characters, because
// Writer escapes it.
type Event struct {
	ID         string    // the appointment's id; the UID is the ID with UIDSuffix
	Sequence   int64     // increases with every change, so that a program that has the event ignores an older version
	Stamp      time.Time // time of the last change
	Start, End time.Time
	Cancelled  bool

	// nil means that none is written; an organizer without an address is written as invalid:nomail
	Organizer   *mail.Address
	Attendee    string // an email address; empty means that none is written
	Summary     string
	Description string
	Location    string
	URL         string

	Alarms []time.Duration // remind this long before Start
}

// Writer writes one calendar object as content lines, folded at 75 octets and never inside a character (section 3.1).
// The zero value is ready for use. Call Begin or BeginFeed first and End last.
type Writer struct{ text []byte }

// Begin writes the header of an object.
func (w *Writer) Begin(method Method) {
	w.line("BEGIN", "VCALENDAR")
	w.line("VERSION", "2.0")
	w.line("PRODID", "-//Holdfast//Appointments//EN")
	w.line("CALSCALE", "GREGORIAN")
	w.line("METHOD", string(method))
}

// BeginFeed writes the header of an object with this name. Calendar programs fetch it again every 15 minutes.
func (w *Writer) BeginFeed(name string) {
	w.Begin(Publish)
	for _, property := range []string{"NAME", "X-WR-CALNAME"} {
		w.line(property, escape(name))
	}
	w.line("REFRESH-INTERVAL;VALUE=DURATION", "PT15M")
	w.line("X-PUBLISHED-TTL", "PT15M")
}

// Event writes one event. Its times are written in UTC.
func (w *Writer) Event(e *Event) {
	w.line("BEGIN", "VEVENT")
	w.line("UID", e.ID+UIDSuffix)
	w.line("SEQUENCE", strconv.FormatInt(e.Sequence, 10))
	w.line("DTSTAMP", instant(e.Stamp))
	w.line("DTSTART", instant(e.Start))
	w.line("DTEND", instant(e.End))
	if e.Organizer != nil {
		w.line("ORGANIZER"+parameter("CN", e.Organizer.Name), address(e.Organizer.Address))
	}
	if e.Attendee != "" {
		// The patient chose the time, so there is nothing to accept.
		w.line("ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;RSVP=FALSE", address(e.Attendee))
	}
	w.line("SUMMARY", escape(e.Summary))
	if e.Cancelled {
		w.line("STATUS", "CANCELLED")
	} else {
		w.line("STATUS", "CONFIRMED")
	}
	if e.Description != "" {
		w.line("DESCRIPTION", escape(e.Description))
	}
	if e.Location != "" {
		w.line("LOCATION", escape(e.Location))
	}
	if e.URL != "" {
		w.line("URL", e.URL)
	}
	if !e.Cancelled {
		for _, before := range e.Alarms {
			w.line("BEGIN", "VALARM")
			w.line("ACTION", "DISPLAY")
			w.line("TRIGGER", fmt.Sprintf("-PT%dM", int(before.Minutes())))
			w.line("DESCRIPTION", escape(e.Summary))
			w.line("END", "VALARM")
		}
	}
	w.line("END", "VEVENT")
}

// End writes the end of the object and returns the whole object.
func (w *Writer) End() []byte {
	w.line("END", "VCALENDAR")
	return w.text
}

func (w *Writer) line(name, value string) {
	width := 0
	for _, r := range name + ":" + value {
		n := len(string(r))
		if width+n > 75 {
			w.text = append(w.text, "\r\n "...)
			width = 1
		}
		w.text = append(w.text, string(r)...)
		width += n
	}
	w.text = append(w.text, "\r\n"...)
}

func instant(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// escaped replaces the characters that have a meaning in a TEXT value. It is built once, because that costs more than a
// replacement.
var escaped = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)

// escape returns a TEXT value (section 3.3.11). Every kind of line break becomes \n; other control characters are
// dropped.
func escape(s string) string { return strings.Map(dropControl, escaped.Replace(s)) }

// parameter returns a parameter with a quoted value, or "" if the value is empty. It drops characters that a quoted
// value cannot contain (section 3.2).
func parameter(name, value string) string {
	value = strings.Map(dropControl, strings.ReplaceAll(value, `"`, "'"))
	if value == "" {
		return ""
	}
	return ";" + name + `="` + value + `"`
}

// address returns an email address as a URI, or invalid:nomail if there is none.
func address(email string) string {
	if email == "" {
		return "invalid:nomail"
	}
	var b strings.Builder
	b.WriteString("mailto:")
	for _, c := range []byte(email) {
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
