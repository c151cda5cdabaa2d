package group

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/holds"
	"holdfast/store"
)

// claim holds the slot at a start time with the first of these specialists whose claim succeeds. It removes the
// specialists that it tried from ids. c does not need a span, seats or rooms. A claim with a TTL of zero is pinned for
// as long as it takes to write the appointments.
//
// Errors: store.ErrSlotTaken, *holds.HeldError with the earliest expiry, and those of booking.Claim and
// booking.ClaimPinned.
func (m *mechanism) claim(ctx context.Context, k *known, ids *[]string, start time.Time, c holds.Claim) (holds.Hold,
	error) {
	var lost *holds.HeldError
	for len(*ids) > 0 {
		id := (*ids)[0]
		*ids = (*ids)[1:]
		o, refusal := k.snapshot.Offer(k.AppointmentType, id, start)
		h, err := holds.Hold{}, refusal.Err()
		switch {
		case err != nil: // another member of this group has taken the time
		case c.TTL == 0:
			h, err = m.booking.ClaimPinned(ctx, []booking.Offer{o}, c)
		default:
			h, err = m.booking.Claim(ctx, []booking.Offer{o}, c)
		}
		var held *holds.HeldError
		switch {
		case errors.As(err, &held):
			if lost == nil || held.Until.Before(lost.Until) {
				lost = held
			}
		case !errors.Is(err, store.ErrSlotTaken):
			return h, err
		}
	}
	if lost == nil {
		return holds.Hold{}, store.ErrSlotTaken
	}
	return holds.Hold{}, lost
}

// secure is like claim, but pins the hold for as long as it takes to write the appointments.
func (m *mechanism) secure(ctx context.Context, k *known, ids *[]string, start time.Time, owner holds.Owner,
	displace bool) (holds.Hold, error) {
	return m.claim(ctx, k, ids, start, holds.Claim{Owner: owner, Displace: displace})
}

// wanted is the requested time of one member of a series.
type wanted struct {
	*known
	start time.Time
	ids   []string            // the specialists who can take it, in order of preference
	why   availability.Reason // the reason why no specialist can take it; empty if one can
	free  bool                // the member is outside the guarantee and needs no hold
}

// secureAll holds the times of all members, or none of them. The holds are in the same order as all. For a member that
// does not need a hold, the list contains an empty one. secureAll claims times and displaces clients only after it has
// checked that all times are free.
//
// Errors: *ConflictError, and the errors of the hold backend.
func (m *mechanism) secureAll(ctx context.Context, all []wanted, owner holds.Owner, displace bool) ([]holds.Hold,
	error) {
	var conflicts []Conflict
	for i := range all {
		if all[i].why != "" {
			conflicts = append(conflicts, Conflict{Place: i, Reason: all[i].why})
		}
	}
	if conflicts != nil {
		return nil, &ConflictError{conflicts}
	}
	held := make([]holds.Hold, len(all))
	for i := range all {
		w := &all[i]
		if w.free {
			continue
		}
		h, err := m.secure(ctx, w.known, &w.ids, w.start, owner, displace)
		if err == nil {
			held[i] = h
		} else if reason := reasonOf(err); reason != "" {
			c := Conflict{Place: i, Reason: reason}
			var other *holds.HeldError
			if errors.As(err, &other) {
				c.Until = other.Until
			}
			conflicts = append(conflicts, c)
		} else {
			m.release(ctx, held, err)
			return nil, err
		}
	}
	if conflicts != nil {
		m.release(ctx, held, nil)
		return nil, &ConflictError{conflicts}
	}
	return held, nil
}

// reasonOf returns the reason why a claim was refused, or an empty reason for any other failure.
func reasonOf(err error) availability.Reason {
	switch {
	case errors.Is(err, store.ErrSlotTaken):
		return availability.ReasonTaken
	case errors.As(err, new(*holds.HeldError)):
		return availability.ReasonHeld
	}
	return ""
}

// confirm ends the holds of members that have been stored durably. The hold of a visit starts with the visit's first
// member.
func (m *mechanism) confirm(ctx context.Context, held []holds.Hold, done []store.Appointment) {
	for i := range held {
		if h := &held[i]; h.ID != "" {
			of := slices.IndexFunc(done, func(a store.Appointment) bool {
				return a.SpecialistID == h.SpecialistID && a.SlotStart.Equal(h.SlotStart)
			})
			m.booking.Confirm(ctx, *h, done[max(0, of)])
		}
	}
}

// returnHold returns a client's pinned hold to the client after an error. After a conflict, it releases the hold,
// because its time is already booked.
func (m *mechanism) returnHold(ctx context.Context, h *holds.Hold, err error) {
	if errors.Is(err, store.ErrSlotTaken) {
		m.booking.Release(ctx, *h, holds.ReasonConflict)
	} else {
		m.booking.Unpin(ctx, *h)
	}
}

// release ends the holds of members that were not written because of err.
func (m *mechanism) release(ctx context.Context, held []holds.Hold, err error) {
	reason := holds.ReasonReleased
	if errors.Is(err, store.ErrSlotTaken) {
		reason = holds.ReasonConflict
	}
	for i := range held {
		if held[i].ID != "" {
			m.booking.Release(ctx, held[i], reason)
		}
	}
}
