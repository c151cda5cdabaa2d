package booking

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// # Taking back
//
// A member of staff can take back a cancellation or a move of their own for UndoTime. It is an operation like any other: the
// old time may be gone by then, and the answer says so. Nobody was told yet, because what such a change promises to the
// outside waits a little longer than it can be taken back (decision 34); so undoing withdraws those promises, and the manage
// link in the patient's mail is good as before.

const (
	// UndoTime is how long a change can be taken back.
	UndoTime = 10 * time.Second
	// undoSlack is how much later the request may arrive.
	undoSlack = 2 * time.Second
	// untold is how long what a change promises waits: longer than anybody can take the change back, clocks of two nodes that
	// differ by a second included.
	untold = UndoTime + undoSlack + 2*time.Second
)

// ErrUndoLate: there is nothing that this caller could take back. It was too long ago, somebody else did it, the appointment
// was changed since, or others were told already.
var ErrUndoLate = errors.New("too late to take it back")

// UndoRequest asks for the state before the last change.
type UndoRequest struct {
	ID      string
	Version int64 // the version the caller has seen; 0 = any
	Actor   record.Actor
	Once    *record.Once
}

// Undo takes back the last change of an appointment, if that is a cancellation or a move that the same actor made as undoable.
// The old time is claimed like any other.
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
	was, err := bk.lastChange(ctx, &a, r.Actor)
	if err != nil {
		return store.Appointment{}, err
	}
	span, h, err := bk.claimAgain(ctx, &a, &was)
	if err != nil {
		return store.Appointment{}, err
	}
	// The version that was read is the one that is written over, so nothing of what was looked at has changed.
	back, err := bk.ChangeAppointment(ctx, r.ID, a.Version, Change{Kind: ChangeUndone, Actor: r.Actor, Silent: true, once: r.Once},
		func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			if now.Sub(was.at) > UndoTime+undoSlack {
				return false, ErrUndoLate
			}
			ok, err := bk.Outside.Withdraw(ctx, tx, a.ID, was.at, was.UpstreamState == string(store.UpstreamPending))
			if err != nil {
				return false, err
			}
			if !ok {
				return false, ErrUndoLate
			}
			if was.moved {
				a.ManageEpoch-- // nobody was given the link of the new time
			}
			a.Status, a.CancelledAt, a.CancelReason = store.Confirmed, time.Time{}, ""
			a.Overbook, a.OverbookReason = was.Overbook, was.overbookReason
			a.AppointmentTypeID, a.SpecialistID, a.Seat = span.AppointmentTypeID, span.SpecialistID, span.Seat
			a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd = span.SlotStart, span.SlotEnd, span.BusyStart, span.BusyEnd
			if was.UpstreamState != "" {
				a.UpstreamState = store.UpstreamState(was.UpstreamState)
			}
			return true, nil
		})
	switch {
	case err == nil && h != nil:
		bk.Confirm(ctx, *h, back)
	case err == nil:
		bk.clinic.Publish(ctx, holds.Event{Kind: holds.EventConfirm, Span: span})
	case h != nil && errors.Is(err, store.ErrSlotTaken):
		bk.counts.conflicts.Add(1)
		bk.Release(ctx, *h, holds.ReasonConflict)
	case h != nil:
		bk.Release(ctx, *h, holds.ReasonReleased)
	}
	return back, err
}

// undone is what an appointment was before the change that is taken back.
type undone struct {
	appointmentAudit
	overbookReason string
	at             time.Time // of the change
	moved          bool
}

// lastChange reads in the audit log what the last change of an appointment was made of. ErrUndoLate if it cannot be taken
// back by this actor.
func (bk *Booking) lastChange(ctx context.Context, a *store.Appointment, actor record.Actor) (undone, error) {
	late := undone{}
	if !actor.AtDesk() || time.Since(a.UpdatedAt) > UndoTime+undoSlack {
		return late, ErrUndoLate
	}
	entries, _, err := bk.store.Audit(ctx, store.AuditFilter{Subject: "appointment:" + a.ID, Limit: 500})
	if err != nil {
		return late, err
	}
	u, found := undone{at: a.UpdatedAt}, false
	for _, e := range entries {
		last := e.At.Equal(a.UpdatedAt) && e.Actor == string(actor) // several of one millisecond are in no order
		switch e.Action {
		case "appointment." + ChangeUndone:
			if last {
				return late, ErrUndoLate
			}
		case "appointment." + ChangeCancelled, "appointment." + ChangeRescheduled:
			if last && json.Unmarshal(e.Before, &u.appointmentAudit) == nil {
				found, u.moved = true, e.Action == "appointment."+ChangeRescheduled
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

// claimAgain takes the time back that the appointment had; no hold comes with an overbooked one, which is outside the
// guarantee.
func (bk *Booking) claimAgain(ctx context.Context, a *store.Appointment, was *undone) (holds.Span, *holds.Hold, error) {
	s := bk.clinic.Current()
	t, ok := s.Types[was.AppointmentTypeID]
	if !ok {
		return holds.Span{}, nil, &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	if was.Overbook {
		return availability.SpanOf(t, was.SpecialistID, was.SlotStartDate), nil, nil
	}
	found, err := bk.Candidates(ctx, s, t, was.SpecialistID, was.SlotStartDate, time.Now(), CandidateRules{IgnoreHours: true, moving: a.ID})
	if err != nil {
		return holds.Span{}, nil, err
	}
	owner := record.NewOwner()
	h, err := bk.Claim(ctx, t, was.SlotStartDate, found, holds.Claim{Owner: owner, TTL: BookingTTL, MaxLife: BookingTTL})
	if err != nil {
		return holds.Span{}, nil, err
	}
	if h, err = bk.holds.Pin(ctx, h.ID, owner, BookingPin); err != nil {
		return holds.Span{}, nil, err
	}
	return h.Span, &h, nil
}
