package booking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Lifetimes of a booking's hold. A pin lasts longer than any successful write. The grace period is how long a client's
// hold remains live after its booking was not written, so that the page can retry.
const (
	BookingTTL   = 30 * time.Second
	BookingPin   = 30 * time.Second
	bookingGrace = 15 * time.Second
)

// wanted is the time that a booking or a move asks for: the time of a hold, or a start time with or without a
// specialist.
type wanted struct {
	Type         *store.AppointmentType
	HoldID       string    // empty if no hold is named or the named hold has expired
	SlotStart    time.Time // zero means the start of the hold
	SpecialistID string    // empty means the hold's specialist, or any
	Owner        holds.Owner
	Once         *record.Once
	Rules        Rules
	Displace     bool
	Overbook     bool // outside the guarantee: no hold is used
	IsRequested  bool // the hold belongs to a request, which stays open if it is not booked

	lost []holds.Span // seats that the database refused
}

// secured is the time of a booking or a move while it is being written: a pinned hold or, when overbooking, just a
// span.
type secured struct {
	holds.Hold
	isNamed     bool // the client or the request already had the hold, and keeps it if the write fails
	isRequested bool
}

// secure pins the hold that w names. Otherwise, it claims a hold for one of the specialists who can take the start, and
// pins it. Overbooking takes no hold.
//
// Errors: *ValidationError, *NotBookableError, and those of pinHold and ClaimPinned.
func (bk *Booking) secure(ctx context.Context, w *wanted) (secured, error) {
	if w.HoldID != "" {
		if h, err := bk.pinBookable(ctx, w); err != nil || h.ID != "" {
			return h, err
		}
	}
	if w.Overbook {
		return secured{Hold: holds.Hold{Span: availability.SpanOf(w.Type, w.SpecialistID, w.SlotStart),
			Owner: w.Owner}}, nil
	}
	offers, err := bk.Offers(ctx, bk.clinic.Current(), w.Type, w.SpecialistID, w.SlotStart, w.Rules)
	if err != nil {
		return secured{}, err
	}
	if offers = withoutSeats(offers, w.lost...); len(offers) == 0 {
		return secured{}, store.ErrSlotTaken
	}
	h, err := bk.ClaimPinned(ctx, offers, holds.Claim{Owner: ClaimOwner(w.Owner, w.Once), Displace: w.Displace})
	return secured{Hold: h}, err
}

// ClaimOwner returns the owner of the holds that a request claims: its client or, without a client, an owner for this
// request only. With an Idempotency-Key, that owner is the same on every node. If a retry reaches another node while
// the first request is in progress, or after its response was lost, it finds its own hold instead of what looks like
// another client's.
func ClaimOwner(client holds.Owner, once *record.Once) holds.Owner {
	switch {
	case !client.IsZero():
		return client
	case once == nil:
		return record.NewOwner()
	}
	return holds.ClientID("once\x00" + once.Scope + "\x00" + once.Key).Owner()
}

// withoutSeats removes lost seats from the offers, and then any offers that have no seats left.
func withoutSeats(offers []Offer, lost ...holds.Span) (left []Offer) {
	if len(lost) == 0 {
		return offers
	}
	for _, o := range offers {
		o.Seats = slices.DeleteFunc(slices.Clone(o.Seats), func(seat int) bool {
			return slices.ContainsFunc(lost, func(x holds.Span) bool {
				return x.SpecialistID == o.SpecialistID && x.Seat == seat
			})
		})
		if len(o.Seats) > 0 {
			left = append(left, o)
		}
	}
	return left
}

// ClaimPinned claims one of several offers for a booking, and pins the hold, so that it cannot expire while the booking
// is being written. If the hold disappears before it is pinned, because it was displaced or the backend failed at that
// moment, ClaimPinned claims again. c contains the owner, Replaces and Displace.
//
// Errors: those of Claim, and holds.ErrUnavailable if no hold could be pinned.
func (bk *Booking) ClaimPinned(ctx context.Context, offers []Offer, c holds.Claim) (holds.Hold, error) {
	c.TTL, c.MaxLife = BookingTTL, BookingTTL
	for range 3 {
		h, err := bk.Claim(ctx, offers, c)
		if err != nil {
			return holds.Hold{}, err
		}
		if h, err = bk.holds.Pin(ctx, h.ID, c.Owner, BookingPin); !errors.Is(err, holds.ErrNotFound) {
			return h, err
		}
	}
	return holds.Hold{}, fmt.Errorf("%w: a new hold disappeared before it was pinned", holds.ErrUnavailable)
}

// Claim holds one of several offers for one start time. It tries the assigned offer first and, if that claim fails, the
// next one. A client that already holds this slot gets the same hold again. c contains the owner, the lifetimes, the
// quota and the hold to replace. If Claim fails, that hold still exists, perhaps with another id.
//
// Errors: *holds.HeldError for the hold that expires first, store.ErrSlotTaken, holds.ErrQuota, and those of the live
// state.
func (bk *Booking) Claim(ctx context.Context, offers []Offer, c holds.Claim) (holds.Hold, error) {
	var held *holds.HeldError
	var old holds.Hold
	if c.Replaces.ID != "" {
		var err error
		if old, err = bk.holds.Hold(ctx, c.Replaces.ID); err != nil && !errors.Is(err, holds.ErrNotFound) {
			return holds.Hold{}, err
		}
	}
	own := ""
	if len(offers) > 1 {
		own = bk.ownHold(ctx, offers, c.Owner)
	}
	for left := slices.Clone(offers); len(left) > 0; own = "" {
		i := pick(left, own)
		o := left[i]
		c.Span, c.Seats, c.Needs, c.Moving = o.Span, o.Seats, o.Rooms, o.from.Rules.Moved
		h, err := bk.holds.Claim(ctx, c)
		var refused *holds.HeldError
		switch {
		case errors.As(err, &refused):
			if held == nil || refused.Until.Before(held.Until) {
				held = refused
			}
			left = slices.Delete(left, i, i+1)
		case errors.Is(err, holds.ErrTaken): // another node booked it, and the change has not arrived here yet
			bk.Doubt(&c.Span)
			left = slices.Delete(left, i, i+1)
		case err != nil:
			return holds.Hold{}, err
		case o.isBookedSince(ctx, &h):
			if old.ID != "" && h.ID != old.ID {
				old = bk.swapBack(ctx, &h, &old, c.Moving)
				c.Replaces.ID = old.ID
			}
			bk.Release(ctx, h, holds.ReasonConflict)
			left = withoutSeats(left, h.Span)
		default:
			return h, nil
		}
	}
	if held == nil || held.Until.IsZero() {
		return holds.Hold{}, store.ErrSlotTaken
	}
	return holds.Hold{}, held
}

// Restore claims a hold again that the hold of a refused booking replaced. Failures are only logged, because its client
// can hold the time again if it is free.
func (bk *Booking) Restore(ctx context.Context, old holds.Hold) {
	bk.swapBack(ctx, &holds.Hold{}, &old, nil)
}

// swapBack claims a hold again that the hold h replaced, in one step: for the same owner and the remaining time. The
// result has a new id; it has none if another client has taken the time since then. A request that names the old id and
// the start time can still book it.
func (bk *Booking) swapBack(ctx context.Context, h, old *holds.Hold, moving []holds.Booked) holds.Hold {
	c := holds.Claim{Span: old.Span, Owner: old.Owner, Seats: []int{old.Seat}, TTL: time.Until(old.ExpiresAt),
		MaxLife: time.Until(old.MaxExpiresAt), Moving: moving, Replaces: holds.Replaced{ID: h.ID, Owner: h.Owner}}
	for _, id := range old.Resources.List() {
		c.Needs = append(c.Needs, []string{id})
	}
	if c.TTL <= 0 {
		return holds.Hold{}
	}
	again, err := bk.holds.Claim(context.WithoutCancel(ctx), c)
	if err != nil {
		bk.log.Warn("failed to restore a replaced hold after a conflict", "error", err)
	}
	return again
}

// pick returns the index of the specialist's offer, or of the assigned one if no specialist is named.
func pick(offers []Offer, specialistID string) int {
	if specialistID == "" {
		assignments := make([]store.Assignment, len(offers))
		for i := range offers {
			assignments[i] = offers[i].Assignment
		}
		specialistID, _ = availability.Assign(offers[0].Type.ID, offers[0].Span.SlotStart, assignments)
	}
	return slices.IndexFunc(offers, func(o Offer) bool { return o.SpecialistID == specialistID })
}

// ownHold returns the specialist of the offer that a client already holds, or an empty string if there is none.
func (bk *Booking) ownHold(ctx context.Context, offers []Offer, owner holds.Owner) string {
	ids := make([]string, len(offers))
	for i := range offers {
		ids[i] = offers[i].SpecialistID
	}
	held, err := bk.holds.List(ctx, ids...)
	if err != nil {
		return "" // the claim will report the error
	}
	t, start := offers[0].Type, offers[0].Span.SlotStart
	for i := range held {
		if held[i].Owner.Is(owner) && held[i].AppointmentTypeID == t.ID && held[i].SlotStart.Equal(start) {
			return held[i].SpecialistID
		}
	}
	return ""
}

// pinBookable calls pinHold for a booking or a move. If the schedule no longer contains the time of a live hold at the
// wanted place, or its rooms no longer suffice, pinBookable releases the hold and returns *NotBookableError.
func (bk *Booking) pinBookable(ctx context.Context, w *wanted) (secured, error) {
	h, err := bk.pinHold(ctx, w)
	if err != nil || h.ID == "" {
		return secured{}, err
	}
	s := bk.clinic.Current()
	if rooms := CheckHeldRooms(s, w.Type, &h.Hold, w.Rules.IgnoreHours); rooms != "" {
		bk.Release(ctx, h.Hold, holds.ReasonConflict)
		return secured{}, &availability.NotBookableError{Reason: rooms}
	}
	hours := availability.ReasonInactive
	// The hold was claimed in time, so only a later schedule change matters.
	calendar := s.Calendars[h.SpecialistID]
	if calendar != nil && w.Type.IsServedBy(h.SpecialistID) {
		rules := availability.Rules{IgnoreHours: w.Rules.IgnoreHours, IgnoreNotice: true, IgnorePast: true}
		_, hours = calendar.Seats(w.Type, h.SlotStart, nil, time.Now(), rules)
	}
	if place := w.Rules.Place; hours == "" && place != "" && s.PlaceAt(h.SpecialistID, h.SlotStart) != place {
		hours = availability.ReasonOutsideHours // the specialist works at another place then
	}
	if hours != "" {
		err = &availability.NotBookableError{Reason: hours}
		bk.settle(ctx, h, nil, err)
		return secured{}, err
	}
	return h, nil
}

// pinHold pins the hold that w names, and sets w's start time and specialist to the hold's. If the hold has expired,
// pinHold clears the hold's id in w and returns a result without an id.
//
// Errors: holds.ErrNotOwner, holds.ErrNotFound (the hold is unknown, and no start is named), *ValidationError.
func (bk *Booking) pinHold(ctx context.Context, w *wanted) (secured, error) {
	h, err := bk.holds.Pin(ctx, w.HoldID, w.Owner, BookingPin)
	if err == nil {
		if err = w.takeOver(h.Span); err != nil {
			bk.Unpin(ctx, h)
			return secured{}, err
		}
		return secured{Hold: h, isNamed: true, isRequested: w.IsRequested}, nil
	}
	if !errors.Is(err, holds.ErrNotFound) {
		return secured{}, err
	}
	expired, isKnown := bk.recent.Get(w.HoldID)
	switch {
	case isKnown && !expired.owner.Is(w.Owner):
		return secured{}, holds.ErrNotOwner
	case isKnown:
		if err := w.takeOver(expired.span()); err != nil {
			return secured{}, err
		}
	case w.SlotStart.IsZero():
		return secured{}, err
	}
	w.HoldID = ""
	return secured{}, nil
}

// takeOver sets the start and the specialist to those of the named hold. It refuses a hold whose type, start or
// specialist differs from what w names, and a hold that is longer than the type, unless it belongs to a request.
func (w *wanted) takeOver(held holds.Span) error {
	var m record.Mistakes
	if w.Type.ID != held.AppointmentTypeID {
		m.Add("holdId", "this hold is for another appointment type")
	}
	if !w.SlotStart.IsZero() && !w.SlotStart.Equal(held.SlotStart) {
		m.Add("slotStartDate", "this hold is for another time; leave slotStartDate out, or hold that time")
	}
	if w.SpecialistID != "" && w.SpecialistID != held.SpecialistID {
		m.Add("specialistId", "this hold is for another specialist; leave specialistId out, or hold that time")
	}
	if len(m) == 0 && !w.IsRequested &&
		held.SlotEnd.Sub(held.SlotStart) > availability.Minutes(w.Type.DurationMinutes) {
		m.Add("holdId", "this hold is for a group visit, or was created when the type was longer; hold the time again")
	}
	if len(m) == 0 {
		w.SlotStart, w.SpecialistID = held.SlotStart, held.SpecialistID
	}
	return m.Err()
}

// settle ends the hold of a booking or a move according to the outcome of the write. After a conflict, it releases the
// hold, because its time is already booked. If nothing was written, it releases a hold that was claimed for the write,
// and returns a named hold to its client or its request. It also releases the client's hold if the client is not
// allowed to book this time.
func (bk *Booking) settle(ctx context.Context, h secured, a *store.Appointment, err error) {
	switch {
	case h.ID == "":
		if err == nil {
			bk.events.Publish(ctx, holds.Event{Kind: holds.EventConfirm, Span: h.Span, Owner: h.Owner})
		}
	case err == nil:
		bk.Confirm(ctx, h.Hold, *a)
	case errors.Is(err, store.ErrSlotTaken):
		bk.Release(ctx, h.Hold, holds.ReasonConflict)
	case !h.isNamed:
		bk.Release(ctx, h.Hold, holds.ReasonReleased)
	case !h.isRequested && errors.As(err, new(*CooldownError)):
		bk.Release(ctx, h.Hold, holds.ReasonReleased)
	case !h.isRequested && errors.As(err, new(*availability.NotBookableError)):
		bk.Release(ctx, h.Hold, holds.ReasonConflict)
	default:
		bk.Unpin(ctx, h.Hold)
	}
}

// Confirm ends the hold of a booking that has been stored durably. The live state publishes EventConfirm. If the hold
// expired while the booking was being written, Confirm publishes the event itself. Failures are only logged, because
// the hold will expire anyway.
func (bk *Booking) Confirm(ctx context.Context, h holds.Hold, a store.Appointment) {
	ctx = context.WithoutCancel(ctx)
	isThere, err := bk.holds.Confirm(ctx, h.ID, h.Owner)
	if err != nil {
		bk.log.Warn("failed to release the hold of a booked slot; it expires on its own", "appointment", a.ID,
			"error", err)
	} else if !isThere {
		bk.events.Publish(ctx, holds.Event{
			Kind: holds.EventConfirm, HoldID: h.ID, Span: h.Span, Resources: h.Resources, Owner: h.Owner,
		})
	}
}

// Release removes a hold. Failures are only logged, because the hold will expire anyway.
func (bk *Booking) Release(ctx context.Context, h holds.Hold, reason holds.Reason) {
	if _, err := bk.holds.Release(context.WithoutCancel(ctx), h.ID, h.Owner, reason); err != nil {
		bk.log.Warn("failed to release a hold; it expires on its own", "error", err)
	}
}

// Unpin returns a pinned hold to its client, which then has at least bookingGrace to retry. Failures are only logged,
// because the hold will expire anyway.
func (bk *Booking) Unpin(ctx context.Context, h holds.Hold) {
	_, err := bk.holds.Unpin(context.WithoutCancel(ctx), h.ID, h.Owner, bookingGrace)
	if err != nil && !errors.Is(err, holds.ErrNotFound) {
		bk.log.Warn("failed to unpin a hold; it expires on its own", "error", err)
	}
}
