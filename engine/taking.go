package engine

import (
	"context"

	"holdfast/holds"
	"holdfast/store"
)

// What the feed tells of appointments is applied here: to the taken time, the generations and the busy bits, and then told to
// the pages.

func (e *Engine) followAppointment(ctx context.Context, c *store.Change) {
	s := e.Current()
	if c.Moved() {
		e.taken.apply(c.Before, c.After)
		for _, t := range []*store.Taken{c.Before, c.After} {
			if t != nil && len(s.serves[t.SpecialistID]) > 0 {
				e.moveGenerations(s.serves[t.SpecialistID]...)
			}
		}
		e.followBusy(ctx, s, c)
		if c.Before != nil {
			e.publish(ctx, holds.Event{Kind: holds.EventCancel, Span: takenSpan(c.Before), Owner: spelledOwner(c.Owner)})
		}
	}
	e.publish(ctx, holds.Event{
		Kind: holds.EventAppointment, Span: takenSpan(&c.Stands), AppointmentID: c.ID, Version: c.Version, Reason: holds.Reason(c.What),
	})
}

// followBusy keeps the fast pre-check. Only what shares its time with nobody is marked, so that a hit is always true; a bit
// cleared too many costs one look at the taken time.
func (e *Engine) followBusy(ctx context.Context, s *schedule, c *store.Change) {
	var err error
	if c.Before != nil && !c.Before.Overbook {
		err = e.holds.ClearBusy(ctx, c.Before.SpecialistID, c.Before.SlotStart, c.Before.SlotEnd)
	}
	if err == nil && c.After != nil && s.exclusive(c.After) {
		err = e.holds.MarkBusy(ctx, c.After.SpecialistID, c.After.SlotStart, c.After.SlotEnd)
	}
	if err != nil {
		e.log.Warn("the busy bits were not updated", "error", err)
	}
}

// fillBusy marks what was read anew of one specialist's time, when it is first asked for.
func (e *Engine) fillBusy(list []store.Taken) {
	s := e.Current()
	for i := range list {
		if t := &list[i]; s.exclusive(t) {
			if err := e.holds.MarkBusy(context.Background(), t.SpecialistID, t.SlotStart, t.SlotEnd); err != nil {
				e.log.Warn("the busy bits were not filled", "error", err)
				return
			}
		}
	}
}

// exclusive reports whether an appointment shares its time with nobody.
func (s *schedule) exclusive(t *store.Taken) bool {
	kind := s.types[t.AppointmentTypeID]
	return !t.Overbook && kind != nil && kind.Capacity == 1
}
