package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"holdfast/engine/booking"
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

// Hold holds the slot of a bookingToken for a conversation while the caller decides. A booking in the same conversation
// takes over the hold. Errors: *ValidationError for an invalid or expired token, and the errors of booking.Hold.
func (ag *Agent) Hold(ctx context.Context, bookingToken string, client holds.ClientID) (holds.Hold, error) {
	slot, bad, err := ag.agentSlot(ctx, &BookRequest{BookingToken: bookingToken}, time.Now())
	switch {
	case err != nil:
		return holds.Hold{}, err
	case bad != nil:
		return holds.Hold{}, record.Invalid("bookingToken", "%s", bad.Message)
	}
	return ag.booking.Hold(ctx, booking.HoldRequest{
		AppointmentTypeID: slot.kind.ID, SlotStart: slot.start, SpecialistID: slot.specialist.ID, Client: client,
		TTL: agentHoldTTL, IgnoreHours: ag.upstreamDecides(slot),
	})
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
// in the clinic's local time and the language of its agents.
func (ag *Agent) Spoken(at time.Time) string { return ag.language().Spoken(at.In(ag.clinic.Zone())) }
