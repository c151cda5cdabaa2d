package outbound

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Asking the practice system
//
// What nobody knows is looked up, and after a write that nobody knows of it is asked whether anybody is there. Questions
// keep their distance as writes do; whoever calls lookUp has waited for a turn.

// isThere asks, after a write that nobody knows of, whether anybody is there: a write into a dead line is one more unknown
// outcome. It asks for what no patient's record can spoil. A caller who cannot wait for a turn within bound does not ask,
// since somebody has just asked in vain. It reports false with the outcome that follows.
func (out *Outbound) isThere(ctx context.Context, bound time.Duration) (Outcome, bool) {
	if out.doubt.Load() == 0 {
		return Outcome{}, true
	}
	var line *upstream.LineError
	switch err := out.asks.Wait(ctx, bound); {
	case errors.As(err, &line):
		return Outcome{End: Unreachable, Detail: "the practice system did not answer a moment ago"}, false
	case err != nil:
		return out.soon("the server was stopped"), false
	case out.doubt.Load() == 0:
		return Outcome{}, true
	}
	now := time.Now()
	_, _, err := out.Options.Upstream.GetOnlineReservations(ctx, upstream.Openings{From: now, To: now.Add(time.Hour), Zone: out.clinic.Zone()})
	switch {
	case upstream.IsSilent(err):
		return Outcome{End: Unreachable, Detail: upstream.Words(err)}, false
	case upstream.ClassOf(err) != upstream.Unknown:
		out.doubt.Store(0)
	case out.doubt.Load() > 1: // neither writes nor questions have an answer that can be used
		return Outcome{End: Unreachable, Detail: upstream.Words(err)}, false
	}
	return Outcome{}, true
}

// mayBeWritten reports whether another process promised op, and this one has not looked yet. Its files may be a copy, or
// have been put back: what they say of attempts is then not all there was.
func (out *Outbound) mayBeWritten(op *store.Operation, p *upstreamPayload) bool {
	return op.CreatedAt.Before(out.started) && p.Checked != out.started.UnixMilli()
}

// lookUp asks whether the appointment is there. It reports false if it certainly is not; otherwise the outcome is what
// follows: a question that has no answer puts off this operation and no other.
func (out *Outbound) lookUp(ctx context.Context, op *store.Operation, p *upstreamPayload, a *store.Appointment) (Outcome, bool) {
	list, err := out.findUpstream(ctx, p, a)
	var answered *upstream.Error
	if err != nil && !errors.As(err, &answered) {
		return out.soon(Unread(ctx)), true
	}
	class := upstream.ClassOf(err)
	switch {
	case upstream.IsSilent(err):
		out.doubt.CompareAndSwap(0, 1)
	case class != upstream.Unknown:
		out.doubt.Store(0)
	}
	switch {
	case err == nil && len(list) == 1:
		if !p.Doubt && !op.Unknown {
			out.suspectRollback(op)
		}
		return Outcome{End: Delivered, Result: list[0].GUID}, true
	case err == nil && len(list) > 1:
		return Outcome{End: undecided, Detail: "the practice system has the appointment more than once; cancel those that are too many there"}, true
	case err == nil, upstream.ReasonOf(err) == upstream.PatientUnknown:
		return Outcome{}, false
	}
	return out.unanswered(op, p, err), true
}

// unanswered returns the outcome of a look-up that failed with err.
func (out *Outbound) unanswered(op *store.Operation, p *upstreamPayload, err error) Outcome {
	class := upstream.ClassOf(err)
	switch {
	case op.Unknown && tooLate(op, out.Now()):
		return Outcome{End: undecided, Detail: upstream.Words(err)}
	case class == upstream.NotSent:
		return Outcome{End: Unreachable, Detail: upstream.Words(err)}
	case class == upstream.RateLimited, upstream.IsSilent(err):
		return out.putOff(op, p, err)
	}
	return Outcome{End: lookupFailed, Detail: upstream.Words(err)}
}

// putOff tries an operation again later, each time later than before: nobody answered, or asked to be left alone.
func (out *Outbound) putOff(op *store.Operation, p *upstreamPayload, err error) Outcome {
	p.Asked++
	op.Payload = p.json()
	return Outcome{End: Deferred, Detail: upstream.Words(err), At: out.Now().Add(store.Backoff(out.Options.Limits.Backoff, p.Asked))}
}

// findWritten finds the GUID of an appointment that is there for certain. Where it cannot be found out, the appointment
// stays without one.
func (out *Outbound) findWritten(ctx context.Context, op *store.Operation, p *upstreamPayload, a *store.Appointment) Outcome {
	list, err := out.findUpstream(ctx, p, a)
	if err == nil && len(list) == 1 {
		return Outcome{End: Delivered, Result: list[0].GUID}
	}
	if op.Lookups++; op.Lookups >= maxLookups {
		return Outcome{End: Delivered, Result: doneWithoutName}
	}
	return Outcome{End: Deferred, Detail: "it was written; under which GUID is still to be found out", At: out.Now().Add(store.Backoff(out.Options.Limits.Backoff, op.Lookups))}
}

// findUpstream lists what in the patient's list is this appointment. Those that are known to be others' are not:
// brothers and sisters in one group session share patient, start and column.
func (out *Outbound) findUpstream(ctx context.Context, p *upstreamPayload, a *store.Appointment) ([]upstream.Appointment, error) {
	list, err := out.Options.Upstream.GetAppointmentListByPatient(ctx, a.UpstreamPatientID, out.clinic.Zone())
	if err != nil {
		return nil, err
	}
	found := p.write(a.UpstreamPatientID, out.clinic.Zone()).Match(list)
	if len(found) == 0 {
		return nil, nil
	}
	end := p.Start.Add(time.Duration(p.Minutes) * time.Minute)
	others, _, err := out.store.Appointments(ctx, store.AppointmentFilter{From: p.Start, To: end, Limit: 500})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(u upstream.Appointment) bool {
		return slices.ContainsFunc(others, func(o store.Appointment) bool {
			return o.ID != a.ID && upstream.EqualGUID(o.UpstreamID, u.GUID)
		})
	}), nil
}
