package booking

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"holdfast/store"
)

// MaxInTheWay is the maximum number of appointments that InTheWay lists.
const MaxInTheWay = 500

// InTheWay lists the confirmed appointments that overlap the blocks and have not ended, sorted by start. more reports
// whether there are further appointments that it does not list.
func (bk *Booking) InTheWay(ctx context.Context,
	blocks []store.Block) (list []store.Appointment, more bool, err error) {
	// One query per specialist covers all blocks, from the first start to the last end.
	bySpecialist := make(map[string][]store.Block)
	for _, b := range blocks {
		bySpecialist[b.SpecialistID] = append(bySpecialist[b.SpecialistID], b)
	}
	now, seen := time.Now(), make(map[string]bool)
	for id, all := range bySpecialist {
		sort.Slice(all, func(i, j int) bool { return all[i].Start.Before(all[j].Start) })
		first, last := all[0].Start, all[0].End
		for _, b := range all {
			if b.End.After(last) {
				last = b.End
			}
		}
		if first.Before(now) {
			first = now
		}
		if !first.Before(last) {
			continue
		}
		taken, err := bk.store.Taken(ctx, []string{id}, first, last)
		if err != nil {
			return nil, false, err
		}
		for i := range taken {
			t := &taken[i]
			if t.SlotEnd.Before(now) || seen[t.AppointmentID] || !slices.ContainsFunc(all, func(b store.Block) bool {
				return b.Start.Before(t.SlotEnd) && t.SlotStart.Before(b.End)
			}) {
				continue
			}
			if len(list) == MaxInTheWay {
				more = true
				break
			}
			a, err := bk.store.Appointment(ctx, t.AppointmentID)
			if err != nil {
				return nil, false, err
			}
			seen[a.ID] = true
			if a.Status == store.Confirmed {
				list = append(list, a)
			}
		}
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := &list[i], &list[j]
		return cmp.Or(a.SlotStart.Compare(b.SlotStart), cmp.Compare(a.ID, b.ID)) < 0
	})
	return list, more, nil
}
