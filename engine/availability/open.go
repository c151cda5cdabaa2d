package availability

import (
	"cmp"
	"slices"
	"time"

	"holdfast/store"
)

// OpenTime returns how much opening time a specialist has in [from, to): the hours on each date, minus blocks. Hours
// that overlap count once.
func (c *Calendar) OpenTime(from, to time.Time) time.Duration {
	zone := zoneCursor{loc: c.zone}
	var open []stretch
	last := DayOf(store.DateOf(to.In(c.zone)))
	for day := DayOf(store.DateOf(from.In(c.zone))); day <= last; day++ {
		open = zone.stretches(open, day, c.windowsOf(day))
	}
	slices.SortFunc(open, func(a, b stretch) int { return cmp.Compare(a.start, b.start) })
	var sum int64
	end := from.Unix()
	for _, s := range open {
		s.start, s.end = max(s.start, end), min(s.end, to.Unix())
		if s.start >= s.end {
			continue
		}
		sum += s.end - s.start - c.blockedIn(s)
		end = s.end
	}
	return time.Duration(sum) * time.Second
}

// blockedIn returns the seconds of blocks inside a stretch.
func (c *Calendar) blockedIn(s stretch) (sum int64) {
	for _, b := range c.blocked {
		if start, end := max(s.start, b.start/1000), min(s.end, b.end/1000); start < end {
			sum += end - start
		}
	}
	return sum
}
