package ical

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

	"holdfast/store"
)

// The limits for a holiday calendar. They are a hundred times larger than a country's holidays for ten years need.
const (
	maxHolidayBytes = 512 << 10
	maxHolidays     = 2000
	maxHolidayLine  = 8 << 10 // length of an unfolded line
	maxHolidayTitle = 200     // length in characters
	maxHolidayDays  = 366     // length of one event in days
)

// Holiday is one all-day event. From and To are both inclusive.
type Holiday struct {
	From, To store.Date
	Title    string
}

// HolidayError describes the problem with a holiday calendar. Line 0 means the file as a whole.
type HolidayError struct {
	Line   int
	Detail string
}

func (e *HolidayError) Error() string {
	if e.Line == 0 {
		return e.Detail
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Detail)
}

// Holidays lists the events in a calendar of public holidays by their first day, without duplicates. It accepts all-day
// events with a summary. It refuses events with a recurrence rule or a time of day, because it would have to interpret
// them. It ignores time zones, alarms and program-specific properties. The error is a *HolidayError.
func Holidays(file string) ([]Holiday, error) {
	switch {
	case len(file) > maxHolidayBytes:
		return nil, &HolidayError{0, "the file is larger than 512 KiB"}
	case !utf8.ValidString(file):
		return nil, &HolidayError{0, "the file is not UTF-8"}
	}
	p := holidayParser{}
	for n, line := range Lines(file) {
		if len(line) > maxHolidayLine {
			return nil, &HolidayError{n, "the line is too long"}
		}
		if err := p.line(n, line); err != nil {
			return nil, err
		}
	}
	switch {
	case !p.begun:
		return nil, &HolidayError{0, "this is not a calendar: BEGIN:VCALENDAR is missing"}
	case len(p.open) > 0:
		return nil, &HolidayError{0, "the file is incomplete: END:" + clip(p.open[len(p.open)-1]) + " is missing"}
	}
	sort.SliceStable(p.days, func(i, j int) bool {
		a, b := &p.days[i], &p.days[j]
		return cmp.Or(compareDates(a.From, b.From), compareDates(a.To, b.To), cmp.Compare(a.Title, b.Title)) < 0
	})
	return slices.Compact(p.days), nil
}

func compareDates(a, b store.Date) int { return cmp.Compare(a.String(), b.String()) }

// holidayParser collects the events in a holiday calendar. open lists the components that enclose the current line.
type holidayParser struct {
	begun bool
	open  []string
	days  []Holiday
	event struct {
		Holiday
		at        int
		hasEnd    bool
		cancelled bool
	}
}

func (p *holidayParser) line(n int, line string) error {
	name, params, value := Property(line)
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
	}) {
		return &HolidayError{n, "this is not NAME:VALUE"}
	}
	if !p.begun && !(name == "BEGIN" && strings.EqualFold(value, "VCALENDAR")) {
		return &HolidayError{n, "this is not a calendar: BEGIN:VCALENDAR comes first"}
	}
	switch name {
	case "BEGIN":
		return p.begin(n, strings.ToUpper(value))
	case "END":
		return p.end(n, strings.ToUpper(value))
	}
	if len(p.open) == 0 {
		return &HolidayError{n, "there is text after the end of the calendar"}
	}
	if p.open[len(p.open)-1] != "VEVENT" {
		return nil
	}
	var err error
	switch name {
	case "DTSTART":
		p.event.From, err = holidayDate(params, value)
	case "DTEND":
		p.event.hasEnd = true
		if p.event.To, err = holidayDate(params, value); err == nil {
			p.event.To = p.event.To.AddDays(-1) // DTEND is the day after the last one
		}
	case "SUMMARY":
		p.event.Title = holidayTitle(value)
	case "STATUS":
		p.event.cancelled = strings.EqualFold(value, "CANCELLED")
	case "RRULE", "RDATE", "EXRULE", "EXDATE", "RECURRENCE-ID":
		err = errors.New(name + " is not supported: use a calendar that lists each day")
	case "DURATION":
		err = errors.New("DURATION is not supported: use a calendar whose events have DTEND")
	}
	if err != nil {
		return &HolidayError{n, err.Error()}
	}
	return nil
}

func (p *holidayParser) begin(n int, what string) error {
	switch {
	case len(p.open) == 0 && (what != "VCALENDAR" || p.begun):
		return &HolidayError{n, "the file must have exactly one VCALENDAR"}
	case len(p.open) > 4:
		return &HolidayError{n, "too many nested components"}
	case what == "VEVENT" && len(p.open) != 1:
		return &HolidayError{n, "the event is inside another component"}
	}
	p.begun = true
	p.open = append(p.open, what)
	if what == "VEVENT" {
		p.event.Holiday, p.event.at, p.event.hasEnd, p.event.cancelled = Holiday{}, n, false, false
	}
	return nil
}

func (p *holidayParser) end(n int, what string) error {
	if len(p.open) == 0 || p.open[len(p.open)-1] != what {
		return &HolidayError{n, "END:" + clip(what) + " without its BEGIN"}
	}
	p.open = p.open[:len(p.open)-1]
	if what != "VEVENT" || p.event.cancelled {
		return nil
	}
	e := p.event.Holiday
	if !p.event.hasEnd {
		e.To = e.From
	}
	switch {
	case e.From == (store.Date{}):
		return &HolidayError{p.event.at, "the event has no DTSTART"}
	case e.To.Before(e.From):
		return &HolidayError{p.event.at, "the event ends before it starts"}
	case e.From.DaysUntil(e.To) >= maxHolidayDays:
		return &HolidayError{p.event.at, "the event is longer than a year"}
	case len(p.days) == maxHolidays:
		return &HolidayError{p.event.at, fmt.Sprintf("there are more than %d events", maxHolidays)}
	}
	p.days = append(p.days, e)
	return nil
}

// holidayDate parses VALUE=DATE (section 3.3.4).
func holidayDate(params []string, value string) (store.Date, error) {
	if kind := Param(params, "VALUE"); kind != "" && !strings.EqualFold(kind, "DATE") || len(value) > 8 {
		return store.Date{}, errors.New("the event has a time of day: only whole days are supported")
	}
	t, err := time.Parse("20060102", value)
	if err != nil || t.Year() < 2000 || t.Year() > 2200 {
		return store.Date{}, errors.New("this is not a date like 20261224 between the years 2000 and 2200")
	}
	return store.DateOf(t), nil
}

// holidayTitle returns a TEXT value (section 3.3.11) on one line.
func holidayTitle(value string) string {
	value = strings.NewReplacer(`\\`, `\`, `\;`, ";", `\,`, ",", `\n`, " ", `\N`, " ").Replace(value)
	value = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, value)
	runes := []rune(strings.Join(strings.Fields(value), " "))
	return string(runes[:min(len(runes), maxHolidayTitle)])
}

func clip(s string) string { return store.CutText(s, 32) }
