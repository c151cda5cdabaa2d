package ical

import (
	"slices"
	"sort"
	"strings"
	"time"
)

// zone is an event's time zone: a location in the time zone database, or a VTIMEZONE in the calendar itself.
type zone struct {
	place *time.Location
	turns []turn // in order; used where place is nil
}

// turn is an instant from which a VTIMEZONE has a new offset. ahead is how far the new offset is ahead of UTC.
type turn struct {
	at    time.Time
	ahead time.Duration
}

func (z *zone) ahead(at time.Time) time.Duration {
	if z.place != nil {
		_, seconds := at.In(z.place).Zone()
		return time.Duration(seconds) * time.Second
	}
	i, found := slices.BinarySearchFunc(z.turns, at, func(t turn, at time.Time) int { return t.at.Compare(at) })
	if !found {
		i = max(0, i-1)
	}
	return z.turns[i].ahead
}

// instant returns the instant when the zone's clocks show a wall time. A skipped wall time moves forward. If a wall
// time occurs twice, the first occurrence counts.
func (z *zone) instant(wall time.Time) time.Time {
	shows := func(at time.Time) bool { return at.Add(z.ahead(at)).Equal(wall) }
	before, after := wall.Add(-z.ahead(wall.Add(-day))), wall.Add(-z.ahead(wall.Add(day)))
	if !shows(before) && shows(after) {
		return after
	}
	return before
}

// wall returns the time that the zone's clocks show at an instant.
func (z *zone) wall(at time.Time) time.Time { return at.UTC().Add(z.ahead(at)) }

// observance is one STANDARD or DAYLIGHT component of a VTIMEZONE.
type observance struct {
	start    time.Time
	from, to time.Duration
	rule     string
	dates    []time.Time
	broken   bool
}

// define returns the zone that a VTIMEZONE defines in [from, to), or nil if it is invalid.
func define(all []observance, from, to time.Time, steps *int) *zone {
	z := &zone{}
	for i := range all {
		o := &all[i]
		if o.broken || o.start.IsZero() {
			return nil
		}
		starts := append([]time.Time{o.start}, o.dates...)
		if o.rule != "" {
			r, err := parseRule(o.rule, o.start)
			if err != nil {
				return nil
			}
			if r.untilUTC {
				r.until = r.until.Add(o.from)
			}
			more, err := r.between(o.start, from.AddDate(-3, 0, 0), to.AddDate(0, 0, 2), steps)
			if err != nil {
				return nil
			}
			starts = append(starts, more...)
		}
		for _, at := range starts {
			z.turns = append(z.turns, turn{at.Add(-o.from), o.to})
		}
	}
	sort.SliceStable(z.turns, func(i, j int) bool { return z.turns[i].at.Before(z.turns[j].at) })
	if len(z.turns) == 0 {
		return nil
	}
	return z
}

// maxZoneName limits the length of a zone's name. The longest name in the database is 32 characters, and some programs
// put a path in front of it.
const maxZoneName = 200

// namedZone finds a zone by its name, ignoring any path that a program put in front of the name. It returns nil if
// there is none.
func namedZone(name string, load func(string) (*time.Location, error)) *zone {
	if len(name) > maxZoneName {
		return nil // the loop below would look up each part of a long path
	}
	name = strings.Trim(name, `"`)
	for {
		if found, err := load(strings.TrimPrefix(name, "/")); err == nil {
			return &zone{place: found}
		}
		rest := strings.TrimPrefix(name, "/")
		_, after, ok := strings.Cut(rest, "/")
		if !ok || !strings.HasPrefix(name, "/") {
			return nil
		}
		name = "/" + after
	}
}
