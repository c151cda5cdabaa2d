package memory

import (
	"slices"

	"holdfast/holds"
)

// specialist contains the holds of one specialist by slot start, then seat. The entry stays after the last hold has
// ended: there are never more entries than specialists.
//
// The slots of two holds are disjoint or belong to one session, so only a few holds are near any span. reach is the
// greatest distance between the slot's start and an edge of the hold, over all holds to date. It only grows, so it can
// be larger than the live holds need.
type specialist struct {
	holds []*record
	busy  busyTime
	reach int64 // in seconds: no hold has ever extended further than this from its slot's start, in either direction
}

// of returns the entry of a specialist in this shard, and creates it if there is none.
func (s *shard) of(specialistID string) *specialist {
	of := s.specialists[specialistID]
	if of == nil {
		of = new(specialist)
		s.specialists[specialistID] = of
	}
	return of
}

// near returns the holds that can conflict with a span, and possibly some that cannot. The result is a part of
// of.holds.
func (of *specialist) near(span *holds.Span) []*record {
	earliest, latest := bounds(span)
	from := of.search(earliest - of.reach)
	to := from
	for to < len(of.holds) && of.holds[to].start <= latest+of.reach {
		to++
	}
	return of.holds[from:to]
}

// bounds returns the start and end of the slot and buffers together, in Unix seconds and rounded outwards.
func bounds(span *holds.Span) (earliest, latest int64) {
	return min(span.SlotStart.Unix(), span.BusyStart.Unix()), max(span.SlotEnd.Unix(), span.BusyEnd.Unix()) + 1
}

// search returns the index of the first hold whose slot does not start before a second.
func (of *specialist) search(second int64) int {
	from, to := 0, len(of.holds)
	for from < to {
		if middle := (from + to) / 2; of.holds[middle].start < second {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}

func (of *specialist) insert(r *record) {
	r.of, r.start = of, r.SlotStart.Unix()
	earliest, latest := bounds(&r.Span)
	of.reach = max(of.reach, r.start-earliest, latest-r.start)
	i := of.search(r.start)
	for i < len(of.holds) && of.holds[i].before(r) {
		i++
	}
	of.holds = slices.Insert(of.holds, i, r)
}

func (r *record) before(other *record) bool {
	n := r.SlotStart.Compare(other.SlotStart)
	return n < 0 || n == 0 && r.Seat < other.Seat
}

func (of *specialist) remove(r *record) {
	for i := of.search(r.start); ; i++ {
		if of.holds[i] == r {
			of.holds = slices.Delete(of.holds, i, i+1)
			return
		}
	}
}
