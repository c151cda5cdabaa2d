package occupancy

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/store"
)

// appointments keeps each specialist's confirmed appointments in memory, for the range that was last requested. Slot
// lists are recomputed after every booking, and reading the thousands of rows needed for that from the database would
// take twenty times as long as the computation. A time that is taken in memory is refused without a query.
//
// The feed applies every committed change, in commit order, before the change's Write returns (follow.go), so memory
// matches the database.
type appointments struct {
	// Both are called under the lock. So the live state never refuses time that is free in this memory, and a read that
	// is older than a change does not mark time as taken that the change has freed.
	filled   func([]store.Taken)                            // receives the result of a read
	followed func(change int64, before, after *store.Taken) // receives a change

	mu  sync.RWMutex
	all map[string]*specialistTime
}

type specialistTime struct {
	changes  uint64    // counts the applied changes: a read is not stored if a change was applied during it
	from, to time.Time // the range that list covers; empty if they are equal
	list     []store.Taken
	// at least the largest distance between a slot start in list and either end of its slot or busy interval
	reach time.Duration
}

// maxTakenSpan is the longest range that is stored for one specialist. The result of a longer read is returned but not
// stored.
const maxTakenSpan = 100 * 24 * time.Hour

// read returns what store.Reader.Taken returns, in the same order: by specialist, then slot start, then seat,
// regardless of the order of specialistIDs. It reads from memory if memory covers the range.
func (k *appointments) read(ctx context.Context, r store.Reader, specialistIDs []string, from,
	to time.Time) ([]store.Taken, error) {
	if !slices.IsSorted(specialistIDs) { // callers list specialists by priority
		specialistIDs = slices.Sorted(slices.Values(specialistIDs))
	}
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
			first, last := k.all[id].near(from, to)
			most += last - first
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

	// After a miss, the requested range and the stored range are read together, so that reads of a day and reads of a
	// month do not evict each other.
	first, last := k.widened(missing, from, to)
	all, err := r.Taken(ctx, specialistIDs, first, last)
	if err != nil {
		return nil, err
	}
	if last.Sub(first) <= maxTakenSpan {
		k.mu.Lock()
		for _, id := range missing {
			if s := k.of(id); s.changes == seen[id] {
				s.from, s.to, s.list, s.reach = first, last, slices.Clone(availability.TakenBy(all, id)), 0
				for i := range s.list {
					s.reach = max(s.reach, reachOf(&s.list[i]))
				}
				k.filled(s.list)
			}
		}
		k.mu.Unlock()
	}
	return slices.DeleteFunc(all, func(t store.Taken) bool { return !overlaps(&t, from, to) }), nil
}

// widened returns the smallest range that contains [from, to) and the stored ranges of these specialists, or [from,
// to) if that range is too long to store.
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

// near returns the index range of list that contains every entry that might overlap [from, to).
func (s *specialistTime) near(from, to time.Time) (first, last int) {
	first, _ = slices.BinarySearchFunc(s.list, from.Add(-s.reach), bySlotStart)
	last, _ = slices.BinarySearchFunc(s.list, to.Add(s.reach), bySlotStart)
	return first, last
}

func (s *specialistTime) appendOverlapping(dst []store.Taken, from, to time.Time) []store.Taken {
	first, last := s.near(from, to)
	for i := first; i < last; i++ {
		if t := &s.list[i]; overlaps(t, from, to) {
			dst = append(dst, *t)
		}
	}
	return dst
}

// remove deletes the entry of t's appointment at t's slot start.
func (s *specialistTime) remove(t *store.Taken) {
	i, _ := slices.BinarySearchFunc(s.list, t.SlotStart, bySlotStart)
	for ; i < len(s.list) && s.list[i].SlotStart.Equal(t.SlotStart); i++ {
		if s.list[i].AppointmentID == t.AppointmentID {
			s.list = slices.Delete(s.list, i, i+1)
			return
		}
	}
}

func bySlotStart(t store.Taken, at time.Time) int { return t.SlotStart.Compare(at) }

// reachOf returns the largest distance between t's slot start and either end of its slot or busy interval.
func reachOf(t *store.Taken) time.Duration {
	return max(t.SlotEnd.Sub(t.SlotStart), t.BusyEnd.Sub(t.SlotStart), t.SlotStart.Sub(t.BusyStart))
}

// apply applies one committed change: it removes the time that the appointment occupied before, and adds the time that
// it occupies now. It does the same for the appointment's resources.
func (k *appointments) apply(change int64, before, after *store.Taken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.followed(change, before, after)
	for _, t := range []*store.Taken{before, after} {
		if t == nil {
			continue
		}
		// A stored read might already contain this change, so its entry is removed first to avoid duplicates. If the
		// read already contains a later change, the appointment appears twice until the feed delivers that change.
		for _, id := range append(t.Resources.List(), t.SpecialistID) {
			s := k.of(id)
			s.changes++
			s.remove(t)
		}
	}
	if after == nil {
		return
	}
	for _, id := range append(after.Resources.List(), after.SpecialistID) {
		if s := k.of(id); overlaps(after, s.from, s.to) {
			taken := *after
			taken.SpecialistID, taken.Resources = id, ""
			at, _ := slices.BinarySearchFunc(s.list, taken, Compare)
			s.list = slices.Insert(s.list, at, taken)
			s.reach = max(s.reach, reachOf(&taken))
		}
	}
}

// TakenTime returns what store.Reader.Taken returns, from memory if memory covers the range.
func (tm *Time) TakenTime(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	return tm.appointments.read(ctx, tm.store, specialistIDs, from, to)
}

// atOnce is how much of the calendar TakenTimeInWeeks reads into memory at once.
const atOnce = 4 * 7 * 24 * time.Hour

// TakenTimeInWeeks is TakenTime for callers that check single start times on arbitrary days. If the range is not in
// memory, it reads whole weeks, so that the next call can be served from memory.
func (tm *Time) TakenTimeInWeeks(ctx context.Context, specialistIDs []string, from,
	to time.Time) ([]store.Taken, error) {
	if !tm.appointments.covers(specialistIDs, from, to) {
		if _, err := tm.TakenTime(ctx, specialistIDs, from.Truncate(atOnce),
			to.Truncate(atOnce).Add(atOnce)); err != nil {
			return nil, err
		}
	}
	return tm.TakenTime(ctx, specialistIDs, from, to)
}

func (k *appointments) covers(specialistIDs []string, from, to time.Time) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, id := range specialistIDs {
		if s := k.all[id]; s == nil || from.Before(s.from) || to.After(s.to) {
			return false
		}
	}
	return true
}

// ForgetTaken clears the stored time. The next read for each specialist queries the database.
func (tm *Time) ForgetTaken() {
	tm.appointments.mu.Lock()
	defer tm.appointments.mu.Unlock()
	tm.appointments.all = nil
}

// overlaps reports whether the slot or the busy interval overlaps [from, to), the condition of store.Reader.Taken.
func overlaps(t *store.Taken, from, to time.Time) bool {
	return t.SlotStart.Before(to) && from.Before(t.SlotEnd) || t.BusyStart.Before(to) && from.Before(t.BusyEnd)
}

// Compare orders the taken time of one specialist: by slot start, then seat, then id.
func Compare(a, b store.Taken) int {
	return cmp.Or(a.SlotStart.Compare(b.SlotStart), cmp.Compare(a.Seat, b.Seat),
		cmp.Compare(a.AppointmentID, b.AppointmentID))
}
