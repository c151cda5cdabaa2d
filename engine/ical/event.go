package ical

import (
	"strings"
	"time"
)

// moment is a time as written in the calendar: a date, an instant, or a wall time with the name of its zone, if any.
type moment struct {
	wall   time.Time
	isDate bool
	isUTC  bool
	zone   string
}

// event is one VEVENT as written in the calendar.
type event struct {
	uid         string
	start, end  moment
	length      string // DURATION
	rule        string
	rules       int
	dates       []moment // RDATE
	periods     bool     // an RDATE is a period
	without     []moment // EXDATE
	replaces    moment   // RECURRENCE-ID
	andLater    bool     // RANGE: the event also replaces all later ones
	isFree      bool
	isCancelled bool
	broken      bool // one of its times is invalid
}

// parser collects the events and zones of a calendar. open lists the components that enclose the current line.
type parser struct {
	begun  bool
	open   []string
	events []event
	now    event

	zones   map[string][]observance // keyed by TZID
	zone    string
	turns   []observance
	turning observance
}

func (p *parser) line(line string) error {
	name, params, value := Property(line)
	switch {
	case name == "BEGIN":
		return p.begin(strings.ToUpper(strings.TrimSpace(value)))
	case !p.begun:
		return ErrNoCalendar
	case name == "END":
		return p.end(strings.ToUpper(strings.TrimSpace(value)))
	case len(p.open) == 0:
		return nil
	}
	switch p.open[len(p.open)-1] {
	case "VEVENT":
		p.eventLine(name, params, value)
	case "VTIMEZONE":
		if name == "TZID" {
			p.zone = value
		}
	case "STANDARD", "DAYLIGHT":
		p.turnLine(name, value)
	}
	return nil
}

func (p *parser) begin(what string) error {
	if len(p.open) == 0 && what != "VCALENDAR" || len(p.open) > 8 {
		return ErrNoCalendar
	}
	p.begun = true
	p.open = append(p.open, what)
	switch what {
	case "VEVENT":
		p.now = event{}
	case "VTIMEZONE":
		p.zone, p.turns = "", nil
	case "STANDARD", "DAYLIGHT":
		p.turning = observance{}
	}
	return nil
}

func (p *parser) end(what string) error {
	if len(p.open) == 0 || p.open[len(p.open)-1] != what {
		return ErrNoCalendar
	}
	p.open = p.open[:len(p.open)-1]
	switch what {
	case "VEVENT":
		if p.events = append(p.events, p.now); len(p.events) > maxEvents {
			return ErrTooMuch
		}
	case "STANDARD", "DAYLIGHT":
		if p.turns = append(p.turns, p.turning); len(p.turns) > maxZones {
			return ErrTooMuch
		}
	case "VTIMEZONE":
		if p.zones[p.zone] = p.turns; len(p.zones) > maxZones {
			return ErrTooMuch
		}
	}
	return nil
}

func (p *parser) eventLine(name string, params []string, value string) {
	e := &p.now
	switch name {
	case "UID":
		e.uid = value
	case "DTSTART":
		e.start = e.moment(params, value)
	case "DTEND":
		e.end = e.moment(params, value)
	case "DURATION":
		e.length = value
	case "RRULE":
		e.rule = value
		e.rules++
	case "RDATE":
		e.periods = e.periods || Param(params, "VALUE") == "PERIOD"
		e.dates = e.moments(e.dates, params, value)
	case "EXRULE":
		e.rules += 2 // EXRULE was withdrawn from the standard; the event counts as unread
	case "EXDATE":
		e.without = e.moments(e.without, params, value)
	case "RECURRENCE-ID":
		e.replaces, e.andLater = e.moment(params, value), Param(params, "RANGE") != ""
	case "TRANSP":
		e.isFree = e.isFree || strings.EqualFold(value, "TRANSPARENT")
	case "X-MICROSOFT-CDO-BUSYSTATUS":
		e.isFree = e.isFree || strings.EqualFold(value, "FREE")
	case "STATUS":
		e.isCancelled = strings.EqualFold(value, "CANCELLED")
	}
}

func (e *event) moments(list []moment, params []string, value string) []moment {
	for part := range strings.SplitSeq(value, ",") {
		if e.periods { // the caller counts the event as unread
			return list
		}
		list = append(list, e.moment(params, part))
	}
	return list
}

func (e *event) moment(params []string, value string) (m moment) {
	value = strings.TrimSpace(value)
	m.zone = Param(params, "TZID")
	if rest, ok := strings.CutSuffix(value, "Z"); ok {
		m.isUTC, value = true, rest
	}
	var ok bool
	if m.wall, m.isDate, ok = wallTime(value); !ok {
		e.broken = true
	}
	return m
}

func (p *parser) turnLine(name, value string) {
	o, ok := &p.turning, true
	switch name {
	case "DTSTART":
		o.start, _, ok = wallTime(value)
	case "TZOFFSETFROM":
		o.from, ok = offset(value)
	case "TZOFFSETTO":
		o.to, ok = offset(value)
	case "RRULE":
		o.rule = value
	case "RDATE":
		for part := range strings.SplitSeq(value, ",") {
			var at time.Time
			if at, _, ok = wallTime(part); !ok || len(o.dates) > maxZones {
				ok = false
				break
			}
			o.dates = append(o.dates, at)
		}
	}
	o.broken = o.broken || !ok
}

// wallTime parses 20261123T090000 or 20261123, without a zone.
func wallTime(s string) (t time.Time, isDate, ok bool) {
	layout := "20060102T150405"
	if isDate = len(s) == 8; isDate {
		layout = "20060102"
	}
	if len(s) == len(layout) && strings.HasSuffix(s, "60") && !isDate { // a leap second
		s = s[:len(s)-2] + "59"
	}
	t, err := time.Parse(layout, s)
	return t, isDate, err == nil && t.Year() >= 1600 && t.Year() <= 2200 // the zones of some programs begin in 1601
}

// offset parses +0100 or -053000.
func offset(s string) (time.Duration, bool) {
	if len(s) != 5 && len(s) != 7 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	t, err := time.Parse("150405", (s[1:] + "00")[:6])
	d := t.Sub(t.Truncate(day))
	if s[0] == '-' {
		d = -d
	}
	return d, err == nil
}
