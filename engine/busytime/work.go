package busytime

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/availability"
)

var errEvent = errors.New("an event is not understood")

// worker turns events into busy time.
type worker struct {
	*parser
	home     *zone
	from, to time.Time
	steps    int
	known    map[string]*zone // by TZID; nil: not understood
	replaced map[replaced]bool
	busy     []Span
	booked   func(id string) bool
}

// replaced is one of a series that another event stands for.
type replaced struct {
	uid string
	at  int64
}

// zoneOf is the zone that a moment names; the specialist's own where it names none.
func (w *worker) zoneOf(name string) *zone {
	if name == "" {
		return w.home
	}
	z, known := w.known[name]
	if !known {
		if z = place(name); z == nil {
			z = own(w.zones[name], w.from, w.to, &w.steps)
		}
		w.known[name] = z
	}
	return z
}

// instant of a moment; a date is the beginning of the day at home.
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

// moved notes which of a series an event stands for.
func (w *worker) moved(e *event) error {
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

// event adds when one event keeps somebody busy, with all its repetitions.
func (w *worker) event(e *event) error {
	if e.isCancelled || e.isFree {
		return nil
	}
	if id, ours := strings.CutSuffix(e.uid, ownUID); ours && w.booked != nil && w.booked(id) {
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
		return err // what has no length keeps nobody busy
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
		more, err := r.between(e.start.wall, w.from.Add(-length).AddDate(0, 0, -days-2), w.to.AddDate(0, 0, 2), &w.steps)
		if err != nil {
			return err
		}
		walls = append(walls, more...)
	}
	without, err := w.instants(e.without, z)
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
			s.Start, s.End = availability.Later(s.Start, w.from), availability.Earlier(s.End, w.to)
			w.busy = append(w.busy, s)
		}
	}
	return nil
}

// instants is when a series is left out, in seconds. A date leaves out its whole day; it is below zero, and so no instant of our days.
func (w *worker) instants(list []moment, z *zone) (map[int64]bool, error) {
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

// length is how many days on the wall clock, and how long besides, an event lasts.
func (w *worker) length(e *event, start time.Time) (days int, length time.Duration, err error) {
	switch {
	case !e.end.wall.IsZero() && e.start.isDate:
		days = int(midnight(e.end.wall).Sub(midnight(e.start.wall)) / day)
		if days == 0 { // as some programs write one day
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

// duration reads P1DT2H30M or P2W (section 3.3.6).
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
