package group

import (
	"context"
	"errors"
	"slices"
	"sort"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// undone is an appointment together with its state before the change to undo.
type undone struct {
	store.Appointment
	before store.UndoState
}

// lastChange lists the appointments that were changed together with the named one, including the named one, sorted by
// start. It returns booking.ErrUndoLate if any of them has changed since, because a group is undone as a whole.
func (m *mechanism) lastChange(ctx context.Context, named *store.Appointment, actor record.Actor) ([]undone, error) {
	last, err := m.booking.UndoState(ctx, named, actor)
	if err != nil {
		return nil, err
	}
	states, err := m.store.UndoStates(ctx, last.ChangeID)
	if err != nil {
		return nil, err
	}
	list := make([]undone, len(states))
	for i, before := range states {
		a, err := m.store.Appointment(ctx, before.AppointmentID)
		if err != nil {
			return nil, err
		}
		if a.Version != before.Version {
			return nil, booking.ErrUndoLate
		}
		list[i] = undone{a, before}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].SlotStart.Before(list[j].SlotStart) })
	return list, nil
}

// undo restores the appointments in list to their states before the change. to contains the time and rooms of each
// appointment before the change. The holds in held reserve those times.
func (m *mechanism) undo(ctx context.Context, w *Which, list []undone, to []place, held []holds.Hold,
	remembered func([]store.Appointment) any) ([]store.Appointment, error) {
	at := now()
	c := booking.Change{Kind: booking.ChangeUndone, Actor: w.Actor, Silent: true, At: at}
	done, err := m.commit(ctx, c, w.Once, func(tx store.Tx) ([]member, error) {
		all := make([]member, len(list))
		for i := range list {
			all[i] = member{before: &list[i].Appointment, after: list[i].Appointment}
			if err := m.booking.ApplyUndo(ctx, tx, &all[i].after, &list[i].before, to[i].Span, to[i].resources,
				at); err != nil {
				return nil, err
			}
		}
		return all, nil
	}, remembered)
	if err != nil {
		m.release(ctx, held, err)
		return nil, err
	}
	m.confirm(ctx, held, done)
	return done, nil
}

// undoTogether claims the previous times of the appointments in list and restores all of them, or none. It claims one
// hold for each, also in a visit: the time between them may be booked. remembered returns the response to store for the
// idempotency key.
//
// Errors: *NotBookableError, *ConflictError (places are in the order of list).
func (m *mechanism) undoTogether(ctx context.Context, w *Which, list []undone,
	remembered func([]store.Appointment) any) ([]store.Appointment, error) {
	moving, moved := make(map[string]bool), []holds.Booked(nil)
	for i := range list {
		moving[list[i].ID], moved = true, append(moved, occupancy.Booked(&list[i].Appointment))
	}
	s := m.clinic.Current()
	all, to := make([]wanted, len(list)), make([]place, len(list))
	var times []holds.Span
	for i := range list {
		before := &list[i].before
		t := s.Types[before.AppointmentTypeID]
		if t == nil {
			return nil, &availability.NotBookableError{Reason: availability.ReasonInactive}
		}
		t = booking.WithLength(t, before.SlotEnd.Sub(before.SlotStart))
		to[i] = place{Span: availability.SpanOf(t, before.SpecialistID, before.SlotStart)}
		times = append(times, booking.UndoTimes(before, to[i].Span)...)
		x := &all[i]
		if x.start, x.free = before.SlotStart, before.Overbook; x.free {
			continue
		}
		var err error
		x.known, x.ids, err = m.find(ctx, s, slotOfOne(t), x.start,
			rules{ignoreHours: true, moving: moving, moved: moved, specialistID: before.SpecialistID})
		if x.why = reasonOf(err); err != nil && x.why == "" {
			return nil, err
		}
	}
	defer m.booking.BeforeUndo(ctx, times...)()
	held, err := m.secureAll(ctx, all, booking.ClaimOwner(holds.Owner{}, w.Once), false)
	if err != nil {
		return nil, err
	}
	for i := range held {
		if !all[i].free {
			to[i] = place{held[i].Span, held[i].Resources.List()}
		}
	}
	done, err := m.undo(ctx, w, list, to, held, remembered)
	for i := range done {
		if all[i].free {
			m.booking.AnnounceConfirm(ctx, to[i].Span)
		}
	}
	return done, conflictOf(err, func(id string) int {
		return slices.IndexFunc(list, func(u undone) bool { return u.ID == id })
	})
}

// Undo undoes the last change that the same member of staff made to a series: an undoable cancellation or move. It
// applies to all appointments that were changed together, whichever of them w names, or to none. It claims their old
// times in the same way as any other times.
//
// Errors: booking.ErrUndoLate (including if any of them has changed since), store.ErrNotFound, store.ErrVersion,
// ErrNoSeries, record.ErrForbidden, *NotBookableError, *ConflictError (places are in the order of the current start
// times).
func (se *Series) Undo(ctx context.Context, w Which) ([]store.Appointment, error) {
	a, err := w.named(ctx, se.store)
	if err != nil {
		return nil, err
	}
	list, err := se.lastChange(ctx, &a, w.Actor)
	switch {
	case err != nil:
		return nil, err
	case a.SeriesID == "":
		return nil, ErrNoSeries
	}
	for i := range list {
		if w.Reaches != nil && !w.Reaches(list[i].SpecialistID) {
			return nil, record.ErrForbidden
		}
	}
	return se.undoTogether(ctx, &w, list, nil)
}

// Undo undoes the last change to an appointment and to all members of its visit that were changed with it, or to none
// of them. If the appointment was changed alone, or is not part of a visit, Undo undoes the change of that appointment
// alone. It returns the named appointment.
//
// Errors: those of booking.Undo.
func (v *Visit) Undo(ctx context.Context, r booking.UndoRequest) (store.Appointment, error) {
	w := Which{ID: r.ID, Version: r.Version, Actor: r.Actor, Once: r.Once}
	a, err := w.named(ctx, v.store)
	if err != nil {
		return a, err
	}
	list, err := v.lastChange(ctx, &a, r.Actor)
	if err != nil {
		return a, err
	}
	if len(list) < 2 || list[0].before.VisitID == "" {
		return v.booking.Undo(ctx, r)
	}
	named := func(done []store.Appointment) any {
		return done[slices.IndexFunc(done, func(x store.Appointment) bool { return x.ID == r.ID })]
	}
	done, err := v.undoTogether(ctx, &w, list, named)
	var lost *ConflictError
	switch {
	case errors.As(err, &lost) && lost.Conflicts[0].Reason == availability.ReasonHeld:
		return a, &holds.HeldError{Until: lost.Conflicts[0].Until}
	case lost != nil:
		return a, store.ErrSlotTaken
	case err != nil:
		return a, err
	}
	return named(done).(store.Appointment), nil
}
