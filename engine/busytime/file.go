package busytime

import (
	"cmp"
	"errors"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/engine/ical"
)

// The limits of a calendar. One of ten years with five appointments a day is within them.
const (
	MaxBytes  = 5 << 20
	maxEvents = 20000
	maxSteps  = 1_000_000 // days that rules of repetition may ask about, all together
	maxBlocks = 2000      // stretches of busy time in the days ahead
	maxOwn    = 100       // zones that a calendar explains itself, and turns of one
)

// ErrNoCalendar: the text is no calendar, or breaks off. ErrTooMuch: there is more in it than a calendar of a person has.
var (
	ErrNoCalendar = errors.New("this is no calendar, or a part of one")
	ErrTooMuch    = errors.New("there is too much in the calendar")
)

// Span is busy time: [Start, End).
type Span struct{ Start, End time.Time }

// ownUID ends the UID of every event of the calendars that Holdfast gives away, here or at another clinic; before it is the appointment's
// id. What is booked here is taken here, and nobody is busy with it twice.
const ownUID = "@holdfast"

// Parse lists when somebody is busy by a calendar (RFC 5545), of what touches the stretch, in order and joined where it touches: repetitions
// are worked out, and what the calendar calls free or cancelled is left out. Whole days and times without a zone are those of home.
// What an event is about is not looked at. booked reports whether an appointment of this id is the clinic's own; nil: none is.
// unread is how many events could not be understood. ErrNoCalendar, ErrTooMuch.
func Parse(text string, home *time.Location, from, to time.Time, booked func(id string) bool) (busy []Span, unread int, err error) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "?")
	}
	p := parser{zones: map[string][]observance{}}
	for _, line := range ical.Lines(text) {
		if err := p.line(line); err != nil {
			return nil, 0, err
		}
	}
	if !p.begun || len(p.open) > 0 {
		return nil, 0, ErrNoCalendar
	}
	w := &worker{parser: &p, home: &zone{place: home}, from: from, to: to, steps: maxSteps, known: map[string]*zone{}, booked: booked}
	for i := range p.events {
		if w.moved(&p.events[i]) != nil {
			unread++
		}
	}
	for i := range p.events {
		if err := w.event(&p.events[i]); err != nil {
			unread++
		}
		if len(w.busy) > 50*maxBlocks {
			return nil, 0, ErrTooMuch
		}
	}
	if busy = joined(w.busy); len(busy) > maxBlocks {
		return nil, 0, ErrTooMuch
	}
	return busy, unread, nil
}

// joined is spans in order, those that overlap or touch as one, in whole seconds.
func joined(all []Span) (out []Span) {
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(all[i].Start.Compare(all[j].Start), all[i].End.Compare(all[j].End)) < 0
	})
	for _, s := range all {
		if last := len(out) - 1; last >= 0 && !s.Start.After(out[last].End) {
			if s.End.After(out[last].End) {
				out[last].End = s.End
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// moment is a time as it is written: a date, an instant, or a wall time, with the name of its zone if it has one.
type moment struct {
	wall   time.Time
	isDate bool
	isUTC  bool
	zone   string
}

// event is one VEVENT as it is written.
type event struct {
	uid         string
	start, end  moment
	length      string // DURATION
	rule        string
	rules       int
	dates       []moment // RDATE
	periods     bool     // an RDATE that is a period
	without     []moment // EXDATE
	replaces    moment   // RECURRENCE-ID
	andLater    bool     // and all after it
	isFree      bool
	isCancelled bool
	broken      bool // a time in it cannot be read
}

// parser is inside the components that are open.
type parser struct {
	begun  bool
	open   []string
	events []event
	now    event

	zones   map[string][]observance // by TZID
	zone    string
	turns   []observance
	turning observance
}

func (p *parser) line(line string) error {
	name, params, value := ical.Property(line)
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
		if p.turns = append(p.turns, p.turning); len(p.turns) > maxOwn {
			return ErrTooMuch
		}
	case "VTIMEZONE":
		if p.zones[p.zone] = p.turns; len(p.zones) > maxOwn {
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
		e.periods = e.periods || ical.Param(params, "VALUE") == "PERIOD"
		e.dates = e.moments(e.dates, params, value)
	case "EXRULE":
		e.rules += 2 // given up by the standard, and nobody is to be free by mistake
	case "EXDATE":
		e.without = e.moments(e.without, params, value)
	case "RECURRENCE-ID":
		e.replaces, e.andLater = e.moment(params, value), ical.Param(params, "RANGE") != ""
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
		if e.periods { // the event is unread
			return list
		}
		list = append(list, e.moment(params, part))
	}
	return list
}

func (e *event) moment(params []string, value string) (m moment) {
	value = strings.TrimSpace(value)
	m.zone = ical.Param(params, "TZID")
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
			if at, _, ok = wallTime(part); !ok || len(o.dates) > maxOwn {
				ok = false
				break
			}
			o.dates = append(o.dates, at)
		}
	}
	o.broken = o.broken || !ok
}

// wallTime reads 20261123T090000 or 20261123, without a zone.
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

// offset reads +0100 or -053000.
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
