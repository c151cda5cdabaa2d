package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// agentHoldTTL is how long an agent's hold reserves a slot while the caller decides.
const agentHoldTTL = 5 * time.Minute

// ClientOf returns the client for one of an agent's conversations. It is the same for every call with the same session
// id, and differs between API keys. It is empty if there is no session id.
func ClientOf(p record.Principal, sessionID string) holds.ClientID {
	if sessionID == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("agent session\x00" + p.KeyID + "\x00" + sessionID))
	return holds.ClientID("agent-" + hex.EncodeToString(sum[:16]))
}

// Hold holds the slot of a bookingToken for a conversation while the caller decides. A conversation has one hold: a
// hold of another slot replaces it, even if the two overlap. If the new slot is not free, the conversation keeps its
// hold. A booking in the same conversation takes over the hold of its slot and ends the hold of another slot.
//
// Errors: *ValidationError for an invalid or expired token, and the errors of booking.Hold.
func (ag *Agent) Hold(ctx context.Context, bookingToken string, client holds.ClientID) (holds.Hold, error) {
	return ag.HoldToMove(ctx, bookingToken, client, nil)
}

// HoldToMove is like Hold, for a slot to which an appointment will be moved: the appointment's own time counts as free.
// If moving is nil, HoldToMove is Hold.
func (ag *Agent) HoldToMove(ctx context.Context, bookingToken string, client holds.ClientID,
	moving *store.Appointment) (holds.Hold, error) {
	slot, bad, err := ag.agentSlot(ctx, &BookRequest{BookingToken: bookingToken}, time.Now())
	switch {
	case err != nil:
		return holds.Hold{}, err
	case bad != nil:
		return holds.Hold{}, record.Invalid("bookingToken", "%s", bad.Message)
	case moving != nil && moving.AppointmentTypeID != slot.kind.ID:
		return holds.Hold{}, record.Invalid("bookingToken",
			"is for another appointment type; an appointment moves only to a time of its own type, %s",
			moving.AppointmentTypeID)
	}
	earlier, decides := ag.otherHolds(ctx, client.Owner(), slot), ag.upstreamDecides(slot)
	h, err := ag.booking.Hold(ctx, booking.HoldRequest{
		AppointmentTypeID: slot.kind.ID, SlotStart: slot.start, SpecialistID: slot.specialist.ID, Client: client,
		TTL: agentHoldTTL, IgnoreHours: decides, KeepBlocks: decides, Replaces: replacing(earlier).ID,
		Moving: moving,
	})
	if err == nil {
		ag.releaseAll(ctx, earlier)
	}
	return h, err
}

// otherHolds lists the holds of a conversation, except for that of this slot and except for pinned ones, whose booking
// is being written. There is more than one only if two calls of the conversation ran at the same time. If the live
// state does not respond, the list is empty, and the claim reports the error.
func (ag *Agent) otherHolds(ctx context.Context, owner holds.Owner, slot *agentSlot) []holds.Hold {
	list, err := ag.booking.Holds(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(h holds.Hold) bool {
		return !h.Owner.Is(owner) || h.Pinned || h.AppointmentTypeID == slot.kind.ID &&
			h.SpecialistID == slot.specialist.ID && h.SlotStart.Equal(slot.start)
	})
}

// replacing names the hold that a claim replaces: the first of a conversation's earlier holds, if there is one.
func replacing(earlier []holds.Hold) holds.Replaced {
	if len(earlier) == 0 {
		return holds.Replaced{}
	}
	return holds.Replaced{ID: earlier[0].ID, Owner: earlier[0].Owner}
}

// releaseAll releases the earlier holds of a conversation. The one that a claim replaced has already ended.
func (ag *Agent) releaseAll(ctx context.Context, earlier []holds.Hold) {
	for _, h := range earlier[min(1, len(earlier)):] {
		ag.booking.Release(ctx, h, holds.ReasonReleased)
	}
}

// Booked returns the appointment that was booked with a bookingToken. Errors: store.ErrNotFound if there is none.
func (ag *Agent) Booked(ctx context.Context, bookingToken string) (store.Appointment, error) {
	b, err := ag.booking.Keys().VerifyBooking(bookingToken, time.Now())
	if b.Nonce == "" {
		return store.Appointment{}, store.ErrNotFound
	}
	_ = err // an expired token still identifies the appointment that it booked
	use, err := ag.store.NonceUse(ctx, b.Nonce)
	if err != nil {
		return store.Appointment{}, err
	}
	return ag.store.Appointment(ctx, use.AppointmentID)
}

// Spoken returns a time worded so that it cannot be misheard when read aloud, such as "Monday, November 23rd at 10 AM",
// in the clinic's local time and the language of its agents. If the clock shows this time twice that night, Spoken adds
// the zone, as emails do: "Sunday, October 31st at 2 AM CEST".
func (ag *Agent) Spoken(at time.Time) string {
	local := at.In(ag.clinic.Zone())
	text := ag.language().Spoken(local)
	if zone := clinic.ZoneIfRepeated(local); zone != "" {
		text += " " + zone
	}
	return text
}
