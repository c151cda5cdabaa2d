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

// RescheduleRequest is a request to move an appointment to another time.
type RescheduleRequest struct {
	ID           string
	Version      int64     // the version that the caller has read; 0 means any
	SlotStart    time.Time // the new start
	SpecialistID string    // empty means the same specialist if free at that time, otherwise assigned
	HoldID       string    // a hold that Client has at the new time, if any
	Client       holds.ClientID
	Owner        holds.Owner // the owner of HoldID if Client is empty: with a manage link, the client that booked
	Actor        record.Actor
	CutOff       bool // the patient moves: the clinic's cut-off for changes applies
	IgnoreHours  bool // staff: outside opening times, notice and horizon
	Displace     bool // staff: displaces another client's hold
	Silent       bool
	// Undoable: staff can undo the move for UndoTime, and no notification is sent before that.
	Undoable bool
	// AppointmentTypeID lets staff change the type: the appointment moves to a free time for that type. If empty, the
	// type does not change.
	AppointmentTypeID string
	Once              *record.Once
	// Admit runs in the transaction that moves the appointment, and receives its current row. An error refuses the
	// move. If Admit is nil, there is no check.
	Admit func(context.Context, store.Tx, *store.Appointment) error
}

// Reschedule moves an appointment, to another specialist if necessary. It claims the new time first. The move is a
// single update of the appointment's row, so it happens completely or not at all. Until then, the appointment keeps its
// old time. The move invalidates all earlier manage links. Of two concurrent moves, one is refused with
// store.ErrVersion, regardless of the versions they name. Other concurrent changes (for example, the
// practice-management system accepts the appointment, or the patient arrives) do not cause a refusal.
//
// A move to the current time changes nothing, except that an overbooked appointment then stops being overbooked.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNotConfirmed, ErrCutOff, ErrVisit, ErrAsksDesk, *NotBookableError,
// store.ErrSlotTaken, *holds.HeldError, holds.ErrNotOwner, *ValidationError.
func (bk *Booking) Reschedule(ctx context.Context, r RescheduleRequest) (store.Appointment, error) {
	a, err := bk.reschedule(ctx, r)
	if bk.CountRefusal(ActMove, err); err == nil {
		bk.counts.moved.Add(1)
	}
	return a, err
}

func (bk *Booking) reschedule(ctx context.Context, r RescheduleRequest) (store.Appointment, error) {
	if !record.ValidID(r.ID) {
		return store.Appointment{}, store.ErrNotFound
	}
	a, err := bk.store.Appointment(ctx, r.ID)
	if err != nil {
		return store.Appointment{}, err
	}
	now := time.Now()
	switch {
	case r.Version != 0 && r.Version != a.Version:
		return store.Appointment{}, store.ErrVersion
	case a.Status != store.Confirmed:
		return store.Appointment{}, record.ErrNotConfirmed
	case r.CutOff && bk.PastCutOff(now, a):
		return store.Appointment{}, record.ErrCutOff
	case r.CutOff && bk.AsksDesk(&a):
		return store.Appointment{}, record.ErrAsksDesk
	}
	if r.CutOff {
		if err := checkAlone(ctx, bk.store, &a); err != nil {
			return store.Appointment{}, err
		}
	}
	h, err := bk.secureMove(ctx, &r, &a)
	if err != nil {
		return store.Appointment{}, err
	}
	seen := a.ManageEpoch
	c := Change{
		Kind: ChangeRescheduled, Actor: r.Actor, Silent: r.Silent, Undoable: r.Undoable && r.Actor.AtDesk(),
		once: r.Once,
	}
	moved, err := bk.ChangeAppointment(ctx, r.ID, r.Version, c,
		func(tx store.Tx, a *store.Appointment, _ time.Time) (bool, error) {
			switch {
			case a.Status != store.Confirmed:
				return false, record.ErrNotConfirmed
			case a.ManageEpoch != seen:
				return false, store.ErrVersion
			}
			if r.Admit != nil {
				if err := r.Admit(ctx, tx, a); err != nil {
					return false, err
				}
			}
			if at := spanOf(a); h.SameGroup(&at) && !a.Overbook {
				return false, nil // it already has this time; write nothing and send no notification
			}
			// moving a single appointment takes it out of its visit
			a.AppointmentTypeID, a.VisitID = h.AppointmentTypeID, ""
			a.SpecialistID, a.Seat, a.Overbook, a.OverbookReason = h.SpecialistID, h.Seat, false, ""
			a.Resources = h.Resources.List()
			a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd = h.SlotStart, h.SlotEnd, h.BusyStart, h.BusyEnd
			a.ManageEpoch++
			return true, nil
		})
	isMoved := err == nil && moved.ManageEpoch != seen
	if errors.Is(err, store.ErrSlotTaken) {
		bk.counts.conflicts.Add(1)
	}
	if err == nil && !isMoved {
		bk.Release(ctx, h.Hold, holds.ReasonReleased)
	} else {
		bk.settle(ctx, h, &moved, err)
	}
	return moved, err
}

func (r *RescheduleRequest) owner() holds.Owner {
	if r.Client != "" {
		return r.Client.Owner()
	}
	return r.Owner
}

// secureMove secures the new time of an appointment: it uses the hold that the request names, or claims one.
func (bk *Booking) secureMove(ctx context.Context, r *RescheduleRequest, a *store.Appointment) (secured, error) {
	t, ok := bk.clinic.Current().Types[cmp.Or(r.AppointmentTypeID, a.AppointmentTypeID)]
	switch {
	case !ok && r.AppointmentTypeID != "":
		return secured{}, record.Invalid("appointmentTypeId", "no appointment type has this id")
	case !ok:
		return secured{}, &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	w := wanted{
		Type: t, HoldID: r.HoldID, SlotStart: r.SlotStart, SpecialistID: r.SpecialistID, Owner: r.owner(), Once: r.Once,
		Rules: Rules{
			Rules:  availability.Rules{IgnoreHours: r.IgnoreHours},
			Moving: map[string]bool{a.ID: true}, Moved: []holds.Booked{occupancy.Booked(a)},
		},
		Displace: r.Displace,
	}
	if w.HoldID != "" {
		if h, err := bk.pinBookable(ctx, &w); err != nil || h.ID != "" {
			return h, err
		}
	}
	var m record.Mistakes
	record.CheckStart(&m, w.SlotStart)
	if err := m.Err(); err != nil {
		return secured{}, err
	}
	if w.SpecialistID == "" { // try the same specialist first
		same := w
		same.SpecialistID = a.SpecialistID
		if h, err := bk.secure(ctx, &same); err == nil || !isNotFree(err) {
			return h, err
		}
	}
	return bk.secure(ctx, &w)
}

// isNotFree reports whether the error concerns only this specialist's time, so that another specialist might be free.
func isNotFree(err error) bool {
	var held *holds.HeldError
	var reason *availability.NotBookableError
	var wrong *record.ValidationError // the specialist no longer offers the type
	return errors.Is(err, store.ErrSlotTaken) || errors.As(err, &held) || errors.As(err, &reason) ||
		errors.As(err, &wrong)
}

// AsksDesk reports whether appointments of this type need the desk's approval. Another time then needs a new request
// instead of a move.
func (bk *Booking) AsksDesk(a *store.Appointment) bool {
	t := bk.clinic.Current().Types[a.AppointmentTypeID]
	return t != nil && t.Page.Approval
}
