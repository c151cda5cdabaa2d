package agent

import (
	"context"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/engine/rule"
	"holdfast/engine/upstream"
	"holdfast/holds"
	"holdfast/store"
)

// fence reserves an agent's slot with a confirmed appointment before anything is written upstream. So no visitor can
// take the slot during the write.
type fence struct {
	outbox      *outbound.Outbox
	patientGUID string
	nonce       *store.NonceUse
	operationID string
	call        booking.Promise // the claimed upstream write of the appointment; empty if there is none
}

// direct reports whether the agent's request should attempt an upstream write now.
func (f *fence) direct() bool { return f.call.ID != "" }

// Mark prepares the change before its transaction.
func (f *fence) Mark(c *booking.Change) {
	c.After.UpstreamPatientID = f.patientGUID
	if c.After.UpstreamState == store.UpstreamPending {
		f.operationID = f.outbox.Ids.Next(c.At)
		c.Fence, c.Direct = true, f.operationID
		f.outbox.Claim(f.operationID)
	}
}

// Burn marks the bookingToken as used. Errors: store.ErrDuplicate if the token has been used before.
func (f *fence) Burn(ctx context.Context, tx store.Tx, a *store.Appointment) error {
	if f.nonce == nil {
		return nil
	}
	use := *f.nonce
	use.AppointmentID = a.ID
	return tx.UseNonce(ctx, use)
}

// Drop releases the operation if the fence was not written.
func (f *fence) Drop() {
	if f.operationID != "" {
		f.outbox.Release(f.operationID)
	}
}

// Takes removes the claimed upstream write from a committed change's calls and returns the remaining calls for the
// relay.
func (f *fence) Takes(c *booking.Change) []booking.Promise {
	var others []booking.Promise
	for _, call := range c.Calls {
		if call.ID == f.operationID {
			f.call = call
		} else {
			others = append(others, call)
		}
	}
	return others
}

// fenceSlot claims the slot like any other client, so that it respects visitors' holds, and writes the fence. If the
// conversation holds another time, the booking ends that hold; if the booking is refused, the conversation keeps it.
//
// Errors: *NotBookableError, store.ErrSlotTaken, *holds.HeldError, store.ErrDuplicate (the bookingToken has been used),
// *ValidationError, and the storage errors.
func (ag *Agent) fenceSlot(ctx context.Context, p record.Principal, b *BookRequest, slot *agentSlot,
	patient store.Patient) (store.Appointment, *fence, error) {
	s := ag.clinic.Current()
	t := slot.kind
	if slot.minutes != t.DurationMinutes {
		longer := *t
		longer.DurationMinutes, longer.SlotStepMinutes = slot.minutes, slot.minutes
		t = &longer
	}
	if !slot.start.After(time.Now()) {
		return store.Appointment{}, nil, &availability.NotBookableError{Reason: availability.ReasonTooSoon}
	}
	f := &fence{outbox: &ag.outbound.Outbox, patientGUID: upstream.CanonicalGUID(b.PatientGUID), nonce: slot.nonce}
	decides := ag.upstreamDecides(slot)
	rules := booking.Rules{Rules: upstreamHours(decides), IgnoreClosed: decides}
	offers, err := ag.booking.Offers(ctx, s, t, slot.specialist.ID, slot.start, rules)
	if err != nil {
		return store.Appointment{}, nil, err
	}
	owner := b.Client.Owner()
	if owner.IsZero() {
		// Two concurrent copies of a request have the same owner, so neither blocks the other.
		owner = ClientOf(p, "booking\x00"+f.patientGUID+"\x00"+b.Note).Owner()
	}
	var earlier []holds.Hold
	if b.Client != "" {
		earlier = ag.otherHolds(ctx, owner, slot)
	}
	h, err := ag.booking.ClaimPinned(ctx, offers, holds.Claim{Owner: owner, Replaces: replacing(earlier)})
	if err != nil {
		return store.Appointment{}, nil, err
	}
	if patient.Name == "" {
		patient.Name = b.ChildName
	}
	patient.Notes = b.Note
	r := booking.Request{
		Owner: owner, Patient: patient, Source: store.SourceAgent, Actor: p.Actor(), Fence: f, Permit: ag.permit(slot),
	}
	a, err := ag.booking.BookClaimed(ctx, t, &r, h)
	if err != nil {
		if len(earlier) > 0 {
			ag.booking.Restore(ctx, earlier[0])
		}
		return store.Appointment{}, nil, err
	}
	ag.releaseAll(ctx, earlier)
	return a, f, nil
}

// permit returns the function that checks a slot against the clinic's rule. An agent's booking cannot become a request,
// so the server refuses it if the rule leaves the decision to the desk.
func (ag *Agent) permit(slot *agentSlot) func(context.Context, *booking.Request, holds.Span) error {
	return func(ctx context.Context, r *booking.Request, at holds.Span) error {
		approve, err := ag.rule.Check(ctx, rule.Question{
			AppointmentTypeID: slot.kind.ID, SpecialistID: at.SpecialistID, Start: at.SlotStart, Source: r.Source,
			Patient: r.Patient,
		})
		if err == nil && approve {
			err = &rule.RefusedError{Reason: "The clinic must approve this booking."}
		}
		return err
	}
}
