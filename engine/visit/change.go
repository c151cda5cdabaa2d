package visit

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Which names a visit by one of its appointments.
type Which struct {
	ID      string
	Version int64 // the version of that one that the caller has seen; 0 = any
	// Reaches says whether the caller may change a specialist's calendar. Nil: all. One that is out of reach refuses all.
	Reaches func(specialistID string) bool
	Actor   record.Actor
	Silent  bool
	// Undoable: it can be taken back for booking.UndoTime, and nobody is told until then. For staff.
	Undoable bool
	Once     *record.Once // its result is []store.Appointment
}

// read finds those that are confirmed, by start, and refuses what this caller may not change.
func (w *Which) read(ctx context.Context, r store.Reader) (named store.Appointment, list []store.Appointment, err error) {
	if !record.ValidID(w.ID) {
		return named, nil, store.ErrNotFound
	}
	if named, err = r.Appointment(ctx, w.ID); err != nil {
		return named, nil, err
	}
	if w.Version != 0 && named.Version != w.Version {
		return named, nil, store.ErrVersion
	}
	list, err = listOf(ctx, r, &named, store.Confirmed)
	if err == nil && w.Reaches != nil && slices.ContainsFunc(list, func(a store.Appointment) bool { return !w.Reaches(a.SpecialistID) }) {
		err = record.ErrForbidden
	}
	return named, list, err
}

func (w *Which) change(kind, reason string, at time.Time) booking.Change {
	return booking.Change{Kind: kind, Actor: w.Actor, Reason: reason, Silent: w.Silent, Undoable: w.Undoable && w.Actor.AtDesk(), At: at}
}

// Cancel asks for the end of a visit.
type Cancel struct {
	Which
	Reason string
	CutOff bool // the patient asks: the clinic's change cut-off applies, to the first of them
}

// Cancel cancels all of a visit that are confirmed, or none. Where none is, nothing is changed and the visit comes back as it is.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNone, record.ErrCutOff, record.ErrForbidden, *ValidationError.
func (v *Visits) Cancel(ctx context.Context, r Cancel) ([]store.Appointment, error) {
	var m record.Mistakes
	record.CheckText(&m, "reason", r.Reason, 500, true)
	if err := m.Err(); err != nil {
		return nil, err
	}
	at := now()
	var done []store.Appointment
	var calls []booking.Promise
	err := v.store.Write(ctx, func(tx store.Tx) error {
		calls = nil
		named, list, err := r.read(ctx, tx)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			if done, err = listOf(ctx, tx, &named, ""); err != nil {
				return err
			}
			return r.Once.Remember(ctx, tx, done, at)
		}
		if r.CutOff && v.booking.PastCutOff(&list[0], at) {
			return record.ErrCutOff
		}
		all := make([]changed, len(list))
		for i, a := range list {
			all[i] = changed{a, a}
			all[i].after.Status, all[i].after.CancelledAt, all[i].after.CancelReason = store.Cancelled, at, r.Reason
			if err := tx.FreeNonces(ctx, a.ID); err != nil {
				return err
			}
		}
		if done, calls, err = v.commit(ctx, tx, r.change(booking.ChangeCancelled, r.Reason, at), all); err != nil {
			return err
		}
		return r.Once.Remember(ctx, tx, done, at)
	})
	if err != nil {
		return nil, err
	}
	v.booking.Enqueue(calls...)
	return done, nil
}

// Move says where a visit goes.
type Move struct {
	Which
	SlotStart    time.Time // of the first
	SpecialistID string    // empty: with whom it is if they have time, else assigned
	Displace     bool
	IgnoreHours  bool
}

// Move moves all of a visit that are confirmed, or none: they keep their order, one after the other. The whole new time is claimed
// first, by one hold, and the move is one Write. Every manage link handed out before is dead afterwards.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNone, record.ErrNotConfirmed, record.ErrForbidden, *NotBookableError,
// store.ErrSlotTaken, *holds.HeldError, *ValidationError.
func (v *Visits) Move(ctx context.Context, r Move) ([]store.Appointment, error) {
	var m record.Mistakes
	record.CheckStart(&m, r.SlotStart)
	if err := m.Err(); err != nil {
		return nil, err
	}
	_, list, err := r.read(ctx, v.store)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, record.ErrNotConfirmed
	}
	s := v.clinic.Current()
	ids, rule := make([]string, len(list)), rules{r.IgnoreHours, make(map[string]bool)}
	for i, a := range list {
		ids[i], rule.moving[a.ID] = a.AppointmentTypeID, true
	}
	w, err := slotOfAny(s, ids)
	if err != nil {
		return nil, err
	}
	first := r.SpecialistID
	if first == "" && serves(w.AppointmentType, list[0].SpecialistID) {
		first = list[0].SpecialistID
	}
	k, found, err := v.free(ctx, s, w, first, r.SlotStart, &rule)
	if err != nil && r.SpecialistID == "" && first != "" {
		k, found, err = v.free(ctx, s, w, "", r.SlotStart, &rule)
	}
	if err != nil {
		return nil, err
	}
	h, err := v.claimPinned(ctx, k, &found, r.SlotStart, r.Once.Owner(), r.Displace)
	if err != nil {
		return nil, err
	}
	done, stays, err := v.writeMove(ctx, &r, w, &h, list)
	switch {
	case err != nil:
		v.letGo(ctx, &h, false, err)
		return nil, err
	case stays:
		v.booking.Release(ctx, h, holds.ReasonReleased)
	default:
		v.booking.Confirm(ctx, h, done[0])
	}
	return done, nil
}

func (v *Visits) writeMove(ctx context.Context, r *Move, w *slot, h *holds.Hold, list []store.Appointment) (done []store.Appointment, stays bool, err error) {
	at := now()
	var calls []booking.Promise
	err = v.store.Write(ctx, func(tx store.Tx) error {
		calls = nil
		_, there, err := r.read(ctx, tx)
		if err != nil {
			return err
		}
		if !slices.EqualFunc(there, list, func(a, b store.Appointment) bool { return a.ID == b.ID && a.ManageEpoch == b.ManageEpoch }) {
			return store.ErrVersion // moved or cancelled since, one of them or all
		}
		all := make([]changed, len(there))
		stays = true
		for i, a := range there {
			all[i] = changed{a, a}
			span, x := w.spanOf(i, h.SpecialistID, h.SlotStart), &all[i].after
			x.SpecialistID, x.Seat, x.Overbook, x.OverbookReason, x.Resources = h.SpecialistID, 0, false, "", w.resourcesOf(i, h.Resources)
			x.SlotStart, x.SlotEnd, x.BusyStart, x.BusyEnd = span.SlotStart, span.SlotEnd, span.BusyStart, span.BusyEnd
			x.ManageEpoch++
			stays = stays && all[i].stays()
		}
		if stays { // they stand there already, and nobody has anything to be told
			done = there
			return r.Once.Remember(ctx, tx, done, at)
		}
		if done, calls, err = v.commit(ctx, tx, r.change(booking.ChangeRescheduled, "", at), inTurn(all)); err != nil {
			return err
		}
		return r.Once.Remember(ctx, tx, done, at)
	})
	if err == nil {
		v.booking.Enqueue(calls...)
	}
	return done, stays, err
}

// inTurn orders moves so that each finds its place left by those before it, because the database looks at one row after the other. The
// people keep their order in time, so there always is one whose place is free.
func inTurn(all []changed) []changed {
	var turn []changed
	for left := slices.Clone(all); len(left) > 0; {
		next := 0
		for i := range left {
			if !slices.ContainsFunc(left, func(other changed) bool {
				return other.before.ID != left[i].before.ID && meet(&left[i].after, &other.before)
			}) {
				next = i
				break
			}
		}
		turn, left = append(turn, left[next]), slices.Delete(left, next, next+1)
	}
	return turn
}

func meet(a, b *store.Appointment) bool {
	return b.BusyStart.Before(a.SlotEnd) && a.SlotStart.Before(b.BusyEnd) || b.SlotStart.Before(a.BusyEnd) && a.BusyStart.Before(b.SlotEnd)
}
