package occupancy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/store"
)

// Differences lists, as text, the differences between memory and the database. It can also report a change that is
// committed while it runs. Only a difference that every call reports is real.
func (tm *Time) Differences(ctx context.Context) (found []string, err error) {
	for _, s := range tm.appointments.copies() {
		stored, err := tm.store.Taken(ctx, []string{s.specialistID}, s.from, s.to)
		if err != nil {
			return nil, err
		}
		found = append(found, differences(describe(s.list, describeTaken), describe(stored, describeTaken))...)
	}
	stored, err := tm.store.Closures(ctx)
	if err != nil {
		return nil, err
	}
	return append(found, differences(describe(tm.closed.list(), describeClosure),
		describe(stored, describeClosure))...), nil
}

// occupied is a copy of one specialist's time in memory.
type occupied struct {
	specialistID string
	from, to     time.Time
	list         []store.Taken
}

func (k *appointments) copies() (all []occupied) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, id := range slices.Sorted(maps.Keys(k.all)) {
		if s := k.all[id]; s.from.Before(s.to) {
			all = append(all, occupied{id, s.from, s.to, slices.Clone(s.list)})
		}
	}
	return all
}

func describe[T any](list []T, words func(*T) string) map[string]int {
	all := map[string]int{}
	for i := range list {
		all[words(&list[i])]++
	}
	return all
}

func describeTaken(t *store.Taken) string {
	const layout = time.RFC3339
	return fmt.Sprintf("appointment %s (%s, %s, seat %d, overbook %t) at %s to %s, busy %s to %s", t.AppointmentID,
		t.AppointmentTypeID, t.SpecialistID,
		t.Seat, t.Overbook, t.SlotStart.UTC().Format(layout), t.SlotEnd.UTC().Format(layout),
		t.BusyStart.UTC().Format(layout), t.BusyEnd.UTC().Format(layout))
}

func describeClosure(c *store.Closure) string {
	return fmt.Sprintf("closure %s of %s from %s to %s", c.ID, c.SpecialistID, c.Start.UTC().Format(time.RFC3339),
		c.End.UTC().Format(time.RFC3339))
}

// differences lists the entries that are only on one side, and those that memory contains more than once.
func differences(memory, database map[string]int) (found []string) {
	for words, n := range memory {
		if in := database[words]; n != in {
			found = append(found, fmt.Sprintf("memory: %s is %d times in memory, and %d times in the database", words,
				n, in))
		}
	}
	for words, n := range database {
		if memory[words] == 0 {
			found = append(found, fmt.Sprintf("memory: %s is not in memory, and %d times in the database", words, n))
		}
	}
	slices.SortFunc(found, cmp.Compare[string])
	return found
}
