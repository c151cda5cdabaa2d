package booking

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
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
// the old time has been booked since, the undo fails with that error. No notification has been sent yet, because the
// outbound operations of an undoable change wait a little longer than it can be undone (decision 34). So an undo
// withdraws those operations, and the manage link in the patient's email works as before.

const (
	// UndoTime is how long a change can be undone.
	UndoTime = 10 * time.Second
	// undoSlack is how much later than UndoTime the request may arrive.
	undoSlack = 2 * time.Second
	// undoDelay is how long the outbound operations of an undoable change wait: longer than the change can be undone,
	// even if the clocks of two nodes differ by a second.
	undoDelay = UndoTime + undoSlack + 2*time.Second
)

// ErrUndoLate reports that this caller cannot undo anything: the change is too old, another user made it, the
// appointment has changed since, or a notification was already sent.
var ErrUndoLate = errors.New("too late to undo the change")

// UndoRequest asks to undo the last change of an appointment.
type UndoRequest struct {
	ID      string
	Version int64 // the version the caller has seen; 0 = any
	Actor   record.Actor
	Once    *record.Once
}

// Undo reverts the last change of an appointment, if it is a cancellation or a move that the same actor made as
// undoable. It claims the old time like any other.
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
	if err == nil && before.SeriesID+before.VisitID != "" {
		// One email covers all members, so all are undone together (package group).
		var ids []string
		if ids, err = bk.UndoGroup(ctx, &before, r.Actor); len(ids) > 1 {
			err = ErrUndoLate
		}
	}
	if err != nil {
		return store.Appointment{}, err
	}
	span, h, err := bk.claimAgain(ctx, &a, &before, r.Once.Owner())
	if err != nil {
		return store.Appointment{}, err
	}
	// The write requires the version that was read, so nothing that was checked has changed.
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

// UndoState is the state of an appointment before the change that is undone.
type UndoState struct {
	appointmentAudit
	Action         string    // of the change, in the audit log
	At             time.Time // of the change
	overbookReason string
}

// ApplyUndo restores the earlier state of an appointment, in a transaction, at a time that the caller has claimed for
// it. It withdraws the notifications of the change. ErrUndoLate: one of them was already sent.
func (bk *Booking) ApplyUndo(ctx context.Context, tx store.Tx, a *store.Appointment, before *UndoState, span holds.Span,
	resources []string, now time.Time) error {
	if now.Sub(before.At) > UndoTime+undoSlack {
		return ErrUndoLate
	}
	ok, err := bk.hooks.Withdraw(ctx, tx, a.ID, before.At, before.UpstreamState == string(store.UpstreamPending))
	if err != nil {
		return err
	}
	if !ok {
		return ErrUndoLate
	}
	if before.Action == actionRescheduled {
		a.ManageEpoch-- // the link of the new time was never sent
	}
	a.Status, a.CancelledAt, a.CancelReason, a.VisitID = store.Confirmed, time.Time{}, "", before.VisitID
	a.Overbook, a.OverbookReason = before.Overbook, before.overbookReason
	if before.UpstreamState != "" {
		a.UpstreamState = store.UpstreamState(before.UpstreamState)
	}
	a.AppointmentTypeID, a.SpecialistID, a.Seat, a.Resources = span.AppointmentTypeID, span.SpecialistID, span.Seat, resources
	a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd = span.SlotStart, span.SlotEnd, span.BusyStart, span.BusyEnd
	return nil
}

// The actions in the audit log that can be undone.
const (
	actionCancelled   = "appointment." + ChangeCancelled
	actionRescheduled = "appointment." + ChangeRescheduled
)

// UndoState reads the state before an appointment's last change from the audit log. ErrUndoLate if this actor cannot
// undo that change.
func (bk *Booking) UndoState(ctx context.Context, a *store.Appointment, actor record.Actor) (UndoState, error) {
	late := UndoState{}
	if !actor.AtDesk() || time.Since(a.UpdatedAt) > UndoTime+undoSlack {
		return late, ErrUndoLate
	}
	entries, _, err := bk.store.Audit(ctx, store.AuditFilter{Subject: "appointment:" + a.ID, Limit: 500})
	if err != nil {
		return late, err
	}
	u, found := UndoState{At: a.UpdatedAt}, false
	for _, e := range entries {
		last := e.At.Equal(a.UpdatedAt) && e.Actor == string(actor) // entries of the same millisecond have no order
		switch e.Action {
		case "appointment." + ChangeUndone:
			if last {
				return late, ErrUndoLate
			}
		case actionCancelled, actionRescheduled:
			if last && json.Unmarshal(e.Before, &u.appointmentAudit) == nil {
				found, u.Action = true, e.Action
			}
		case "appointment." + ChangeCreated:
			if u.Overbook {
				u.overbookReason = e.Reason
			}
		}
	}
	if !found {
		return late, ErrUndoLate
	}
	return u, nil
}

// UndoGroup lists the ids of the appointments of the same series or visit that the change applied to, including its
// own. It reads them from the audit log, so later changes to one of them do not matter.
func (bk *Booking) UndoGroup(ctx context.Context, before *UndoState, actor record.Actor) (ids []string, err error) {
	entries, _, err := bk.store.Audit(ctx, store.AuditFilter{From: before.At, To: before.At.Add(time.Millisecond), Actor: string(actor), Action: before.Action, Limit: 500})
	for _, e := range entries {
		var one appointmentAudit
		if json.Unmarshal(e.Before, &one) == nil && one.SeriesID == before.SeriesID && one.VisitID == before.VisitID {
			ids = append(ids, strings.TrimPrefix(e.Subject, "appointment:"))
		}
	}
	return ids, err
}

// Times returns the times that an appointment takes again: its specialist's, and those of the rooms and devices that
// it had.
func (u *UndoState) Times(span holds.Span) []holds.Span {
	times := []holds.Span{span}
	for _, id := range u.ResourceIDs {
		span.SpecialistID = id
		times = append(times, span)
	}
	return times
}

// claimAgain claims the time that the appointment had, for this owner. An overbooked appointment is outside the guarantee, so its
// time gets no hold.
func (bk *Booking) claimAgain(ctx context.Context, a *store.Appointment,
	before *UndoState, owner holds.Owner) (holds.Span, *holds.Hold, error) {
	s := bk.clinic.Current()
	t, ok := s.Types[before.AppointmentTypeID]
	if !ok {
		return holds.Span{}, nil, &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	if before.Overbook {
		return availability.SpanOf(t, before.SpecialistID, before.SlotStartDate), nil, nil
	}
	rules := Rules{
		Rules:  availability.Rules{IgnoreHours: true},
		Moving: map[string]bool{a.ID: true}, Moved: []holds.Booked{occupancy.Booked(a)},
	}
	offers, err := bk.Offers(ctx, s, t, before.SpecialistID, before.SlotStartDate, rules)
	if err != nil {
		return holds.Span{}, nil, err
	}
	defer bk.hooks.BeforeUndo(ctx, before.Times(availability.SpanOf(t, before.SpecialistID, before.SlotStartDate))...)()
	h, err := bk.Secure(ctx, s, offers, rules, owner, false)
	if err != nil {
		return holds.Span{}, nil, err
	}
	return h.Span, &h, nil
}
