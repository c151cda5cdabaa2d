package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// unpinGrace is the time that a client's own hold has left after a failed write, so that the page can retry.
const unpinGrace = 15 * time.Second

// claim holds the slot at a start with the first of these specialists whose claim is not lost. It removes the specialists that it tried
// from ids. c needs no span, seats and rooms.
//
// Errors: store.ErrSlotTaken, *holds.HeldError with the earliest expiry, and those of holds.Table.Claim.
func (m *mechanism) claim(ctx context.Context, k *known, ids *[]string, start time.Time, c holds.Claim) (holds.Hold, error) {
	var lost *holds.HeldError
	for len(*ids) > 0 {
		id := (*ids)[0]
		*ids = (*ids)[1:]
		c.Span, c.Seats, c.Needs = availability.SpanOf(k.AppointmentType, id, start), k.seats(id, start), k.needs.Free(start, k.ignoreHours)
		h, err := m.holds.Claim(ctx, c)
		var held *holds.HeldError
		switch {
		case errors.As(err, &held):
			if lost == nil || held.Until.Before(lost.Until) {
				lost = held
			}
			continue
		case err != nil:
			return holds.Hold{}, err
		}
		// Every booking has a hold until this process knows its taken time. So a second look with the hold in hand cannot miss it.
		again := *k.rules
		again.ignoreHolds = true
		now, err := m.look(ctx, k.schedule, k.slot, []string{id}, start, start, &again)
		if err == nil && now.isTaken(&h) {
			m.booking.Release(ctx, h, holds.ReasonConflict)
			lost = &holds.HeldError{}
			continue
		}
		return h, nil
	}
	if lost == nil || lost.Until.IsZero() {
		return holds.Hold{}, store.ErrSlotTaken
	}
	return holds.Hold{}, lost
}

// isTaken reports whether an appointment has the seat or a room of a hold.
func (k *known) isTaken(h *holds.Hold) bool {
	return !slices.Contains(k.seats(h.SpecialistID, h.SlotStart), h.Seat) || !k.needs.Have(h)
}

// secure claims like claim and pins the hold for the time that it takes to write the appointments. If the hold disappears before it is
// pinned, because a member of staff displaced it or the backend of holds failed, secure claims again.
func (m *mechanism) secure(ctx context.Context, k *known, ids *[]string, start time.Time, owner holds.Owner, displace bool) (holds.Hold, error) {
	for range 3 {
		left := *ids
		h, err := m.claim(ctx, k, &left, start, holds.Claim{Owner: owner, TTL: booking.BookingTTL, MaxLife: booking.BookingTTL, Displace: displace})
		if err != nil {
			return holds.Hold{}, err
		}
		if h, err = m.holds.Pin(ctx, h.ID, owner, booking.BookingPin); !errors.Is(err, holds.ErrNotFound) {
			*ids = left
			return h, err
		}
	}
	return holds.Hold{}, fmt.Errorf("%w: holds disappear before they are pinned", holds.ErrUnavailable)
}

// wanted is the time of one member of a series.
type wanted struct {
	*known
	start time.Time
	ids   []string            // the specialists who can take it, first choice first
	why   availability.Reason // why no specialist can; empty if one can
	free  bool                // the member is outside the guarantee and needs no hold
}

// secureAll holds the times of all members, or none. The holds are in the order of all; a member that needs none has an empty hold.
// secureAll claims nothing, and displaces no client, before it knows that all times are free as far as was read.
//
// Errors: *ConflictError, and the errors of the backend of holds.
func (m *mechanism) secureAll(ctx context.Context, all []wanted, owner holds.Owner, displace bool) ([]holds.Hold, error) {
	var conflicts []Conflict
	for i := range all {
		if all[i].why != "" {
			conflicts = append(conflicts, Conflict{i, all[i].why})
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
			conflicts = append(conflicts, Conflict{i, reason})
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

// reasonOf returns what the refusal of a claim says about its time. It is empty for other failures.
func reasonOf(err error) availability.Reason {
	var held *holds.HeldError
	switch {
	case errors.Is(err, store.ErrSlotTaken), errors.As(err, &held) && held.Until.IsZero():
		return availability.ReasonTaken
	case errors.As(err, &held):
		return ReasonHeld
	}
	return ""
}

// confirm ends the holds of members that are durable. A visit's hold starts with its first member.
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

// release ends the holds of members that were not written, because of err.
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

// ownerOf returns the owner of a client's holds. Without a client it returns an owner for this request only.
func ownerOf(c holds.ClientID, once *record.Once) holds.Owner {
	if c == "" {
		return once.Owner()
	}
	return c.Owner()
}
