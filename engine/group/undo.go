package group

import (
	"context"
	"slices"
	"sort"
	"time"

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
	moving, moved := make(map[string]bool), []holds.Booked(nil)
	for i := range list {
		moved = append(moved, occupancy.Booked(&list[i].Appointment))
		if moving[list[i].ID] = true; w.Reaches != nil && !w.Reaches(list[i].SpecialistID) {
			return nil, record.ErrForbidden
		}
	}
	s := se.clinic.Current()
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
		x.known, x.ids, err = se.find(ctx, s, slotOfOne(t), x.start,
			rules{ignoreHours: true, moving: moving, moved: moved, specialistID: before.SpecialistID})
		if x.why = reasonOf(err); err != nil && x.why == "" {
			return nil, err
		}
	}
	defer se.booking.BeforeUndo(ctx, times...)()
	held, err := se.secureAll(ctx, all, booking.ClaimOwner(holds.Owner{}, w.Once), false)
	if err != nil {
		return nil, err
	}
	for i := range held {
		if !all[i].free {
			to[i] = place{held[i].Span, held[i].Resources.List()}
		}
	}
	done, err := se.undo(ctx, &w, list, to, held, nil)
	for i := range done {
		if all[i].free {
			se.booking.AnnounceConfirm(ctx, to[i].Span)
		}
	}
	return done, conflictOf(err, func(id string) int {
		return slices.IndexFunc(list, func(u undone) bool { return u.ID == id })
	})
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
	s := v.clinic.Current()
	ids, rule := make([]string, len(list)), rules{ignoreHours: true, moving: make(map[string]bool),
		specialistID: list[0].before.SpecialistID}
	for i := range list {
		ids[i], rule.moving[list[i].ID] = list[i].before.AppointmentTypeID, true
		rule.moved = append(rule.moved, occupancy.Booked(&list[i].Appointment))
	}
	w0, err := slotOfAny(s, ids)
	if err != nil {
		return a, err
	}
	first, last := &list[0].before, &list[len(list)-1].before
	// A member that was cancelled alone earlier left a gap. So the visit's time keeps its previous length, which is not
	// the sum of the types' lengths.
	stretched := *w0.AppointmentType
	stretched.DurationMinutes = int(last.SlotEnd.Sub(first.SlotStart) / time.Minute)
	k, free, err := v.find(ctx, s, &slot{&stretched, w0.types, w0.offsets}, first.SlotStart, rule)
	if err != nil {
		return a, err
	}
	spans, times := make([]holds.Span, len(list)), []holds.Span(nil)
	for i := range list {
		before := &list[i].before
		t := booking.WithLength(w0.types[i], before.SlotEnd.Sub(before.SlotStart))
		spans[i] = availability.SpanOf(t, before.SpecialistID, before.SlotStart)
		times = append(times, booking.UndoTimes(before, spans[i])...)
	}
	defer v.booking.BeforeUndo(ctx, times...)()
	h, err := v.secure(ctx, k, &free, first.SlotStart, booking.ClaimOwner(holds.Owner{}, r.Once), false)
	if err != nil {
		return a, err
	}
	to := make([]place, len(list))
	for i := range list {
		to[i] = place{spans[i], w0.resourcesOf(i, h.Resources)}
	}
	named := func(done []store.Appointment) any {
		return done[slices.IndexFunc(done, func(x store.Appointment) bool { return x.ID == r.ID })]
	}
	done, err := v.undo(ctx, &w, list, to, []holds.Hold{h}, named)
	if err != nil {
		return a, err
	}
	return named(done).(store.Appointment), nil
}
