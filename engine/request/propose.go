package request

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Propose assigns another time to an open request. The patient accepts or declines that time with the request's link.
// Propose holds the new time before it changes the request, and releases the old hold only after that, so a conflict
// changes nothing. If the two times overlap, the new hold replaces the old one in one step. The request then expires
// like a new one. An empty specialistID means the request's specialist. A second proposal replaces the first one. The
// patient gets an email and, with their consent, a text message.
//
// Errors: store.ErrNotFound, *LapsedError, *ValidationError, and those of booking.HoldInstead.
func (rq *Requests) Propose(ctx context.Context, id, specialistID string, start time.Time, actor record.Actor,
	once *record.Once) (store.BookingRequest, error) {
	old, err := rq.Get(ctx, id)
	if err != nil {
		return old, err
	}
	now := record.Now()
	if lapsed := lapsedAt(&old, now); lapsed != nil {
		return old, lapsed
	}
	r := old
	if specialistID != "" {
		r.SpecialistID = specialistID
	}
	switch {
	case !start.After(now):
		return old, record.Invalid("slotStartDate", "must be in the future")
	case start.Equal(old.SlotStart) && r.SpecialistID == old.SpecialistID:
		return old, record.Invalid("slotStartDate", "is the time of the request: confirm the request instead")
	}
	decided := store.AppointmentType{Page: store.TypePage{Approval: true}}
	if t := rq.clinic.Current().Types[r.AppointmentTypeID]; t != nil {
		decided = *t
		decided.Page.Approval = true
	}
	owner := record.NewOwner()
	settings := rq.clinic.Settings()
	until := settings.AskedUntil(&decided, start, now)
	h, err := rq.booking.HoldInstead(ctx, booking.RequestedSlot{
		AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, Start: start,
		Length: old.SlotEnd.Sub(old.SlotStart),
	}, owner, record.SpelledOwner(old.HoldOwner), old.SpecialistID, until)
	if err != nil {
		return old, err
	}
	if r.WantedStart.IsZero() {
		r.WantedStart = old.SlotStart
	}
	r.SlotStart, r.SlotEnd, r.HoldOwner = h.SlotStart, h.SlotEnd, owner.String()
	r.SpecialistID, r.Approval, r.ExpiresAt = h.SpecialistID, true, until
	notices := rq.messages.RequestMail(&r, message.MailProposed, now)
	err = rq.store.Write(ctx, func(tx store.Tx) error {
		err := tx.ProposeBookingRequest(ctx, r, old.HoldOwner)
		if errors.Is(err, store.ErrNotFound) {
			return store.ErrVersion // a moment ago, it was open and had the old time
		}
		if err != nil {
			return err
		}
		if err := rq.record(ctx, tx, record.ActionRequestProposed, &r, actor, now, notices); err != nil {
			return err
		}
		return once.Remember(ctx, tx, r, now)
	})
	if err != nil {
		rq.keepHold(context.WithoutCancel(ctx), &old, &h)
		return old, err
	}
	rq.outbound.Enqueue(notices...)
	rq.releaseHold(ctx, &old)
	return r, nil
}

// keepHold restores the hold of a request after a failed proposal and ends the hold of the proposed time. It does both
// in one step if the two times overlap. It does not restore the hold of a request that has been closed or has another
// hold since it was read as old.
func (rq *Requests) keepHold(ctx context.Context, old *store.BookingRequest, proposed *holds.Hold) {
	owner := record.SpelledOwner(old.HoldOwner)
	_, err := rq.booking.RequestHold(ctx, old.SpecialistID, owner)
	if errors.Is(err, holds.ErrNotFound) {
		_, err = rq.booking.HoldInstead(ctx, booking.RequestedSlot{
			AppointmentTypeID: old.AppointmentTypeID, SpecialistID: old.SpecialistID, Start: old.SlotStart,
			Length: old.SlotEnd.Sub(old.SlotStart),
		}, owner, proposed.Owner, proposed.SpecialistID, old.ExpiresAt)
	}
	if err != nil {
		rq.log.Warn("failed to restore the hold of a booking request", "request", old.ID, "error", err)
	}
	rq.booking.Release(ctx, *proposed, holds.ReasonReleased)
	// Check afterwards: a change before the check is seen, and a later change releases the restored hold itself.
	now, err := rq.Get(ctx, old.ID)
	if errors.Is(err, store.ErrNotFound) ||
		err == nil && (now.HoldOwner != old.HoldOwner || lapsedAt(&now, record.Now()) != nil) {
		rq.releaseHold(ctx, old)
	}
}
