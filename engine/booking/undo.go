package booking

import (
	"cmp"
	"context"
	"errors"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// # Undo
//
// A member of staff can undo their own cancellation or move for UndoTime. An undo is an operation like any other: if
// the old time has since been booked, the undo fails with the usual error. No notification has been sent by then,
// because an undoable change's outbound operations are delayed until slightly after the change can no longer be undone
// (decision 34). So an undo withdraws those operations, and the manage link in the patient's email works as before.
//
// The transaction of an undoable change also writes the state before the change (store.UndoState), with the version
// that the appointment has after the change. An undo reads the state for the current version, so after any later
// change, on any node, it is too late to undo. The periodic sweep deletes expired states.

const (
	// UndoTime is how long a change can be undone.
	UndoTime = 10 * time.Second
	// undoSlack is how long after UndoTime an undo request may still arrive.
	undoSlack = 2 * time.Second
	// undoDelay is how long the outbound operations of an undoable change wait. This is longer than the undo period,
	// even if the clocks of two nodes differ by a second.
	undoDelay = UndoTime + undoSlack + 2*time.Second
)

// ErrUndoLate reports that this caller cannot undo anything: the change is too old, another user made it, the
// appointment has changed since, or a notification has already been sent.
var ErrUndoLate = errors.New("too late to undo the change")

// UndoRequest is a request to undo the last change to an appointment.
type UndoRequest struct {
	ID      string
	Version int64 // the version that the caller has read; 0 means any
	Actor   record.Actor
	Once    *record.Once
}

// Undo reverts the last change to an appointment if it is an undoable cancellation or move by the same actor. It claims
// the old time in the same way as any other time.
//
// Errors: ErrUndoLate, store.ErrNotFound, store.ErrVersion, store.ErrSlotTaken, *holds.HeldError, *NotBookableError.
func (bk *Booking) Undo(ctx context.Context, r UndoRequest) (store.Appointment, error) {
	if !record.ValidID(r.ID) {
		return store.Appointment{}, store.ErrNotFound
	}
	a, err := bk.store.Appointment(ctx, r.ID)
	if err != nil {
		return store.Appointment{}, err
	}
	if r.Version != 0 && r.Version != a.Version {
		return store.Appointment{}, store.ErrVersion
	}
	before, err := bk.UndoState(ctx, &a, r.Actor)
	if err != nil {
		return store.Appointment{}, err
	}
	// One email covers all appointments that changed together, so all are undone together (package group).
	if together, err := bk.store.UndoStates(ctx, before.ChangeID); err != nil || len(together) > 1 {
		return store.Appointment{}, cmp.Or(err, ErrUndoLate)
	}
	span, h, err := bk.claimAgain(ctx, &a, &before, ClaimOwner(holds.Owner{}, r.Once))
	if err != nil {
		return store.Appointment{}, err
	}
	// The write succeeds only for the version that was read, so the data that was checked cannot have changed.
	c := Change{Kind: ChangeUndone, Actor: r.Actor, Silent: true, once: r.Once}
	back, err := bk.ChangeAppointment(ctx, r.ID, a.Version, c,
		func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			var resources []string
			if h != nil {
				resources = h.Resources.List()
			}
			return true, bk.ApplyUndo(ctx, tx, a, &before, span, resources, now)
		})
	switch {
	case err == nil && h != nil:
		bk.Confirm(ctx, *h, back)
	case err == nil:
		bk.AnnounceConfirm(ctx, span)
	case h != nil && errors.Is(err, store.ErrSlotTaken):
		bk.counts.conflicts.Add(1)
		bk.Release(ctx, *h, holds.ReasonConflict)
	case h != nil:
		bk.Release(ctx, *h, holds.ReasonReleased)
	}
	return back, err
}

// ApplyUndo restores an appointment's earlier state, within a transaction, at a time that the caller has claimed for
// it. It withdraws the notifications of the change, and returns ErrUndoLate if one of them has already been sent.
func (bk *Booking) ApplyUndo(ctx context.Context, tx store.Tx, a *store.Appointment, before *store.UndoState,
	span holds.Span, resources []string, now time.Time) error {
	if now.After(before.ExpiresAt) {
		return ErrUndoLate
	}
	ok, err := bk.hooks.Withdraw(ctx, tx, a.ID, before.At, before.UpstreamState == store.UpstreamPending)
	if err != nil {
		return err
	}
	if !ok {
		return ErrUndoLate
	}
	a.ManageEpoch = before.ManageEpoch // no link with the new time's epoch has been sent
	a.Status, a.CancelledAt, a.CancelReason, a.VisitID = store.Confirmed, time.Time{}, "", before.VisitID
	a.Overbook, a.OverbookReason, a.UpstreamState = before.Overbook, before.OverbookReason, before.UpstreamState
	a.AppointmentTypeID, a.SpecialistID, a.Seat, a.Resources = span.AppointmentTypeID, span.SpecialistID, span.Seat,
		resources
	a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd = span.SlotStart, span.SlotEnd, span.BusyStart, span.BusyEnd
	return nil
}

// UndoState returns the state that an appointment had before its last change. It returns ErrUndoLate if this actor can
// no longer undo that change.
func (bk *Booking) UndoState(ctx context.Context, a *store.Appointment, actor record.Actor) (store.UndoState, error) {
	before, err := bk.store.UndoState(ctx, a.ID, a.Version)
	late := err == nil && (before.Actor != string(actor) || time.Now().After(before.ExpiresAt))
	if late || errors.Is(err, store.ErrNotFound) {
		err = ErrUndoLate
	}
	return before, err
}

// UndoTimes returns the times that an appointment will occupy again: those of its specialist and of the rooms and
// devices that it had.
func UndoTimes(before *store.UndoState, span holds.Span) []holds.Span {
	times := []holds.Span{span}
	for _, id := range before.Resources {
		span.SpecialistID = id
		times = append(times, span)
	}
	return times
}

// claimAgain claims the appointment's previous time for this owner. If the length of the type has changed since the
// booking, it claims the previous length.
func (bk *Booking) claimAgain(ctx context.Context, a *store.Appointment, before *store.UndoState,
	owner holds.Owner) (holds.Span, *holds.Hold, error) {
	s := bk.clinic.Current()
	t, ok := s.Types[before.AppointmentTypeID]
	if !ok {
		return holds.Span{}, nil, &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	t = WithLength(t, before.SlotEnd.Sub(before.SlotStart))
	if before.Overbook {
		return availability.SpanOf(t, before.SpecialistID, before.SlotStart), nil, nil
	}
	rules := Rules{
		Rules:  availability.Rules{IgnoreHours: true},
		Moving: map[string]bool{a.ID: true}, Moved: []holds.Booked{occupancy.Booked(a)},
	}
	offers, err := bk.Offers(ctx, s, t, before.SpecialistID, before.SlotStart, rules)
	if err != nil {
		return holds.Span{}, nil, err
	}
	old := availability.SpanOf(t, before.SpecialistID, before.SlotStart)
	defer bk.hooks.BeforeUndo(ctx, UndoTimes(before, old)...)()
	h, err := bk.ClaimPinned(ctx, offers, holds.Claim{Owner: owner})
	if err != nil {
		return holds.Span{}, nil, err
	}
	return h.Span, &h, nil
}
