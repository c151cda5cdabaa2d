package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/store"
)

// takenTime keeps the confirmed appointments of each specialist in memory, over the stretch of time that was asked for
// last. A list of slots is computed anew after every booking, and reading thousands of rows for it takes the database
// twenty times as long as the arithmetic.
//
// This process applies its own changes after their commit, before it answers them, so a reader sees its own writes. Where
// the database refused what was believed free, somebody else has written, and forget makes the next reader ask.
type takenTime struct {
	mu  sync.RWMutex
	all map[string]*specialistTime
}

type specialistTime struct {
	changes  uint64    // counts changes, so that a reading that one of them overtook is not kept
	from, to time.Time // what list covers; nothing if they are equal
	list     []store.Taken
}

// maxTakenSpan bounds what is kept of one specialist. A longer question is answered and not kept.
const maxTakenSpan = 100 * 24 * time.Hour

// longest is longer than any busy interval: a day of duration and half a day of buffer on either side.
const longest = 48 * time.Hour

// read answers as store.Reader.Taken does, from memory where that covers the stretch.
func (k *takenTime) read(ctx context.Context, r store.Reader, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
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

	answer, err := r.Taken(ctx, specialistIDs, from, to)
	if err != nil || to.Sub(from) > maxTakenSpan {
		return answer, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range missing {
		s := k.of(id)
		if s.changes == seen[id] {
			s.from, s.to, s.list = from, to, slices.Clone(takenBy(answer, id))
		}
	}
	return answer, nil
}

func (k *takenTime) of(specialistID string) *specialistTime {
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

// apply takes one committed change of an appointment over: what it was before goes, what it is now comes.
func (k *takenTime) apply(before, after *store.Appointment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before != nil {
		s := k.of(before.SpecialistID)
		s.changes++
		s.list = slices.DeleteFunc(s.list, func(t store.Taken) bool { return t.AppointmentID == before.ID })
	}
	s := k.of(after.SpecialistID)
	s.changes++
	t := takenOf(after)
	if after.Status != store.Confirmed || !overlaps(&t, s.from, s.to) {
		return
	}
	at, _ := slices.BinarySearchFunc(s.list, t, compareTaken)
	s.list = slices.Insert(s.list, at, t)
}

// forget makes the next reader ask the database about one specialist.
func (k *takenTime) forget(specialistID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.of(specialistID)
	s.changes++
	s.from, s.to, s.list = time.Time{}, time.Time{}, nil
}

// overlaps reports whether slot or busy interval meet [from, to), as store.Reader.Taken selects.
func overlaps(t *store.Taken, from, to time.Time) bool {
	return t.SlotStart.Before(to) && from.Before(t.SlotEnd) || t.BusyStart.Before(to) && from.Before(t.BusyEnd)
}

// compareTaken is the order of one specialist's time: slot start, then seat, then id.
func compareTaken(a, b store.Taken) int {
	return cmp.Or(a.SlotStart.Compare(b.SlotStart), cmp.Compare(a.Seat, b.Seat), cmp.Compare(a.AppointmentID, b.AppointmentID))
}

func takenOf(a *store.Appointment) store.Taken {
	return store.Taken{
		AppointmentID: a.ID, AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID, Seat: a.Seat, Overbook: a.Overbook,
		SlotStart: a.SlotStart, SlotEnd: a.SlotEnd, BusyStart: a.BusyStart, BusyEnd: a.BusyEnd,
	}
}
