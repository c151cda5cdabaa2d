package series

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// undo is one appointment that is taken back, with where it was.
type undo struct {
	a    store.Appointment
	was  booking.Undone
	t    *store.AppointmentType
	span holds.Span // that it takes again
	hold *holds.Hold
}

// Undo takes back what the same actor has just cancelled or moved from an appointment on, as undoable: all of it or nothing, as it
// was done. Whichever of them is named, all that were changed with it are meant. Their old times are claimed like any others.
//
// Errors: booking.ErrUndoLate (also where one of them was changed since), store.ErrNotFound, store.ErrVersion, ErrNone,
// record.ErrForbidden, *NotBookableError, *ConflictError (places are those of the appointments by their starts as they are now).
func (se *Series) Undo(ctx context.Context, f From) ([]store.Appointment, error) {
	all, err := se.lastChanged(ctx, &f)
	if err != nil {
		return nil, err
	}
	var times []holds.Span
	for i := range all {
		times = append(times, all[i].was.Times(all[i].span)...)
	}
	defer se.booking.BeforeUndo(ctx, times...)()
	if err := se.claimAgain(ctx, all); err != nil {
		se.releaseUndone(ctx, all, holds.ReasonReleased)
		return nil, err
	}
	// Each goes where the one before it has just left: those that go back in time begin with the earliest.
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	if all[0].span.SlotStart.After(all[0].a.SlotStart) {
		slices.Reverse(order)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	silent := f
	silent.Silent, silent.Undoable = true, false
	var done []changed
	var calls []booking.Promise
	place := 0
	err = se.store.Write(ctx, func(tx store.Tx) error {
		done = done[:0]
		for _, i := range order {
			u := &all[i]
			a, err := tx.Appointment(ctx, u.a.ID)
			if err != nil {
				return err
			}
			if a.Version != u.a.Version {
				return store.ErrVersion
			}
			x := changed{a, a}
			if err := se.booking.TakeBack(ctx, tx, &x.after, &u.was, u.span, u.resources(), now); err != nil {
				return err
			}
			x.after.Place = se.clinic.Current().PlaceAt(x.after.SpecialistID, x.after.SlotStart)
			done = append(done, x)
		}
		var err error
		calls, err = se.commit(ctx, tx, &silent, booking.ChangeUndone, "", done, now, &place)
		return err
	})
	if err != nil {
		reason := holds.ReasonReleased
		if errors.Is(err, store.ErrSlotTaken) {
			reason, err = holds.ReasonConflict, &ConflictError{[]Conflict{{order[place], availability.ReasonTaken}}}
		}
		se.releaseUndone(ctx, all, reason)
		return nil, err
	}
	se.booking.Enqueue(calls...)
	back := make([]store.Appointment, len(all))
	for at, i := range order {
		if back[i] = done[at].after; all[i].hold != nil {
			se.booking.Confirm(ctx, *all[i].hold, back[i])
		} else {
			se.booking.AnnounceConfirm(ctx, all[i].span)
		}
	}
	return back, nil
}

func (u *undo) resources() []string {
	if u.hold == nil {
		return nil
	}
	return u.hold.Resources.List()
}

func (se *Series) releaseUndone(ctx context.Context, all []undo, reason holds.Reason) {
	for i := range all {
		if h := all[i].hold; h != nil {
			se.booking.Release(ctx, *h, reason)
		}
	}
}

// lastChanged finds the appointments that were changed together with the one that is named, by start. booking.ErrUndoLate if that cannot be
// taken back whole.
func (se *Series) lastChanged(ctx context.Context, f *From) ([]undo, error) {
	if !record.ValidID(f.ID) {
		return nil, store.ErrNotFound
	}
	a, err := se.store.Appointment(ctx, f.ID)
	if err != nil {
		return nil, err
	}
	if f.Version != 0 && a.Version != f.Version {
		return nil, store.ErrVersion
	}
	first, err := se.booking.LastChange(ctx, &a, f.Actor)
	if err != nil {
		return nil, err
	}
	list, err := listOf(ctx, se.store, &a, store.AppointmentFilter{})
	if err != nil {
		return nil, err
	}
	// One of them that was changed since is not among those with this instant any more.
	ids, err := se.booking.ChangedWith(ctx, &first, f.Actor)
	if err != nil {
		return nil, err
	}
	s := se.clinic.Current()
	var all []undo
	for _, x := range list {
		if !slices.Contains(ids, x.ID) {
			continue
		}
		if f.Reaches != nil && !f.Reaches(x.SpecialistID) {
			return nil, record.ErrForbidden
		}
		u := undo{a: x}
		if u.was, err = se.booking.LastChange(ctx, &x, f.Actor); err != nil {
			return nil, err
		}
		if !u.was.At.Equal(first.At) || u.was.Action != first.Action {
			return nil, booking.ErrUndoLate
		}
		if u.t = s.Types[u.was.AppointmentTypeID]; u.t == nil {
			return nil, &availability.NotBookableError{Reason: availability.ReasonInactive}
		}
		u.span = availability.SpanOf(u.t, u.was.SpecialistID, u.was.SlotStartDate)
		all = append(all, u)
	}
	if len(all) == 0 {
		return nil, booking.ErrUndoLate
	}
	return all, nil
}

// claimAgain holds all the times again. Hours do not matter: what was agreed is agreed. An overbooked one is outside the guarantee and
// takes no hold. *ConflictError names every time that is gone.
func (se *Series) claimAgain(ctx context.Context, all []undo) error {
	moving := make(map[string]bool)
	for i := range all {
		moving[all[i].a.ID] = true
	}
	var conflicts []Conflict
	s := se.clinic.Current()
	for i := range all {
		u := &all[i]
		if u.was.Overbook {
			continue
		}
		k, err := se.look(ctx, s, u.t, []string{u.span.SpecialistID}, []time.Time{u.span.SlotStart}, moving, holds.Owner{})
		if err != nil {
			return err
		}
		reason := availability.ReasonTaken
		seats, needs := availability.FreeSeats(u.t, u.span, availability.TakenBy(k.taken, u.span.SpecialistID)), k.needs.Free(u.span.SlotStart, true)
		if len(seats) > 0 && !slices.ContainsFunc(needs, func(group []string) bool { return len(group) == 0 }) {
			var held claimed
			if reason, err = se.claim(ctx, &held, i, u.span, seats, needs, holds.Owner{}, false); len(held) > 0 {
				u.hold = &held[0].Hold
				u.span = u.hold.Span
			}
			if err != nil {
				return err
			}
		}
		if reason != "" {
			conflicts = append(conflicts, Conflict{i, reason})
		}
	}
	if conflicts != nil {
		return &ConflictError{conflicts}
	}
	return nil
}
