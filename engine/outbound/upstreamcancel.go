package outbound

import (
	"context"
	"errors"

	"holdfast/engine/booking"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// deliverCancel cancels an appointment upstream. Repeating that is harmless.
func (out *Outbound) deliverCancel(ctx context.Context, op *store.Operation) Outcome {
	a, err := out.store.Appointment(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Outcome{End: NotNeeded}
	case err != nil:
		return out.soon(Unread(ctx))
	}
	if at, behind := out.behind(ctx, op); behind {
		return Outcome{End: Deferred, At: at, Detail: op.LastError}
	}
	p := payloadOf(op)
	guid := p.GUID
	if guid == "" {
		guid = a.UpstreamID
	}
	if guid == "" && p.Search && a.UpstreamPatientID != "" {
		list, err := out.findUpstream(ctx, &p, &a)
		switch {
		case err != nil:
			o, _ := out.harmless(op, err)
			return o
		case len(list) > 1:
			return Outcome{End: undecided, Detail: "the practice system has the appointment more than once; cancel it there"}
		case len(list) == 1:
			guid = list[0].GUID
		}
	}
	if guid == "" {
		out.putAwayFailed(ctx, op)
		return Outcome{End: NotNeeded}
	}
	if o, ok := out.harmless(op, out.Options.Upstream.SetAppointmentStatusCanceled(ctx, guid)); !ok {
		return o
	}
	return Outcome{End: Delivered, Result: guid}
}

// putAwayFailed closes the failed operations of an appointment that is cancelled: nothing is left to be decided.
func (out *Outbound) putAwayFailed(ctx context.Context, cancel *store.Operation) {
	list, _, err := out.Earlier(ctx, cancel, func(o *store.Operation) bool {
		return o.Status == store.OperationFailed && !o.NeedsReview && booking.ChannelOf(o.Kind) == "upstream"
	})
	if err != nil {
		return // they are still in the list for a person to close
	}
	for _, op := range list {
		out.settle(ctx, op, Outcome{End: NotNeeded, Detail: "the appointment was cancelled"})
	}
}

// deliverComment adds the note of an agent's booking to the patient.
func (out *Outbound) deliverComment(ctx context.Context, op *store.Operation) Outcome {
	a, err := out.store.Appointment(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (a.Patient.Notes == "" || a.UpstreamPatientID == ""):
		return Outcome{End: NotNeeded}
	case err != nil:
		return out.soon(Unread(ctx))
	}
	if o, ok := out.harmless(op, out.Options.Upstream.SetPatientComment(ctx, a.UpstreamPatientID, a.Patient.Notes)); !ok {
		return o
	}
	return Outcome{End: Delivered, Result: doneWithoutName}
}

// harmless sorts the end of a call that may be repeated whatever became of it. It reports true if all is well.
func (out *Outbound) harmless(op *store.Operation, err error) (Outcome, bool) {
	switch class := upstream.ClassOf(err); {
	case err == nil, upstream.ReasonOf(err) == upstream.AppointmentUnknown:
		return Outcome{}, true
	case class == upstream.Refused:
		return Outcome{End: Refused, Detail: upstream.Words(err)}, false
	case class == upstream.NotSent, class == upstream.Misconfigured:
		return Outcome{End: Unreachable, Detail: upstream.Words(err)}, false
	case upstream.IsSilent(err):
		p := payloadOf(op)
		return out.putOff(op, &p, err), false
	}
	return Outcome{End: Retryable, Detail: upstream.Words(err)}, false
}
