package booking

import (
	"cmp"
	"context"
	"errors"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// RescheduleRequest asks for another time of an appointment.
type RescheduleRequest struct {
	ID           string
	Version      int64     // the version the caller has seen; 0 = any
	SlotStart    time.Time // the new start
	SpecialistID string    // empty: the same specialist if free then, else assigned
	HoldID       string    // a hold of Client on the new time, if there is one
	Client       holds.ClientID
	Owner        holds.Owner // whose hold HoldID is if no Client is named: who booked, with the manage link
	Actor        record.Actor
	CutOff       bool // the patient asks: the clinic's change cut-off applies
	IgnoreHours  bool // staff: outside opening times, notice and horizon
	Displace     bool // staff: over another client's hold
	Silent       bool
	// Undoable: it can be taken back for UndoTime, and nobody is told until then. For staff.
	Undoable bool
	// AppointmentTypeID is another type to become, staff: it is moved to where that type has room. Empty: as it is.
	AppointmentTypeID string
	Once              *record.Once
	// Admit has the last word in the transaction that moves the appointment, which it is given as it stands. Nil: it is welcome.
	Admit func(context.Context, store.Tx, *store.Appointment) error
}

// Reschedule moves an appointment, across specialists if need be. The new time is claimed first and the move is one
// update of the same row, so it happens whole or not at all, and the old time is kept until it has. Every manage link
// handed out before is dead afterwards. Of two moves at once one is refused with store.ErrVersion, whatever version they
// name; other changes (the practice system has it now, the patient has arrived) are in nobody's way.
//
// Moving it to where it stands changes nothing, unless it was overbooked: then it is no more.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNotConfirmed, ErrCutOff, ErrVisit, ErrAsksDesk, *NotBookableError, store.ErrSlotTaken,
// *holds.HeldError, holds.ErrNotOwner, *ValidationError.
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
	case r.CutOff && a.VisitID != "":
		return store.Appointment{}, record.ErrVisit
	case r.CutOff && bk.PastCutOff(&a, now):
		return store.Appointment{}, record.ErrCutOff
	case r.CutOff && bk.asksDesk(&a):
		return store.Appointment{}, record.ErrAsksDesk
	}
	h, err := bk.rescheduleHold(ctx, &r, &a)
	if err != nil {
		return store.Appointment{}, err
	}
	seen := a.ManageEpoch
	moved, err := bk.ChangeAppointment(ctx, r.ID, r.Version, Change{Kind: ChangeRescheduled, Actor: r.Actor, Silent: r.Silent, Undoable: r.Undoable && r.Actor.AtDesk(), once: r.Once},
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
				return false, nil // it stands there already, and nobody has anything to be told
			}
			a.AppointmentTypeID, a.VisitID = h.AppointmentTypeID, "" // who is moved alone comes alone
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
		bk.Release(ctx, h, holds.ReasonReleased)
	} else {
		bk.settle(ctx, &Request{HoldID: r.HoldID}, h, &moved, err)
	}
	return moved, err
}

func (r *RescheduleRequest) owner() holds.Owner {
	if r.Client != "" {
		return r.Client.Owner()
	}
	return r.Owner
}

// rescheduleHold returns a pinned hold on the new time: the hold that is named, or one that is claimed now.
func (bk *Booking) rescheduleHold(ctx context.Context, r *RescheduleRequest, a *store.Appointment) (holds.Hold, error) {
	s := bk.clinic.Current()
	t, ok := s.Types[cmp.Or(r.AppointmentTypeID, a.AppointmentTypeID)]
	switch {
	case !ok && r.AppointmentTypeID != "":
		return holds.Hold{}, record.Invalid("appointmentTypeId", "no appointment type has this id")
	case !ok:
		return holds.Hold{}, &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	if r.HoldID != "" {
		named := Request{
			AppointmentTypeID: t.ID, HoldID: r.HoldID, SlotStart: r.SlotStart, SpecialistID: r.SpecialistID, Owner: r.owner(), IgnoreHours: r.IgnoreHours,
		}
		if h, isLive, err := bk.pinNamed(ctx, t, &named); isLive || err != nil {
			return h, err
		}
		r.SlotStart, r.SpecialistID, r.HoldID = named.SlotStart, named.SpecialistID, ""
	}
	var m record.Mistakes
	record.CheckStart(&m, r.SlotStart)
	if err := m.Err(); err != nil {
		return holds.Hold{}, err
	}
	if r.SpecialistID == "" { // the same specialist first, if it is free
		h, err := bk.claimFor(ctx, s, t, r, a, a.SpecialistID)
		if err == nil || !isNotFree(err) {
			return h, err
		}
	}
	return bk.claimFor(ctx, s, t, r, a, r.SpecialistID)
}

// claimFor returns a pinned hold on the new time with one specialist, or with any if none is named.
func (bk *Booking) claimFor(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, r *RescheduleRequest, a *store.Appointment,
	specialistID string) (holds.Hold, error) {
	rules := Rules{
		Rules:  availability.Rules{IgnoreHours: r.IgnoreHours},
		Moving: map[string]bool{a.ID: true}, Moved: []holds.Booked{occupancy.Booked(a)},
	}
	offers, err := bk.Offers(ctx, s, t, specialistID, r.SlotStart, rules)
	if err != nil {
		return holds.Hold{}, err
	}
	owner := r.owner()
	if owner.IsZero() {
		owner = r.Once.Owner()
	}
	return bk.Secure(ctx, s, offers, rules, owner, r.Displace)
}

// isNotFree reports whether the error is about this specialist's time, so that another specialist may be free.
func isNotFree(err error) bool {
	var held *holds.HeldError
	var reason *availability.NotBookableError
	var wrong *record.ValidationError // the specialist no longer serves the type
	return errors.Is(err, store.ErrSlotTaken) || errors.As(err, &held) || errors.As(err, &reason) || errors.As(err, &wrong)
}

// asksDesk reports whether the desk decides about an appointment's type: another time is another request, and no move.
func (bk *Booking) asksDesk(a *store.Appointment) bool {
	t := bk.clinic.Current().Types[a.AppointmentTypeID]
	return t != nil && t.Page.Approval
}
