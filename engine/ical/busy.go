package ical

import (
	"cmp"
	"errors"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits for a person's calendar. A calendar that covers ten years with five appointments a day is within them.
const (
	MaxBytes  = 5 << 20
	maxEvents = 20000
	maxSteps  = 1_000_000 // days that all recurrence rules together may test
	maxBlocks = 2000      // spans of busy time in the result
	maxZones  = 100       // the maximum number of zones in a calendar, and of turns in one zone
)

// ErrNoCalendar means that the text is not a calendar or is incomplete. ErrTooMuch means that the calendar exceeds one
// of the limits.
var (
	ErrNoCalendar = errors.New("the text is not a complete calendar")
	ErrTooMuch    = errors.New("the calendar has too many events")
)

var errEvent = errors.New("unsupported event")

// Span is busy time: [Start, End).
type Span struct{ Start, End time.Time }

// UIDSuffix is the end of the UID of every event that a Holdfast server publishes. The text before it is the
// appointment's id.
const UIDSuffix = "@holdfast"

// Query selects what Busy returns.
type Query struct {
	Home     *time.Location // the zone for whole days and for times without a zone
	From, To time.Time      // Busy returns busy time in [From, To)

	// Zone finds a location by the name that a calendar uses for its zone, such as "Europe/Berlin" or "W. Europe
	// Standard Time". The default is time.LoadLocation.
	Zone func(name string) (*time.Location, error)

	// IsOwn reports whether this clinic itself has an appointment with this id. Busy ignores the events of such
	// appointments. If IsOwn is nil, the clinic has none.
	IsOwn func(id string) bool
}

// Busy lists the busy times in a calendar, in order. It joins times that overlap or touch, expands recurring events,
// and ignores events that are marked as free or cancelled. It never reads an event's subject. unread counts the events
// that it could not interpret. Errors: ErrNoCalendar, ErrTooMuch.
func Busy(text string, q Query) (busy []Span, unread int, err error) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "?")
	}
	if q.Zone == nil {
		q.Zone = time.LoadLocation
	}
	p := parser{zones: map[string][]observance{}}
	for _, line := range Lines(text) {
		if err := p.line(line); err != nil {
			return nil, 0, err
		}
	}
	if !p.begun || len(p.open) > 0 {
		return nil, 0, ErrNoCalendar
	}
	w := &worker{
		parser: &p, home: &zone{place: q.Home}, from: q.From, to: q.To, steps: maxSteps,
		known: map[string]*zone{}, isOwn: q.IsOwn, load: q.Zone,
	}
	for i := range p.events {
		if w.replace(&p.events[i]) != nil {
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
	if busy = join(w.busy); len(busy) > maxBlocks {
		return nil, 0, ErrTooMuch
	}
	return busy, unread, nil
}

// join sorts spans and joins those that overlap or touch.
func join(all []Span) (out []Span) {
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

// worker converts events to busy time.
type worker struct {
	*parser
	home     *zone
	from, to time.Time
	steps    int
	known    map[string]*zone // keyed by TZID; nil means unknown
	replaced map[replaced]bool
	busy     []Span
	isOwn    func(id string) bool
	load     func(name string) (*time.Location, error)
}

// replaced identifies one occurrence of a recurring event that another event replaces.
type replaced struct {
	uid string
	at  int64
}

// zoneOf returns the zone with this name. If the name is empty, it returns the person's own zone. If the zone is
// unknown, it returns nil.
func (w *worker) zoneOf(name string) *zone {
	if name == "" {
		return w.home
	}
	z, known := w.known[name]
	if !known {
		if z = namedZone(name, w.load); z == nil {
			z = define(w.zones[name], w.from, w.to, &w.steps)
		}
		w.known[name] = z
	}
	return z
}

// instant returns the instant of a moment. A date means the beginning of that day in the person's own zone.
func (w *worker) instant(m *moment) (time.Time, error) {
	if m.isUTC {
		return m.wall, nil
	}
	z := w.home
	if !m.isDate {
		z = w.zoneOf(m.zone)
	}
	if z == nil {
		return time.Time{}, errEvent
	}
	return z.instant(m.wall), nil
}

// replace records the occurrence that an event replaces.
func (w *worker) replace(e *event) error {
	if e.replaces.wall.IsZero() {
		return nil
	}
	at, err := w.instant(&e.replaces)
	if err != nil || e.andLater {
		return errEvent
	}
	if w.replaced == nil {
		w.replaced = map[replaced]bool{}
	}
	w.replaced[replaced{e.uid, at.Unix()}] = true
	return nil
}

// event adds the busy time of all occurrences of one event.
func (w *worker) event(e *event) error {
	if e.isCancelled || e.isFree {
		return nil
	}
	if id, ours := strings.CutSuffix(e.uid, UIDSuffix); ours && w.isOwn != nil && w.isOwn(id) {
		return nil
	}
	if e.broken || e.start.wall.IsZero() || e.rules > 1 || e.periods {
		return errEvent
	}
	z := w.home
	if e.start.isUTC {
		z = &zone{place: time.UTC}
	} else if !e.start.isDate {
		z = w.zoneOf(e.start.zone)
	}
	if z == nil {
		return errEvent
	}
	start, err := w.instant(&e.start)
	if err != nil {
		return err
	}
	days, length, err := w.length(e, start)
	if err != nil || days == 0 && length <= 0 {
		return err // an event without a length takes no time
	}
	walls := []time.Time{e.start.wall}
	if e.rule != "" {
		r, err := parseRule(e.rule, e.start.wall)
		if err != nil {
			return err
		}
		switch {
		case r.untilUTC:
			r.until = z.wall(r.until)
		case r.dateOnly:
			r.until = r.until.Add(day - time.Second)
		}
		more, err := r.between(e.start.wall, w.from.Add(-length).AddDate(0, 0, -days-2), w.to.AddDate(0, 0, 2),
			&w.steps)
		if err != nil {
			return err
		}
		walls = append(walls, more...)
	}
	without, err := w.instants(e.without)
	if err != nil {
		return err
	}
	for i := range e.dates {
		at, err := w.instant(&e.dates[i])
		if err != nil {
			return err
		}
		walls = append(walls, z.wall(at))
	}
	isSeries := e.replaces.wall.IsZero()
	for _, wall := range walls {
		at := z.instant(wall)
		if without[at.Unix()] || without[-midnight(wall).Unix()] || isSeries && w.replaced[replaced{e.uid, at.Unix()}] {
			continue
		}
		end := z.instant(wall.AddDate(0, 0, days)).Add(length)
		if s := (Span{at, end}); end.After(w.from) && at.Before(w.to) {
			s.Start, s.End = later(s.Start, w.from), earlier(s.End, w.to)
			w.busy = append(w.busy, s)
		}
	}
	return nil
}

// instants returns the excluded starts of an event as Unix seconds. An excluded date excludes the whole day: its
// midnight is stored as a negative number, so that it differs from every instant in modern times.
func (w *worker) instants(list []moment) (map[int64]bool, error) {
	out := map[int64]bool{}
	for i := range list {
		at, err := w.instant(&list[i])
		if err != nil {
			return nil, err
		}
		out[at.Unix()] = true
		if list[i].isDate {
			out[-midnight(list[i].wall).Unix()] = true
		}
	}
	return out, nil
}

// length returns an event's duration as a number of wall-clock days plus an exact length.
func (w *worker) length(e *event, start time.Time) (days int, length time.Duration, err error) {
	switch {
	case !e.end.wall.IsZero() && e.start.isDate:
		days = int(midnight(e.end.wall).Sub(midnight(e.start.wall)) / day)
		if days == 0 { // some programs write a one-day event like this
			days = 1
		}
	case !e.end.wall.IsZero():
		end, err := w.instant(&e.end)
		if err != nil {
			return 0, 0, err
		}
		length = end.Sub(start)
	case e.length != "":
		if days, length, err = duration(e.length); err != nil {
			return 0, 0, err
		}
	case e.start.isDate:
		days = 1
	}
	if days < 0 || length < 0 || days > 3660 || length > 3660*day {
		err = errEvent
	}
	return days, length, err
}

// duration parses P1DT2H30M or P2W (section 3.3.6).
func duration(s string) (days int, length time.Duration, err error) {
	s, ok := strings.CutPrefix(strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(s)), "+"), "P")
	if !ok {
		return 0, 0, errEvent
	}
	dates, times, _ := strings.Cut(s, "T")
	units := map[byte]int{'W': 7, 'D': 1}
	for _, part := range []string{dates, times} {
		for part != "" {
			i := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
			if i < 1 || i > 7 || units[part[i]] == 0 {
				return 0, 0, errEvent
			}
			n, _ := strconv.Atoi(part[:i])
			if _, isDate := units['D']; isDate {
				days += n * units[part[i]]
			} else {
				length += time.Duration(n*units[part[i]]) * time.Second
			}
			part = part[i+1:]
		}
		units = map[byte]int{'H': 3600, 'M': 60, 'S': 1}
	}
	return days, length, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
