// Package holiday reads public calendars of holidays: iCalendar files (RFC 5545) of events that last whole days.
//
// It is strict. Of a file it believes whole days with a summary, and refuses by name what it would have to interpret: a rule of
// repetition, or an event at a time of day. What is around the events (time zones, alarms, what programs add of their own) is
// passed over.
package holiday

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/ical"
	"holdfast/store"
)

// The limits of a file. A country's holidays of ten years are a hundredth of them.
const (
	MaxBytes  = 512 << 10
	maxEvents = 2000
	maxLine   = 8 << 10 // unfolded
	maxTitle  = 200     // characters
	maxDays   = 366     // of one event
)

// Day is one event: whole days, From to To, both included.
type Day struct {
	From, To store.Date
	Title    string
}

// Error says what is wrong with a file, and where. Line 0 is the file as a whole.
type Error struct {
	Line   int
	Detail string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Detail
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Detail)
}

// Parse lists the events of a file by their first day, each once. The error is an *Error.
func Parse(file string) ([]Day, error) {
	switch {
	case len(file) > MaxBytes:
		return nil, &Error{0, "the file is larger than 512 KiB"}
	case !utf8.ValidString(file):
		return nil, &Error{0, "the file is not UTF-8"}
	}
	p := parser{}
	for n, line := range ical.Lines(file) {
		if len(line) > maxLine {
			return nil, &Error{n, "the line is too long"}
		}
		if err := p.line(n, line); err != nil {
			return nil, err
		}
	}
	switch {
	case !p.begun:
		return nil, &Error{0, "this is not a calendar: BEGIN:VCALENDAR is missing"}
	case len(p.open) > 0:
		return nil, &Error{0, "the file breaks off: END:" + p.open[len(p.open)-1] + " is missing"}
	}
	sort.SliceStable(p.days, func(i, j int) bool {
		a, b := &p.days[i], &p.days[j]
		return cmp.Or(compareDates(a.From, b.From), compareDates(a.To, b.To), cmp.Compare(a.Title, b.Title)) < 0
	})
	return slices.Compact(p.days), nil
}

func compareDates(a, b store.Date) int { return cmp.Compare(a.String(), b.String()) }

// parser is inside the components that are open.
type parser struct {
	begun bool
	open  []string
	days  []Day
	event struct {
		Day
		at        int
		hasEnd    bool
		cancelled bool
	}
}

func (p *parser) line(n int, line string) error {
	name, params, value := ical.Property(line)
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !(r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-') }) {
		return &Error{n, "this is not NAME:VALUE"}
	}
	if !p.begun && !(name == "BEGIN" && strings.EqualFold(value, "VCALENDAR")) {
		return &Error{n, "this is not a calendar: BEGIN:VCALENDAR comes first"}
	}
	switch name {
	case "BEGIN":
		return p.begin(n, strings.ToUpper(value))
	case "END":
		return p.end(n, strings.ToUpper(value))
	}
	if len(p.open) == 0 {
		return &Error{n, "something stands behind the calendar"}
	}
	if p.open[len(p.open)-1] != "VEVENT" {
		return nil
	}
	var err error
	switch name {
	case "DTSTART":
		p.event.From, err = date(params, value)
	case "DTEND":
		p.event.hasEnd = true
		if p.event.To, err = date(params, value); err == nil {
			p.event.To = p.event.To.AddDays(-1) // the day on which it is over
		}
	case "SUMMARY":
		p.event.Title = title(value)
	case "STATUS":
		p.event.cancelled = strings.EqualFold(value, "CANCELLED")
	case "RRULE", "RDATE", "EXRULE", "EXDATE", "RECURRENCE-ID":
		err = errors.New(name + " is not understood: take a calendar that names each day")
	case "DURATION":
		err = errors.New("DURATION is not understood: take a calendar whose events have DTEND")
	}
	if err != nil {
		return &Error{n, err.Error()}
	}
	return nil
}

func (p *parser) begin(n int, what string) error {
	switch {
	case len(p.open) == 0 && (what != "VCALENDAR" || p.begun):
		return &Error{n, "there is one VCALENDAR in a file"}
	case len(p.open) > 4:
		return &Error{n, "too much is inside of something else"}
	case what == "VEVENT" && len(p.open) != 1:
		return &Error{n, "an event inside of something else"}
	}
	p.begun = true
	p.open = append(p.open, what)
	if what == "VEVENT" {
		p.event.Day, p.event.at, p.event.hasEnd, p.event.cancelled = Day{}, n, false, false
	}
	return nil
}

func (p *parser) end(n int, what string) error {
	if len(p.open) == 0 || p.open[len(p.open)-1] != what {
		return &Error{n, "END:" + clip(what) + " without its BEGIN"}
	}
	p.open = p.open[:len(p.open)-1]
	if what != "VEVENT" || p.event.cancelled {
		return nil
	}
	e := p.event.Day
	if !p.event.hasEnd {
		e.To = e.From
	}
	switch {
	case e.From == (store.Date{}):
		return &Error{p.event.at, "the event has no DTSTART"}
	case e.To.Before(e.From):
		return &Error{p.event.at, "the event is over before it begins"}
	case e.From.DaysUntil(e.To) >= maxDays:
		return &Error{p.event.at, "the event is longer than a year"}
	case len(p.days) == maxEvents:
		return &Error{p.event.at, fmt.Sprintf("there are more than %d events", maxEvents)}
	}
	p.days = append(p.days, e)
	return nil
}

// date reads VALUE=DATE (section 3.3.4).
func date(params []string, value string) (store.Date, error) {
	if kind := ical.Param(params, "VALUE"); kind != "" && !strings.EqualFold(kind, "DATE") || len(value) > 8 {
		return store.Date{}, errors.New("the event has a time of day: only whole days are taken")
	}
	t, err := time.Parse("20060102", value)
	if err != nil || t.Year() < 2000 || t.Year() > 2200 {
		return store.Date{}, errors.New("this is not a date like 20261224 between the years 2000 and 2200")
	}
	return store.DateOf(t), nil
}

// title is a TEXT value (section 3.3.11) on one line.
func title(value string) string {
	value = strings.NewReplacer(`\\`, `\`, `\;`, ";", `\,`, ",", `\n`, " ", `\N`, " ").Replace(value)
	value = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, value)
	runes := []rune(strings.Join(strings.Fields(value), " "))
	return string(runes[:min(len(runes), maxTitle)])
}

func clip(s string) string { return s[:min(len(s), 32)] }
