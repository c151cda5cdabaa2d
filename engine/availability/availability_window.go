package availability

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"holdfast/store"
)

// Wall clocks, days and instants in this file are plain numbers, because a month of twenty specialists is thousands of
// them: a wall time is in seconds as if the zone were UTC, a day in days since 1970-01-01, an instant in Unix seconds.

const daySeconds = 24 * 60 * 60

// window is a store.Window in seconds after the day's midnight on the wall.
type window struct{ start, end int64 }

// stretch is a window of one date as instants, [start, end).
type stretch struct{ start, end int64 }

// makeWindows turns windows into wall seconds, in order and without repeats.
func makeWindows(in []store.Window) ([]window, error) {
	out := make([]window, 0, len(in))
	for _, w := range in {
		if w.Start < 0 || w.End > 24*60 || w.Start >= w.End {
			return nil, fmt.Errorf("the hours %s to %s are not a stretch of one day", w.Start, w.End)
		}
		out = append(out, window{int64(w.Start) * 60, int64(w.End) * 60})
	}
	slices.SortFunc(out, func(a, b window) int {
		if a.start != b.start {
			return int(a.start - b.start)
		}
		return int(a.end - b.end)
	})
	return slices.Compact(out), nil
}

// LoadZone loads a time zone by its IANA name. A name that means another thing on another machine is refused: none,
// "Local", the system's own files beside the zones, and second spellings such as "Europe//Berlin".
func LoadZone(name string) (*time.Location, error) {
	first, _, _ := strings.Cut(name, "/")
	if fs.ValidPath(name) && !slices.Contains([]string{"Local", "localtime", "posixrules", "posix", "right"}, first) {
		if loc, err := time.LoadLocation(name); err == nil {
			return loc, nil
		}
	}
	return nil, fmt.Errorf("%q is not a time zone like Europe/Berlin", name)
}

// StartOfDay is the first instant of a local date: 00:00, or what the clocks show instead where they skip it.
func StartOfDay(zone *time.Location, d store.Date) time.Time {
	z := zoneCursor{loc: zone}
	return time.Unix(z.firstAt(DayOf(d)*daySeconds), 0).UTC()
}

// WallTime is the instant of a local date and time, by the rule of availability: a missing time moves forward by the gap,
// a doubled one is its first occurrence.
func WallTime(zone *time.Location, d store.Date, t store.TimeOfDay) time.Time {
	z := zoneCursor{loc: zone}
	return time.Unix(z.instant(DayOf(d)*daySeconds+int64(t)*60), 0).UTC()
}

// DayOf numbers a date: days since 1970-01-01.
func DayOf(d store.Date) int64 {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Unix() / daySeconds
}

// weekdayOf is the weekday of a day; 1970-01-01 was a Thursday.
func weekdayOf(day int64) int { return int(((day+4)%7 + 7) % 7) }

// zoneCursor turns wall times into instants. It remembers the last stretch of time with one UTC offset, so a run of
// dates costs one look-up per change of the clocks. The zero value with a location is ready; it is not shared.
type zoneCursor struct {
	loc    *time.Location
	offset int64
	// walls in [lo, hi) exist exactly once, or for the first time, under offset
	lo, hi int64
}

// The ends of time, far enough from the ends of int64 to add an offset.
const (
	alpha = math.MinInt64 / 4
	omega = math.MaxInt64 / 4
)

// instant returns the instant of a wall time. A missing wall time (the clocks went forward over it) is read with the
// offset before the change, which moves it forward by the length of the gap; a doubled one is its first occurrence. Both
// are the rule of RFC 5545, section 3.3.5. time.Date promises neither: it moves 02:30 forward in Berlin and
// back in New York.
func (z *zoneCursor) instant(wall int64) int64 {
	at, shifted := z.resolve(wall)
	return at + shifted
}

// firstAt returns the first instant at which the wall shows this time or a later one: for a missing time, the change
// of the clocks.
func (z *zoneCursor) firstAt(wall int64) int64 {
	at, _ := z.resolve(wall)
	return at
}

// resolve returns the first instant at which the wall shows this time or later, and, if this time is missing, by how
// much past that instant the rule of instant moves it.
func (z *zoneCursor) resolve(wall int64) (at, shift int64) {
	if z.lo <= wall && wall < z.hi {
		return wall - z.offset, 0
	}
	// No offset is as much as a day, so a period that contains this instant begins before any reading of the wall.
	start, end, offset := period(z.loc, wall-daySeconds)
	for wall-offset >= end {
		before := offset
		start, end, offset = period(z.loc, end)
		if wall-offset < start {
			return start, wall - before - start
		}
	}
	z.remember(start, end, offset)
	return wall - offset, 0
}

// remember keeps a period for the walls that belong to it alone or first.
func (z *zoneCursor) remember(start, end, offset int64) {
	z.offset, z.lo, z.hi = offset, start+offset, end+offset
	if start > alpha {
		_, _, before := period(z.loc, start-1)
		z.lo = max(z.lo, start+before)
	}
}

// period returns the stretch of instants [start, end) around at that has one UTC offset, in seconds east.
func period(loc *time.Location, at int64) (start, end, offset int64) {
	t := time.Unix(at, 0).In(loc)
	_, east := t.Zone()
	start, end = alpha, omega
	from, to := t.ZoneBounds()
	if !from.IsZero() {
		start = from.Unix()
	}
	if !to.IsZero() {
		end = to.Unix()
	}
	return start, end, int64(east)
}

// stretches appends the windows of one date as instants. No stretch reaches past the end of its own date, so those of
// successive dates are in order, and a date that the zone skipped whole has none.
func (z *zoneCursor) stretches(dst []stretch, day int64, windows []window) []stretch {
	if len(windows) == 0 {
		return dst
	}
	midnight := day * daySeconds
	endOfDay := z.firstAt(midnight + daySeconds)
	for _, w := range windows {
		s := stretch{z.instant(midnight + w.start), min(z.instant(midnight+w.end), endOfDay)}
		if s.start < s.end {
			dst = append(dst, s)
		}
	}
	return dst
}
