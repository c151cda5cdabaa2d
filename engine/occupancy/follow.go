package occupancy

import (
	"context"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// FollowAppointment applies an appointment change to the taken time, the busy bits and the generations, and then
// publishes it to the pages.
func (tm *Time) FollowAppointment(ctx context.Context, c *store.Change) {
	s := tm.clinic.Current()
	if c.Moved() {
		tm.appointments.apply(c.Number, c.Before, c.After)
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
		if c.Before != nil {
			tm.events.Publish(ctx, holds.Event{Kind: holds.EventCancel, Span: availability.TakenSpan(c.Before),
				Resources: holds.IDs(c.Before.Resources), Owner: record.SpelledOwner(c.Owner)})
		}
	}
	tm.events.Publish(ctx, holds.Event{
		Kind: holds.EventAppointment, Span: availability.TakenSpan(&c.Stands), Resources: holds.IDs(c.Stands.Resources),
		AppointmentID: c.ID, Version: c.Version, Reason: holds.Reason(c.What),
	})
}

// followBusy passes a change on to the live state, which refuses booked time. The live state receives only appointments
// that do not share their time with another appointment.
func (tm *Time) followBusy(change int64, before, after *store.Taken) {
	var freed, taken holds.Booked
	if before != nil && !before.Overbook {
		freed = booked(before)
	}
	if after != nil && tm.clinic.Current().Exclusive(after) {
		taken = booked(after)
	}
	if freed == (holds.Booked{}) && taken == (holds.Booked{}) {
		return
	}
	if err := tm.holds.FollowBusy(context.Background(), change, freed, taken); err != nil {
		tm.log.Warn("failed to update the busy bitmaps", "error", err)
	}
}

// fillBusy passes the first read of a specialist's time on to the live state.
func (tm *Time) fillBusy(list []store.Taken) {
	s := tm.clinic.Current()
	for i := range list {
		if t := &list[i]; s.Exclusive(t) && !s.IsResource(t.SpecialistID) {
			if err := tm.holds.FollowBusy(context.Background(), 0, holds.Booked{}, booked(t)); err != nil {
				tm.log.Warn("failed to fill the busy bitmaps", "error", err)
				return
			}
		}
	}
}

func booked(t *store.Taken) holds.Booked {
	return holds.Booked{AppointmentID: t.AppointmentID, SpecialistID: t.SpecialistID, SlotStart: t.SlotStart,
		SlotEnd: t.SlotEnd}
}

// Booked returns the time of an appointment that is being moved, for holds.Claim.Moving. An overbooked appointment has
// no time of its own to free: it overlaps another appointment.
func Booked(a *store.Appointment) holds.Booked {
	if a.Overbook {
		return holds.Booked{}
	}
	return holds.Booked{AppointmentID: a.ID, SpecialistID: a.SpecialistID, SlotStart: a.SlotStart, SlotEnd: a.SlotEnd}
}

// Doubt queues a live state refusal to be checked against the database, because the time is free in this process's
// memory. Either another node has just booked the time, or its busy bit is stale, for example because Redis was
// unreachable during a cancellation. Doubt does not wait, and the claim remains refused.
func (tm *Time) Doubt(span *holds.Span) {
	select {
	case tm.doubts <- *span:
	default: // the next claim for this time queues it again
	}
}

// SettleDoubts checks queued refusals until ctx is done, and clears busy bits for time that is free in the database.
func (tm *Time) SettleDoubts(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case span := <-tm.doubts:
			if err := tm.settleDoubt(ctx, &span); err != nil && ctx.Err() == nil {
				tm.log.Warn("failed to compare a refused time with the database; the next refusal repeats the comparison",
					"error", err)
			}
		}
	}
}

func (tm *Time) settleDoubt(ctx context.Context, span *holds.Span) error {
	taken, err := tm.store.Taken(ctx, []string{span.SpecialistID}, span.BusyStart, span.BusyEnd)
	if err != nil {
		return err
	}
	s := tm.clinic.Current()
	for i := range taken {
		if s.Exclusive(&taken[i]) {
			return nil
		}
	}
	return tm.holds.ClearBusy(ctx, span.SpecialistID, span.BusyStart, span.BusyEnd)
}
