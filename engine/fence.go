package engine

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/upstream"
	"holdfast/holds"
	"holdfast/store"
)

// fence keeps an agent's slot here, as a confirmed appointment, before anything is written upstream: no visitor can take
// it meanwhile.
type fence struct {
	outbox      *outbox
	patientGUID string
	nonce       *store.NonceUse
	operationID string
	call        outbound // the upstream write that was promised, taken in hand; empty if there is none
}

// direct reports whether there is an upstream write to be tried at once.
func (f *fence) direct() bool { return f.call.ID != "" }

// Mark prepares the change before its transaction.
func (f *fence) Mark(c *change) {
	c.after.UpstreamPatientID = f.patientGUID
	if c.after.UpstreamState == store.UpstreamPending {
		f.operationID = f.outbox.ids.next(c.at)
		c.fence, c.direct = true, f.operationID
		f.outbox.hold(f.operationID, c.after.ID)
	}
}

// Burn uses the bookingToken up. store.ErrDuplicate if it was used before.
func (f *fence) Burn(ctx context.Context, tx store.Tx, a *store.Appointment) error {
	if f.nonce == nil {
		return nil
	}
	use := *f.nonce
	use.AppointmentID = a.ID
	return tx.UseNonce(ctx, use)
}

// Drop lets go of the operation of a fence that was not written.
func (f *fence) Drop() {
	if f.operationID != "" {
		f.outbox.letGo(f.operationID)
	}
}

// Takes keeps the upstream write of a committed change in hand, so that only the others are handed over.
func (f *fence) Takes(c *change) []outbound {
	var others []outbound
	for _, call := range c.calls {
		if call.ID == f.operationID {
			f.call = call
		} else {
			others = append(others, call)
		}
	}
	return others
}

// fenceSlot claims the slot like any client, so that a visitor's hold is respected, and writes the fence.
//
// Errors: *NotBookableError, store.ErrSlotTaken, *holds.HeldError, store.ErrDuplicate (the bookingToken was used),
// *ValidationError, and the storage errors.
func (e *Engine) fenceSlot(ctx context.Context, p Principal, b *AgentBooking, slot *agentSlot, patient store.Patient) (store.Appointment, *fence, error) {
	s := e.Current()
	t := slot.kind
	if slot.minutes != t.DurationMinutes {
		longer := *t
		longer.DurationMinutes, longer.SlotStepMinutes = slot.minutes, slot.minutes
		t = &longer
	}
	now := time.Now()
	if !slot.start.After(now) {
		return store.Appointment{}, nil, &NotBookableError{ReasonTooSoon}
	}
	f := &fence{outbox: &e.outbox, patientGUID: upstream.CanonicalGUID(b.PatientGUID), nonce: slot.nonce}
	found, err := e.candidates(ctx, s, t, slot.specialist.ID, slot.start, now, candidateRules{ignoreHours: e.upstreamDecides(slot), ignoreClosed: e.upstreamDecides(slot)})
	if err != nil {
		return store.Appointment{}, nil, err
	}
	owner := b.Client.Owner()
	if owner.IsZero() {
		// The same for the same request sent twice at once, so that neither is refused because of the other.
		owner = AgentClient(p, "booking\x00"+f.patientGUID+"\x00"+b.Note).Owner()
	}
	h, err := e.claim(ctx, t, slot.start, found, holds.Claim{Owner: owner, TTL: bookingTTL, MaxLife: bookingTTL})
	if err != nil {
		return store.Appointment{}, nil, err
	}
	if h, err = e.holds.Pin(ctx, h.ID, owner, bookingPin); err != nil {
		return store.Appointment{}, nil, err
	}
	if patient.Name == "" {
		patient.Name = b.ChildName
	}
	patient.Notes = b.Note
	r := BookRequest{owner: owner, Patient: patient, Source: store.SourceAgent, Actor: p.Actor(), fence: f}
	a := newAppointment(&r, h.Span)
	err = e.writeBooking(ctx, t, &r, &a)
	switch {
	case err == nil:
		e.confirm(ctx, h, a)
		return a, f, nil
	case errors.Is(err, store.ErrSlotTaken):
		e.release(ctx, h, holds.ReasonConflict)
	default:
		e.release(ctx, h, holds.ReasonReleased)
	}
	return store.Appointment{}, nil, err
}
