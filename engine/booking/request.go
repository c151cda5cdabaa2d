package booking

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// maxHoldExtension is the maximum time by which a request's hold can be extended.
const maxHoldExtension = 8 * 24 * time.Hour

// A request is a public booking that is not an appointment yet. The server holds its time under a separate owner, which
// is not a client, until the request is confirmed or declined, or expires. Waiting-list offers are held in the same
// way.

// RequestedSlot is the slot that a request asks for.
type RequestedSlot struct {
	AppointmentTypeID string
	SpecialistID      string // empty means any
	Place             string // empty means any
	Start             time.Time
	Length            time.Duration // 0 means the current length of the type
}

// HoldForRequest holds a slot for the owner of a request until an instant. If that owner already holds the slot,
// HoldForRequest returns that hold, extended if until is later. It does not check the minimum notice or the booking
// horizon, because the request was made in time.
//
// Errors: ErrNoAppointmentType, *NotBookableError, store.ErrSlotTaken, *holds.HeldError.
func (bk *Booking) HoldForRequest(ctx context.Context, w RequestedSlot, owner holds.Owner,
	until time.Time) (holds.Hold, error) {
	return bk.holdForRequest(ctx, w, owner, until, holds.Replaced{})
}

// HoldInstead is HoldForRequest for a slot that may overlap another hold of the same request or offer: the hold that
// current has with the specialist currentSpecialistID. If that hold is in the way, the new hold replaces it in one step.
// If another client holds the rest of the slot, current keeps its hold. A hold that is not in the way stays. A zero
// current means that there is no other hold.
//
// Errors: those of HoldForRequest.
func (bk *Booking) HoldInstead(ctx context.Context, w RequestedSlot, owner, current holds.Owner,
	currentSpecialistID string, until time.Time) (holds.Hold, error) {
	h, err := bk.HoldForRequest(ctx, w, owner, until)
	if !errors.As(err, new(*holds.HeldError)) || current.IsZero() {
		return h, err
	}
	old, failed := bk.RequestHold(ctx, currentSpecialistID, current)
	switch {
	case errors.Is(failed, holds.ErrNotFound):
		return h, err
	case failed != nil:
		return h, failed
	}
	return bk.holdForRequest(ctx, w, owner, until, holds.Replaced{ID: old.ID, Owner: current})
}

func (bk *Booking) holdForRequest(ctx context.Context, w RequestedSlot, owner holds.Owner, until time.Time,
	replaces holds.Replaced) (holds.Hold, error) {
	s := bk.clinic.Current()
	t, ok := s.Types[w.AppointmentTypeID]
	if !ok {
		return holds.Hold{}, record.ErrNoAppointmentType
	}
	if len(t.Needs) > 0 {
		if _, err := bk.RequestHold(ctx, w.SpecialistID, owner); err != nil && !errors.Is(err, holds.ErrNotFound) {
			return holds.Hold{}, err
		}
	}
	offers, err := bk.requested(ctx, s, t, &w)
	if err != nil {
		return holds.Hold{}, err
	}
	ttl := max(time.Until(until), time.Second)
	return bk.Claim(ctx, offers, holds.Claim{Owner: owner, TTL: ttl, MaxLife: ttl + maxHoldExtension,
		Replaces: replaces})
}

// requested returns the offers for the slot of a request, which was made in time. Errors: those of Offers.
func (bk *Booking) requested(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType,
	w *RequestedSlot) ([]Offer, error) {
	rules := Rules{Rules: availability.Rules{IgnoreNotice: true, IgnorePast: true}, Place: w.Place}
	return bk.Offers(ctx, s, WithLength(t, w.Length), w.SpecialistID, w.Start, rules)
}

// Obstacle returns why the slot of a request can no longer be booked: for example, the specialist is away now. It is
// empty if nothing but a hold can be in the way. Errors: storage errors.
func (bk *Booking) Obstacle(ctx context.Context, w RequestedSlot) (availability.Reason, error) {
	s := bk.clinic.Current()
	t, isKnown := s.Types[w.AppointmentTypeID]
	if !isKnown {
		return availability.ReasonInactive, nil
	}
	_, err := bk.requested(ctx, s, t, &w)
	var refused *availability.NotBookableError
	switch {
	case errors.As(err, &refused):
		return refused.Reason, nil
	case errors.Is(err, store.ErrSlotTaken):
		return availability.ReasonTaken, nil
	case errors.As(err, new(*record.ValidationError)): // the specialist no longer serves the type
		return availability.ReasonInactive, nil
	}
	return "", err
}

// RequestHold returns the live hold of a request's owner. If its rooms no longer suffice (CheckHeldRooms), it releases
// the hold.
//
// Errors: holds.ErrNotFound, and the live state's errors.
func (bk *Booking) RequestHold(ctx context.Context, specialistID string, owner holds.Owner) (holds.Hold, error) {
	list, err := bk.holds.List(ctx, specialistID)
	if err != nil {
		return holds.Hold{}, err
	}
	if i := slices.IndexFunc(list, func(h holds.Hold) bool { return h.Owner.Is(owner) }); i >= 0 {
		h, s := list[i], bk.clinic.Current()
		t := s.Types[h.AppointmentTypeID]
		if t == nil || CheckHeldRooms(s, WithLength(t, h.SlotEnd.Sub(h.SlotStart)), &h, false) == "" {
			return h, nil
		}
		bk.Release(ctx, h, holds.ReasonReleased)
	}
	return holds.Hold{}, holds.ErrNotFound
}

// ReleaseRequestHold releases the hold of a request's owner, if there is one.
func (bk *Booking) ReleaseRequestHold(ctx context.Context, specialistID string, owner holds.Owner) error {
	h, err := bk.RequestHold(ctx, specialistID, owner)
	if errors.Is(err, holds.ErrNotFound) {
		return nil
	}
	if err == nil {
		bk.Release(ctx, h, holds.ReasonReleased)
	}
	return err
}

// CheckRequest checks a booking that will become a request. If it names a live hold, CheckRequest pins and returns that
// hold: TransferToRequest then passes it to the request, or Unpin returns it to its client. Otherwise, the returned
// hold has no id.
//
// Errors: *ValidationError, holds.ErrNotOwner, holds.ErrNotFound.
func (bk *Booking) CheckRequest(ctx context.Context, r *Request) (*store.AppointmentType, holds.Hold, error) {
	w, err := bk.check(r)
	if err != nil {
		return nil, holds.Hold{}, err
	}
	if w.HoldID == "" {
		return w.Type, holds.Hold{}, nil
	}
	h, err := bk.pinHold(ctx, w)
	r.SlotStart, r.SpecialistID = w.SlotStart, w.SpecialistID
	return w.Type, h.Hold, err
}

// TransferToRequest passes a client's hold to the owner of a request, in one step. The request has already been stored,
// so failures are only logged: the time is claimed again when the request is confirmed.
func (bk *Booking) TransferToRequest(ctx context.Context, h holds.Hold, to holds.Owner, until time.Time) {
	ttl := max(time.Until(until), time.Second)
	if _, err := bk.holds.Transfer(context.WithoutCancel(ctx), h.ID, h.Owner, to, ttl, ttl+
		maxHoldExtension); err != nil {
		bk.log.Warn("failed to transfer the hold to its request; confirmation claims the time again", "error", err)
	}
}
