package occupancy

import (
	"context"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// What the feed tells of appointments is applied here: to the taken time, the generations and the busy bits, and then told to
// the pages.

func (tm *Time) FollowAppointment(ctx context.Context, c *store.Change) {
	s := tm.clinic.Current()
	if c.Moved() {
		tm.appointments.apply(c.Before, c.After)
		for _, t := range []*store.Taken{c.Before, c.After} {
			if t == nil {
				continue
			}
			for _, id := range append(t.Resources.List(), t.SpecialistID) {
				if types := s.TypesOf(id); len(types) > 0 {
					tm.clinic.MoveGenerations(types...)
				}
			}
		}
		tm.markBusy(ctx, s, c.After)
		if c.Before != nil {
			tm.events.Publish(ctx, holds.Event{Kind: holds.EventCancel, Span: availability.TakenSpan(c.Before), Resources: holds.IDs(c.Before.Resources), Owner: record.SpelledOwner(c.Owner)})
		}
	}
	tm.events.Publish(ctx, holds.Event{
		Kind: holds.EventAppointment, Span: availability.TakenSpan(&c.Stands), Resources: holds.IDs(c.Stands.Resources), AppointmentID: c.ID, Version: c.Version, Reason: holds.Reason(c.What),
	})
}

// clearBusy and markBusy keep the fast pre-check. Only what shares its time with nobody is marked, so that a hit is always true; a bit
// cleared too many costs one look at the taken time.
func (tm *Time) clearBusy(before *store.Taken) {
	if !before.Overbook {
		tm.busyFailed(tm.holds.ClearBusy(context.Background(), before.SpecialistID, before.SlotStart, before.SlotEnd))
	}
}

func (tm *Time) markBusy(ctx context.Context, s *clinic.Schedule, after *store.Taken) {
	if after != nil && s.Exclusive(after) {
		tm.busyFailed(tm.holds.MarkBusy(ctx, after.SpecialistID, after.SlotStart, after.SlotEnd))
	}
}

func (tm *Time) busyFailed(err error) {
	if err != nil {
		tm.log.Warn("busy bits not updated", "error", err)
	}
}

// fillBusy marks what was read anew of one specialist's time, when it is first asked for.
func (tm *Time) fillBusy(list []store.Taken) {
	s := tm.clinic.Current()
	for i := range list {
		if t := &list[i]; s.Exclusive(t) && !s.IsResource(t.SpecialistID) {
			if err := tm.holds.MarkBusy(context.Background(), t.SpecialistID, t.SlotStart, t.SlotEnd); err != nil {
				tm.log.Warn("busy bits not filled", "error", err)
				return
			}
		}
	}
}
