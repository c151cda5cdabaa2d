package practice

import (
	"context"
	"errors"
	"slices"

	"holdfast/engine/booking"
	"holdfast/engine/outbound"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// deliverCancel cancels an appointment upstream. A repeated cancellation is harmless.
func (pr *Practice) deliverCancel(ctx context.Context, op *store.Operation) outbound.Outcome {
	a, err := pr.store.Appointment(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return outbound.Outcome{End: outbound.NotNeeded}
	case err != nil:
		return pr.soon(outbound.Unread(ctx))
	}
	if o := pr.behind(ctx, op); o != nil {
		return *o
	}
	log, err := pr.store.Deliveries(ctx, a.ID)
	if err != nil {
		return pr.soon(outbound.Unread(ctx))
	}
	p := payloadOf(op)
	if p.GUID == "" && !decides(&a, log, op, &p) {
		return outbound.Outcome{End: outbound.NotNeeded, Detail: "the appointment was moved again"}
	}
	guid := p.GUID
	if guid == "" {
		guid = a.UpstreamID
	}
	if wanted, search := pr.unnamed(ctx, log, p); guid == "" && search && a.UpstreamPatientID != "" {
		list, err := pr.findUpstream(ctx, &wanted, &a)
		switch {
		case err != nil:
			o, _ := pr.harmless(op, err)
			return o
		case len(list) > 1:
			return outbound.Outcome{End: outbound.Undecided,
				Detail: "the practice system has the appointment more than once; cancel it there"}
		case len(list) == 1:
			guid = list[0].GUID
		}
	}
	if guid == "" {
		pr.putAwayFailed(ctx, op)
		return outbound.Outcome{End: outbound.NotNeeded}
	}
	if o, ok := pr.harmless(op, pr.Options.Upstream.SetAppointmentStatusCanceled(ctx, guid)); !ok {
		return o
	}
	return outbound.Outcome{End: outbound.Delivered, Result: guid}
}

// unnamed returns the appointment to look up for a cancellation p without a GUID. It returns false if no write has
// taken effect, so that there is nothing to cancel. A write can take effect without a GUID after the cancellation has
// been queued.
func (pr *Practice) unnamed(ctx context.Context, log []store.Delivery, p payload) (wanted payload, search bool) {
	for _, d := range slices.Backward(log) {
		if !isWrite(d) || d.State != outbound.DeliveryDelivered {
			continue
		}
		op, err := pr.outbound.Queue.Operation(ctx, d.OperationID)
		if written := payloadOf(&op); err == nil && !written.isBlank() {
			return written, true
		}
		return p, true
	}
	return p, p.Search
}

// putAwayFailed completes a cancelled appointment's failed operations, because a person has nothing left to decide.
func (pr *Practice) putAwayFailed(ctx context.Context, cancel *store.Operation) {
	list, _, err := pr.outbound.Earlier(ctx, cancel, func(o *store.Operation) bool {
		return o.Status == store.OperationFailed && !o.NeedsReview && booking.ChannelOf(o.Kind) == "upstream"
	})
	if err != nil {
		return // they remain in the list, where a person can end them
	}
	for _, op := range list {
		pr.outbound.Settle(ctx, op, outbound.Outcome{End: outbound.NotNeeded, Detail: "the appointment was cancelled"})
	}
}

// deliverComment adds the note from an agent's booking to the patient's comment.
func (pr *Practice) deliverComment(ctx context.Context, op *store.Operation) outbound.Outcome {
	a, err := pr.store.Appointment(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (a.Patient.Notes == "" || a.UpstreamPatientID == ""):
		return outbound.Outcome{End: outbound.NotNeeded}
	case err != nil:
		return pr.soon(outbound.Unread(ctx))
	}
	if o, ok := pr.harmless(op, pr.Options.Upstream.SetPatientComment(ctx, a.UpstreamPatientID, a.Patient.Notes)); !ok {
		return o
	}
	return outbound.Outcome{End: outbound.Delivered, Result: outbound.DoneWithoutName}
}

// harmless converts the result of a call that can safely be repeated after any outcome. It returns true if the call
// succeeded.
func (pr *Practice) harmless(op *store.Operation, err error) (outbound.Outcome, bool) {
	switch class := upstream.ClassOf(err); {
	case err == nil, upstream.ReasonOf(err) == upstream.AppointmentUnknown:
		return outbound.Outcome{}, true
	case class == upstream.Refused:
		return outbound.Outcome{End: outbound.Refused, Detail: upstream.Words(err)}, false
	case class == upstream.NotSent, class == upstream.Misconfigured:
		return outbound.Outcome{End: outbound.Unreachable, Detail: upstream.Words(err)}, false
	case upstream.IsSilent(err):
		p := payloadOf(op)
		return pr.putOff(op, &p, err), false
	}
	return outbound.Outcome{End: outbound.Retryable, Detail: upstream.Words(err)}, false
}
