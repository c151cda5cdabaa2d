package booking

import (
	"context"
	"time"

	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Keep holds a slot until an instant for an owner that is no client: for a booking that waits to be confirmed. Repeated, it
// returns the hold there is. Whoever wanted the slot was in time, so notice and horizon do not matter any more.
//
// Errors: ErrNoAppointmentType, *NotBookableError, store.ErrSlotTaken, *holds.HeldError.
func (bk *Booking) Keep(ctx context.Context, appointmentTypeID, specialistID string, start time.Time, owner holds.Owner, until time.Time) (holds.Hold, error) {
	s := bk.clinic.Current()
	t, ok := s.Types[appointmentTypeID]
	if !ok {
		return holds.Hold{}, record.ErrNoAppointmentType
	}
	now := time.Now()
	found, err := bk.Candidates(ctx, s, t, specialistID, start, now, CandidateRules{ignoreNotice: true})
	if err != nil {
		return holds.Hold{}, err
	}
	ttl := max(until.Sub(now), time.Second)
	return bk.Claim(ctx, t, start, found, holds.Claim{Owner: owner, TTL: ttl, MaxLife: ttl})
}

// LetGo gives back what Keep has kept, if it is there.
func (bk *Booking) LetGo(ctx context.Context, specialistID string, owner holds.Owner) error {
	list, err := bk.holds.List(ctx, specialistID)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Owner.Is(owner) {
			bk.Release(ctx, list[i], holds.ReasonReleased)
		}
	}
	return nil
}

// Asking finds out, of a booking that names a hold, which slot that is, and gives the hold back: its time is about to be kept
// for a request instead.
//
// Errors: *ValidationError, holds.ErrNotOwner, holds.ErrNotFound.
func (bk *Booking) Asking(ctx context.Context, r *Request) (*store.AppointmentType, error) {
	t, err := bk.checkBooking(bk.clinic.Current(), r)
	if err != nil {
		return nil, err
	}
	h, live, err := bk.bookingHold(ctx, r)
	if err == nil && live {
		r.SlotStart, r.SpecialistID = h.SlotStart, h.SpecialistID
		bk.Release(ctx, h, holds.ReasonReleased)
	}
	return t, err
}
