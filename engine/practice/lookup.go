package practice

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/outbound"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Look-ups
//
// An appointment whose write had an unknown outcome is looked up. Before that, isThere checks whether the upstream
// responds at all. Look-ups are spaced like writes. The caller of lookUp must already have waited for its turn.

// isThere checks, after a write with an unknown outcome, whether the upstream responds. If it does not, another write
// would also have an unknown outcome. The check does not involve a patient, whose record could make it fail. If its
// turn does not come in time, isThere treats the upstream as unreachable, because another check has just failed. If it
// returns false, the attempt ends with the Outcome.
func (pr *Practice) isThere(ctx context.Context, bound time.Duration) (outbound.Outcome, bool) {
	if pr.doubt.Load() == 0 {
		return outbound.Outcome{}, true
	}
	var line *upstream.LineError
	switch err := pr.asks.Wait(ctx, bound); {
	case errors.As(err, &line):
		return outbound.Outcome{End: outbound.Unreachable, Detail: "the practice system was unreachable a moment ago"},
			false
	case err != nil:
		return pr.soon("the server was stopped"), false
	case pr.doubt.Load() == 0:
		return outbound.Outcome{}, true
	}
	now := time.Now()
	_, _, err := pr.Options.Upstream.GetOnlineReservations(ctx,
		upstream.Openings{From: now, To: now.Add(time.Hour), Zone: pr.clinic.Zone()})
	switch {
	case upstream.IsSilent(err):
		return outbound.Outcome{End: outbound.Unreachable, Detail: upstream.Words(err)}, false
	case upstream.ClassOf(err) != upstream.Unknown:
		pr.doubt.Store(0)
	case pr.doubt.Load() > 1: // neither writes nor queries get a usable response
		return outbound.Outcome{End: outbound.Unreachable, Detail: upstream.Words(err)}, false
	}
	return outbound.Outcome{}, true
}

// mayBeWritten reports whether op comes from another process and this process has not looked up its appointment yet.
// The data may be a restored copy, which lacks the attempts made after the backup.
func (pr *Practice) mayBeWritten(op *store.Operation, p *payload) bool {
	return op.CreatedAt.Before(pr.outbound.Started()) && p.Checked != pr.outbound.Started().UnixMilli()
}

// lookUp checks whether the appointment exists. It returns false if the appointment certainly does not exist, and
// otherwise true with the attempt's outcome. If there is no response, only this operation is deferred.
func (pr *Practice) lookUp(ctx context.Context, op *store.Operation, p *payload,
	a *store.Appointment) (outbound.Outcome, bool) {
	list, err := pr.findUpstream(ctx, p, a)
	var answered *upstream.Error
	if err != nil && !errors.As(err, &answered) {
		return pr.soon(outbound.Unread(ctx)), true
	}
	class := upstream.ClassOf(err)
	switch {
	case upstream.IsSilent(err):
		pr.doubt.CompareAndSwap(0, 1)
	case class != upstream.Unknown:
		pr.doubt.Store(0)
	}
	switch {
	case err == nil && len(list) == 1:
		if !p.Doubt && !op.Unknown {
			pr.suspectRollback(op)
		}
		return outbound.Outcome{End: outbound.Delivered, Result: list[0].GUID}, true
	case err == nil && len(list) > 1:
		return outbound.Outcome{End: outbound.Undecided,
			Detail: "the practice system has the appointment more than once; cancel the duplicates there"}, true
	case err == nil, upstream.ReasonOf(err) == upstream.PatientUnknown:
		return outbound.Outcome{}, false
	}
	return pr.unanswered(op, p, err), true
}

// unanswered returns the outcome of a look-up that failed with err.
func (pr *Practice) unanswered(op *store.Operation, p *payload, err error) outbound.Outcome {
	class := upstream.ClassOf(err)
	switch {
	case op.Unknown && outbound.IsTooLate(op, pr.outbound.Now()):
		return outbound.Outcome{End: outbound.Undecided, Detail: upstream.Words(err)}
	case class == upstream.NotSent:
		return outbound.Outcome{End: outbound.Unreachable, Detail: upstream.Words(err)}
	case class == upstream.RateLimited, upstream.IsSilent(err):
		return pr.putOff(op, p, err)
	}
	return outbound.Outcome{End: outbound.LookupFailed, Detail: upstream.Words(err)}
}

// putOff defers an operation, for longer each time, because the upstream did not respond or limited the rate.
func (pr *Practice) putOff(op *store.Operation, p *payload, err error) outbound.Outcome {
	p.Asked++
	op.Payload = p.json()
	return outbound.Outcome{End: outbound.Deferred, Detail: upstream.Words(err),
		Wait: store.Backoff(pr.outbound.Options.Limits.Backoff, p.Asked)}
}

// findWritten looks up the GUID of an appointment that certainly exists. If it cannot be found, the appointment
// remains without one.
func (pr *Practice) findWritten(ctx context.Context, op *store.Operation, p *payload,
	a *store.Appointment) outbound.Outcome {
	list, err := pr.findUpstream(ctx, p, a)
	if err == nil && len(list) == 1 {
		return outbound.Outcome{End: outbound.Delivered, Result: list[0].GUID}
	}
	if op.Lookups++; op.Lookups >= outbound.MaxLookups {
		return outbound.Outcome{End: outbound.Delivered, Result: outbound.DoneWithoutName}
	}
	return outbound.Outcome{End: outbound.Deferred, Detail: "it was written; its GUID is not known yet",
		Wait: store.Backoff(pr.outbound.Options.Limits.Backoff, op.Lookups)}
}

// findUpstream lists the entries in the patient's list that could be this appointment. It leaves out those that belong
// to other appointments: siblings in one group session share the patient, start and column.
func (pr *Practice) findUpstream(ctx context.Context, p *payload,
	a *store.Appointment) ([]upstream.Appointment, error) {
	list, err := pr.Options.Upstream.GetAppointmentListByPatient(ctx, a.UpstreamPatientID, pr.clinic.Zone())
	if err != nil {
		return nil, err
	}
	found := p.write(a.UpstreamPatientID, pr.clinic.Zone()).Match(list)
	if len(found) == 0 {
		return nil, nil
	}
	end := p.Start.Add(time.Duration(p.Minutes) * time.Minute)
	others, _, err := pr.store.Appointments(ctx, store.AppointmentFilter{From: p.Start, To: end, Limit: 500})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(u upstream.Appointment) bool {
		return slices.ContainsFunc(others, func(o store.Appointment) bool {
			return o.ID != a.ID && upstream.EqualGUID(o.UpstreamID, u.GUID)
		})
	}), nil
}

// findResult returns the GUID of an appointment that a person has found upstream, or outbound.DoneWithoutName.
func (pr *Practice) findResult(ctx context.Context, op *store.Operation) string {
	p := payloadOf(op)
	if p.isBlank() {
		return outbound.DoneWithoutName
	}
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	a, err := pr.store.Appointment(ctx, op.AppointmentID)
	if err != nil || a.UpstreamPatientID == "" {
		return outbound.DoneWithoutName
	}
	if list, err := pr.findUpstream(ctx, &p, &a); err == nil && len(list) == 1 {
		return list[0].GUID
	}
	return outbound.DoneWithoutName
}

// withDoubt sets Doubt after an attempt with an unknown outcome, for example on a node that stopped.
func (p *payload) withDoubt(op *store.Operation) {
	if op.Unknown && p.Step != "" && !p.Doubt {
		p.Doubt = true
		op.Payload = p.json()
	}
}
