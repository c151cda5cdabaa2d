package taken

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/store"
)

// appointments keeps the confirmed appointments of each specialist in memory, over the stretch of time that was asked for
// last. A list of slots is computed anew after every booking, and reading thousands of rows for it takes the database
// twenty times as long as the arithmetic; and a time that is known to be taken is refused without asking the database.
//
// The feed applies every committed change, in commit order, before its Write returns (follow.go), so memory is what the
// database is.
type appointments struct {
	filled func([]store.Taken) // told what was read anew, while no change can come between

	mu  sync.RWMutex
	all map[string]*specialistTime
}

type specialistTime struct {
	changes  uint64    // counts the changes applied, so that a reading that one of them overtook is not kept
	from, to time.Time // what list covers; nothing if they are equal
	list     []store.Taken
}

// maxTakenSpan bounds what is kept of one specialist. A longer question is answered and not kept.
const maxTakenSpan = 100 * 24 * time.Hour

// longest is longer than any busy interval: a day of duration and half a day of buffer on either side.
const longest = 48 * time.Hour

// read answers as store.Reader.Taken does, from memory where that covers the stretch.
func (k *appointments) read(ctx context.Context, r store.Reader, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	var answer []store.Taken
	var missing []string
	k.mu.RLock()
	for _, id := range specialistIDs {
		if s := k.all[id]; s == nil || from.Before(s.from) || to.After(s.to) {
			missing = append(missing, id)
		}
	}
	if missing == nil {
		most := 0
		for _, id := range specialistIDs {
			most += len(k.all[id].list)
		}
		answer = make([]store.Taken, 0, most)
		for _, id := range specialistIDs {
			answer = k.all[id].appendOverlapping(answer, from, to)
		}
		k.mu.RUnlock()
		return answer, nil
	}
	seen := make(map[string]uint64, len(missing))
	for _, id := range missing {
		if s := k.all[id]; s != nil {
			seen[id] = s.changes
		}
	}
	k.mu.RUnlock()

	// What is missing is read over all that is asked for and known already, so that questions about one day and about a
	// month do not push each other out.
	first, last := k.widened(missing, from, to)
	all, err := r.Taken(ctx, specialistIDs, first, last)
	if err != nil {
		return nil, err
	}
	if last.Sub(first) <= maxTakenSpan {
		k.mu.Lock()
		for _, id := range missing {
			if s := k.of(id); s.changes == seen[id] {
				s.from, s.to, s.list = first, last, slices.Clone(availability.TakenBy(all, id))
				k.filled(s.list)
			}
		}
		k.mu.Unlock()
	}
	return slices.DeleteFunc(all, func(t store.Taken) bool { return !overlaps(&t, from, to) }), nil
}

// widened is [from, to) and what is kept of these specialists together, or [from, to) alone where that is too long to keep.
func (k *appointments) widened(specialistIDs []string, from, to time.Time) (first, last time.Time) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	first, last = from, to
	for _, id := range specialistIDs {
		if s := k.all[id]; s != nil && s.from.Before(s.to) {
			if s.from.Before(first) {
				first = s.from
			}
			if s.to.After(last) {
				last = s.to
			}
		}
	}
	if last.Sub(first) > maxTakenSpan {
		return from, to
	}
	return first, last
}

func (k *appointments) of(specialistID string) *specialistTime {
	if k.all == nil {
		k.all = make(map[string]*specialistTime)
	}
	s := k.all[specialistID]
	if s == nil {
		s = new(specialistTime)
		k.all[specialistID] = s
	}
	return s
}

func (s *specialistTime) appendOverlapping(dst []store.Taken, from, to time.Time) []store.Taken {
	first, _ := slices.BinarySearchFunc(s.list, from.Add(-longest), func(t store.Taken, at time.Time) int { return t.SlotStart.Compare(at) })
	for i := first; i < len(s.list); i++ {
		t := &s.list[i]
		if t.SlotStart.After(to.Add(longest)) {
			break
		}
		if overlaps(t, from, to) {
			dst = append(dst, *t)
		}
	}
	return dst
}

// apply takes over one committed change: what an appointment took goes, what it takes comes.
func (k *appointments) apply(before, after *store.Taken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range []*store.Taken{before, after} {
		if t == nil {
			continue
		}
		// A reading may have been taken over that has this very change already: it must not be there twice.
		s := k.of(t.SpecialistID)
		s.changes++
		s.list = slices.DeleteFunc(s.list, func(known store.Taken) bool { return known.AppointmentID == t.AppointmentID })
	}
	if after == nil {
		return
	}
	if s := k.of(after.SpecialistID); overlaps(after, s.from, s.to) {
		at, _ := slices.BinarySearchFunc(s.list, *after, Compare)
		s.list = slices.Insert(s.list, at, *after)
	}
}

// TakenTime answers as store.Reader.Taken does, from memory where that covers the stretch.
func (tm *Time) TakenTime(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	return tm.appointments.read(ctx, tm.store, specialistIDs, from, to)
}

// ForgetTaken lets go of all that is kept of taken time: every next reader asks the database.
func (tm *Time) ForgetTaken() {
	tm.appointments.mu.Lock()
	defer tm.appointments.mu.Unlock()
	tm.appointments.all = nil
}

// overlaps reports whether slot or busy interval meet [from, to), as store.Reader.Taken selects.
func overlaps(t *store.Taken, from, to time.Time) bool {
	return t.SlotStart.Before(to) && from.Before(t.SlotEnd) || t.BusyStart.Before(to) && from.Before(t.BusyEnd)
}

// Compare is the order of one specialist's time: slot start, then seat, then id.
func Compare(a, b store.Taken) int {
	return cmp.Or(a.SlotStart.Compare(b.SlotStart), cmp.Compare(a.Seat, b.Seat), cmp.Compare(a.AppointmentID, b.AppointmentID))
}
