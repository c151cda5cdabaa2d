package taken

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
			if t != nil && len(s.Serves[t.SpecialistID]) > 0 {
				tm.clinic.MoveGenerations(s.Serves[t.SpecialistID]...)
			}
		}
		tm.followBusy(ctx, s, c)
		if c.Before != nil {
			tm.clinic.Publish(ctx, holds.Event{Kind: holds.EventCancel, Span: availability.TakenSpan(c.Before), Owner: record.SpelledOwner(c.Owner)})
		}
	}
	tm.clinic.Publish(ctx, holds.Event{
		Kind: holds.EventAppointment, Span: availability.TakenSpan(&c.Stands), AppointmentID: c.ID, Version: c.Version, Reason: holds.Reason(c.What),
	})
}

// followBusy keeps the fast pre-check. Only what shares its time with nobody is marked, so that a hit is always true; a bit
// cleared too many costs one look at the taken time.
func (tm *Time) followBusy(ctx context.Context, s *clinic.Schedule, c *store.Change) {
	var err error
	if c.Before != nil && !c.Before.Overbook {
		err = tm.holds.ClearBusy(ctx, c.Before.SpecialistID, c.Before.SlotStart, c.Before.SlotEnd)
	}
	if err == nil && c.After != nil && s.Exclusive(c.After) {
		err = tm.holds.MarkBusy(ctx, c.After.SpecialistID, c.After.SlotStart, c.After.SlotEnd)
	}
	if err != nil {
		tm.log.Warn("the busy bits were not updated", "error", err)
	}
}

// fillBusy marks what was read anew of one specialist's time, when it is first asked for.
func (tm *Time) fillBusy(list []store.Taken) {
	s := tm.clinic.Current()
	for i := range list {
		if t := &list[i]; s.Exclusive(t) {
			if err := tm.holds.MarkBusy(context.Background(), t.SpecialistID, t.SlotStart, t.SlotEnd); err != nil {
				tm.log.Warn("the busy bits were not filled", "error", err)
				return
			}
		}
	}
}
