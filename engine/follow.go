package engine

import (
	"context"
	"fmt"
	"slices"

	"holdfast/holds"
	"holdfast/store"
)

// beginToFollow reads the schedule and follows everything that is committed from then on.
func (e *Engine) beginToFollow(ctx context.Context) error {
	seen := e.store.LastChange()
	if err := e.readSchedule(ctx); err != nil {
		return fmt.Errorf("read the schedule: %w", err)
	}
	e.moveGenerations()
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stopFollowing = stop
	if err := e.store.Changes(following, seen, e.follow); err != nil {
		stop()
		return fmt.Errorf("follow the changes: %w", err)
	}
	return nil
}

// follow takes over what was committed, in commit order: the schedule, the taken time, the generations, the busy bits, the
// keys found good, and what the pages are told. It is the only place that changes any of these, and Write returns after it,
// so whoever is answered finds its own change here. The store calls it, one batch at a time.
//
// The order within is fixed. A generation moves after what it names has changed, so nothing older is ever kept under it;
// events come last, so whoever hears of a change finds it.
func (e *Engine) follow(changes []store.Change) {
	ctx := context.Background()
	if slices.ContainsFunc(changes, ofSchedule) {
		e.followSchedule(ctx, changes)
	}
	for i := range changes {
		switch c := &changes[i]; c.Noun {
		case store.NounAppointment:
			e.followAppointment(ctx, c)
		case store.NounSession:
			e.publish(ctx, holds.Event{
				Kind: holds.EventSession, SessionID: c.ID, Span: holds.Span{SpecialistID: c.Assigned}, ExpiresAt: c.Session.ExpiresAt,
				Owner: spelledOwner(c.Owner), Reason: holds.Reason(c.Session.Status),
			})
		case store.NounAPIKey:
			e.knownKeys.forget()
		}
	}
}

func ofSchedule(c store.Change) bool {
	return c.Noun == store.NounClinic || c.Noun == store.NounAppointmentType || c.Noun == store.NounSpecialist
}

// followSchedule reads the schedule anew, once for a whole batch, moves the generations of what it concerns, and tells the
// streams of every specialist touched.
func (e *Engine) followSchedule(ctx context.Context, changes []store.Change) {
	before := e.schedule.current.Load()
	if err := e.readSchedule(ctx); err != nil {
		// The next change tries again; until then what is decided is a moment old, and the database decides in the end.
		e.log.Error("the schedule was changed and could not be read anew", "error", err)
		return
	}
	after := e.schedule.current.Load()
	var specialists, types []string
	everything := false
	for i := range changes {
		switch c := &changes[i]; c.Noun {
		case store.NounClinic:
			everything = true
		case store.NounSpecialist:
			specialists = append(specialists, c.ID)
			types = append(types, union(before.serves[c.ID], after.serves[c.ID])...)
		case store.NounAppointmentType:
			types = append(types, c.ID)
			specialists = append(append(specialists, before.assigned(c.ID)...), after.assigned(c.ID)...)
		}
	}
	if everything {
		types = nil
	}
	generation := e.moveGenerations(types...)
	for _, id := range union(specialists, nil) {
		e.publish(ctx, holds.Event{
			Kind: holds.EventAvailability, Span: holds.Span{SpecialistID: id}, Generation: generation,
			AppointmentTypeIDs: union(before.serves[id], after.serves[id]), // a type that was just taken away is told as well
		})
	}
}

func (e *Engine) followAppointment(ctx context.Context, c *store.Change) {
	s := e.schedule.current.Load()
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
	s := e.schedule.current.Load()
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
