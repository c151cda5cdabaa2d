package booking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Lifetimes of the hold of a booking. A pin lasts longer than any write that does not fail. The grace is what the
// client gets back if its booking was not written, so that the page can try again.
const (
	BookingTTL   = 30 * time.Second
	BookingPin   = 30 * time.Second
	bookingGrace = 15 * time.Second
)

// secure returns a pinned hold on the time of a booking: the hold that the request names, or one that it claims now.
// An overbook takes no hold: its Hold has only the span.
func (bk *Booking) secure(ctx context.Context, t *store.AppointmentType, r *Request) (holds.Hold, error) {
	if r.OverbookReason != "" {
		return holds.Hold{Span: availability.SpanOf(t, r.SpecialistID, r.SlotStart)}, nil
	}
	if r.HoldID != "" {
		if h, isLive, err := bk.pinNamed(ctx, t, r); isLive || err != nil {
			return h, err
		}
	}
	s := bk.clinic.Current()
	rules := Rules{Rules: availability.Rules{IgnoreHours: r.IgnoreHours}, Place: r.Place}
	offers, err := bk.Offers(ctx, s, t, r.SpecialistID, r.SlotStart, rules)
	if err != nil {
		return holds.Hold{}, err
	}
	if offers = withoutSeats(offers, r.lost...); len(offers) == 0 {
		return holds.Hold{}, store.ErrSlotTaken
	}
	owner := r.Owner
	if owner.IsZero() {
		owner = r.Once.Owner() // of the hold only; the appointment has no client
	}
	return bk.Secure(ctx, s, offers, rules, owner, r.Displace)
}

// withoutSeats returns the offers less lost seats, and less the offers that then have no seat.
func withoutSeats(offers []Offer, lost ...holds.Span) (left []Offer) {
	for _, o := range offers {
		o.Seats = slices.DeleteFunc(slices.Clone(o.Seats), func(seat int) bool {
			return slices.ContainsFunc(lost, func(x holds.Span) bool { return x.SpecialistID == o.SpecialistID && x.Seat == seat })
		})
		if len(o.Seats) > 0 {
			left = append(left, o)
		}
	}
	return left
}

// Secure claims one of some offers for a booking, and pins the hold, so that it cannot expire while the booking is
// written. A hold that is gone before it is pinned, because it was displaced or because the backend failed at that
// moment, is claimed again.
//
// Errors: those of Claim, and holds.ErrUnavailable if no hold could be pinned.
func (bk *Booking) Secure(ctx context.Context, s *clinic.Schedule, offers []Offer, rules Rules, owner holds.Owner, displace bool) (holds.Hold, error) {
	for range 3 {
		h, err := bk.Claim(ctx, s, offers, rules, holds.Claim{Owner: owner, TTL: BookingTTL, MaxLife: BookingTTL, Displace: displace})
		if err != nil {
			return holds.Hold{}, err
		}
		if h, err = bk.holds.Pin(ctx, h.ID, owner, BookingPin); !errors.Is(err, holds.ErrNotFound) {
			return h, err
		}
	}
	return holds.Hold{}, fmt.Errorf("%w: a new hold disappeared before it was pinned", holds.ErrUnavailable)
}

// Claim holds one of some offers of one start: the offer that is assigned and, while its claim fails, the next. A
// client that holds this slot already gets its hold again. c gives the owner, the lifetimes and the quota.
//
// Errors: *holds.HeldError of the hold that expires first, store.ErrSlotTaken, holds.ErrQuota, and those of the live
// state.
func (bk *Booking) Claim(ctx context.Context, s *clinic.Schedule, offers []Offer, rules Rules, c holds.Claim) (holds.Hold, error) {
	var held *holds.HeldError
	own := ""
	if len(offers) > 1 {
		own = bk.ownHold(ctx, offers, c.Owner)
	}
	for left := slices.Clone(offers); len(left) > 0; own = "" {
		i := pick(left, own)
		o := left[i]
		c.Span, c.Seats, c.Needs, c.Moving = o.Span, o.Seats, o.Rooms, rules.Moved
		h, err := bk.holds.Claim(ctx, c)
		var refused *holds.HeldError
		switch {
		case errors.As(err, &refused):
			if held == nil || refused.Until.Before(held.Until) {
				held = refused
			}
			left = slices.Delete(left, i, i+1)
		case errors.Is(err, holds.ErrTaken): // another node has booked it, and its change is on the way
			bk.Doubt(&c.Span)
			left = slices.Delete(left, i, i+1)
		case err != nil:
			return holds.Hold{}, err
		case bk.isBookedSince(ctx, s, &o, &h, rules):
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

// ownHold returns the specialist of the offer that a client holds already; empty if there is none.
func (bk *Booking) ownHold(ctx context.Context, offers []Offer, owner holds.Owner) string {
	ids := make([]string, len(offers))
	for i := range offers {
		ids[i] = offers[i].SpecialistID
	}
	held, err := bk.holds.List(ctx, ids...)
	if err != nil {
		return "" // the claim will report the failure
	}
	t, start := offers[0].Type, offers[0].Span.SlotStart
	for i := range held {
		if held[i].Owner.Is(owner) && held[i].AppointmentTypeID == t.ID && held[i].SlotStart.Equal(start) {
			return held[i].SpecialistID
		}
	}
	return ""
}

// isBookedSince reports whether the time of a hold was booked between the reading of its offer and its claim. A
// booking holds its time until this process has the appointment in memory, so reading again after the claim cannot
// miss it.
func (bk *Booking) isBookedSince(ctx context.Context, s *clinic.Schedule, o *Offer, h *holds.Hold, rules Rules) bool {
	sn, err := bk.Snapshot(ctx, Question{
		Schedule: s, Types: []*store.AppointmentType{o.Type}, Specialists: []string{h.SpecialistID}, From: h.SlotStart, To: h.SlotStart,
		Rules: rules, IgnoreHeld: true,
	})
	if err != nil {
		bk.log.Warn("occupied time not checked after a claim; checked at booking", "error", err)
		return false
	}
	seats := availability.FreeSeats(o.Type, h.Span, availability.TakenBy(sn.taken, h.SpecialistID))
	return !slices.Contains(seats, h.Seat) || !sn.Needs(o.Type).Have(h)
}

// pinNamed pins the hold that a booking names, and reports whether it is live. If it has expired, the request takes
// its slot and specialist over, and no longer names it. If it can no longer be booked, the hold ends.
func (bk *Booking) pinNamed(ctx context.Context, t *store.AppointmentType, r *Request) (h holds.Hold, isLive bool, err error) {
	if h, isLive, err = bk.pinHold(ctx, r); err != nil || !isLive {
		return holds.Hold{}, false, err
	}
	s, reason := bk.clinic.Current(), availability.ReasonInactive
	if s.HasInactive(h.Resources.List()) { // a new hold may find another room
		bk.Release(ctx, h, holds.ReasonConflict)
		return holds.Hold{}, false, &availability.NotBookableError{Reason: reason}
	}
	// It was claimed in time, so only a later change of the schedule counts.
	if calendar := s.Calendars[h.SpecialistID]; calendar != nil {
		rules := availability.Rules{IgnoreHours: r.IgnoreHours, IgnoreNotice: true, IgnorePast: true}
		_, reason = calendar.Seats(t, h.SlotStart, nil, time.Now(), rules)
	}
	if reason != "" {
		err = &availability.NotBookableError{Reason: reason}
		bk.settle(ctx, r, h, nil, err)
		return holds.Hold{}, false, err
	}
	return h, true, nil
}

// pinHold pins the hold that a request names, and reports whether it is live. If it has expired, the request takes
// its slot and specialist over, and no longer names it.
//
// Errors: holds.ErrNotOwner, holds.ErrNotFound (the hold is unknown, and no start is named), *ValidationError.
func (bk *Booking) pinHold(ctx context.Context, r *Request) (h holds.Hold, isLive bool, err error) {
	h, err = bk.holds.Pin(ctx, r.HoldID, r.Owner, BookingPin)
	if err == nil {
		if err = bk.agrees(r, h.Span, r.Confirms == nil); err != nil {
			bk.Unpin(ctx, h)
			return holds.Hold{}, false, err
		}
		return h, true, nil
	}
	if !errors.Is(err, holds.ErrNotFound) {
		return holds.Hold{}, false, err
	}
	expired, isKnown := bk.recent.Get(r.HoldID)
	switch {
	case isKnown && !expired.owner.Is(r.Owner):
		return holds.Hold{}, false, holds.ErrNotOwner
	case isKnown:
		if err := bk.agrees(r, expired.span(), false); err != nil {
			return holds.Hold{}, false, err
		}
		r.SlotStart, r.SpecialistID = expired.slotStart, expired.specialistID
	case r.SlotStart.IsZero():
		return holds.Hold{}, false, err
	}
	r.HoldID = ""
	return holds.Hold{}, false, nil
}

// agrees checks that a request means the slot of the hold that it names. With exactLength a hold that is longer than
// the type is refused.
func (bk *Booking) agrees(r *Request, held holds.Span, exactLength bool) error {
	var m record.Mistakes
	if r.AppointmentTypeID != held.AppointmentTypeID {
		m.Add("holdId", "this hold is for another appointment type")
	}
	if !r.SlotStart.IsZero() && !r.SlotStart.Equal(held.SlotStart) {
		m.Add("slotStartDate", "this hold is for another time; leave slotStartDate out, or hold that time")
	}
	if r.SpecialistID != "" && r.SpecialistID != held.SpecialistID {
		m.Add("specialistId", "this hold is for another specialist; leave specialistId out, or hold that time")
	}
	if t := bk.clinic.Current().Types[held.AppointmentTypeID]; len(m) == 0 && exactLength && t != nil &&
		held.SlotEnd.Sub(held.SlotStart) > availability.Minutes(t.DurationMinutes) {
		m.Add("holdId", "this hold is for a group visit, or was created when the type was longer; hold the time again")
	}
	return m.Err()
}

// settle ends the hold of a booking or a move by its outcome. After a conflict the hold is released: its time is
// booked. If the booking was refused or not written, a hold that was claimed for it is released, and a hold that the
// client named goes back to the client; so does the hold of a request that stays open.
func (bk *Booking) settle(ctx context.Context, r *Request, h holds.Hold, a *store.Appointment, err error) {
	var cooling *CooldownError
	var closed *availability.NotBookableError
	isNamed := r.HoldID != "" && h.ID == r.HoldID
	switch {
	case h.ID == "":
		if err == nil {
			bk.events.Publish(ctx, holds.Event{Kind: holds.EventConfirm, Span: h.Span, Owner: r.Owner})
		}
	case err == nil:
		bk.Confirm(ctx, h, *a)
	case errors.Is(err, store.ErrSlotTaken):
		bk.Release(ctx, h, holds.ReasonConflict)
	case !isNamed, r.Confirms == nil && errors.As(err, &cooling):
		bk.Release(ctx, h, holds.ReasonReleased)
	case r.Confirms == nil && errors.As(err, &closed):
		bk.Release(ctx, h, holds.ReasonConflict)
	default:
		bk.Unpin(ctx, h)
	}
}

// Confirm ends the hold of a booking that is durable. The live state publishes EventConfirm. If the hold expired
// while the booking was written, Confirm publishes the event itself. Failures are only logged: the hold expires by
// itself.
func (bk *Booking) Confirm(ctx context.Context, h holds.Hold, a store.Appointment) {
	ctx = context.WithoutCancel(ctx)
	isThere, err := bk.holds.Confirm(ctx, h.ID, h.Owner)
	if err != nil {
		bk.log.Warn("hold of a booked slot not ended; it expires on its own", "appointment", a.ID, "error", err)
	} else if !isThere {
		bk.events.Publish(ctx, holds.Event{Kind: holds.EventConfirm, HoldID: h.ID, Span: h.Span, Resources: h.Resources, Owner: h.Owner})
	}
}

// Release removes a hold. Failures are only logged: the hold expires by itself.
func (bk *Booking) Release(ctx context.Context, h holds.Hold, reason holds.Reason) {
	if _, err := bk.holds.Release(context.WithoutCancel(ctx), h.ID, h.Owner, reason); err != nil {
		bk.log.Warn("hold not released; it expires on its own", "error", err)
	}
}

// Unpin gives a pinned hold back to its client, which has at least bookingGrace to try again. Failures are only
// logged: the hold expires by itself.
func (bk *Booking) Unpin(ctx context.Context, h holds.Hold) {
	if _, err := bk.holds.Unpin(context.WithoutCancel(ctx), h.ID, h.Owner, bookingGrace); err != nil && !errors.Is(err, holds.ErrNotFound) {
		bk.log.Warn("hold not unpinned; it expires on its own", "error", err)
	}
}
