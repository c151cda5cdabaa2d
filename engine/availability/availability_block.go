package availability

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"holdfast/store"
)

// blockedTime is a stretch of blocks that meet or touch, [start, end), in Unix milliseconds.
type blockedTime struct{ start, end int64 }

// makeBlocked lays blocks together, in order. What two blocks that touch rule out is what one over both does.
func makeBlocked(blocks []store.Block) []blockedTime {
	all := make([]blockedTime, 0, len(blocks))
	for i := range blocks {
		if b := (blockedTime{blocks[i].Start.UnixMilli(), blocks[i].End.UnixMilli()}); b.start < b.end {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b blockedTime) int { return cmp.Compare(a.start, b.start) })
	merged := all[:0]
	for _, b := range all {
		if last := len(merged) - 1; last >= 0 && b.start <= merged[last].end {
			merged[last].end = max(merged[last].end, b.end)
		} else {
			merged = append(merged, b)
		}
	}
	return merged
}

// rulesOut returns the open interval of slot starts of t, (after, before), whose slot or buffers meet the blocked time:
// the guarantee's predicate for an appointment there that has no buffers of its own.
func (b *blockedTime) rulesOut(t *store.AppointmentType) (after, before int64) {
	return b.start - Minutes(t.DurationMinutes+t.BufferAfterMinutes).Milliseconds(), b.end + Minutes(t.BufferBeforeMinutes).Milliseconds()
}

func (c *Calendar) isBlocked(t *store.AppointmentType, start time.Time) bool {
	at := start.UnixMilli()
	next := sort.Search(len(c.blocked), func(i int) bool {
		_, before := c.blocked[i].rulesOut(t)
		return at < before
	})
	if next == len(c.blocked) {
		return false
	}
	after, _ := c.blocked[next].rulesOut(t)
	return after < at
}

// withoutBlocked takes out of the starts from an index on, which are in order, those that a block rules out.
func (c *Calendar) withoutBlocked(starts []int64, from int, t *store.AppointmentType) []int64 {
	if len(c.blocked) == 0 {
		return starts
	}
	kept, next := starts[:from], 0
	for _, start := range starts[from:] {
		for next < len(c.blocked) {
			if _, before := c.blocked[next].rulesOut(t); start < before {
				break
			}
			next++
		}
		if next < len(c.blocked) {
			if after, _ := c.blocked[next].rulesOut(t); after < start {
				continue
			}
		}
		kept = append(kept, start)
	}
	return kept
}
