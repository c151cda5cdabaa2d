package practice

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/outbound"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Writing from the queue
//
// The queue records an attempt before anything is sent. If a recorded attempt has no outcome, the outcome is unknown,
// and it is looked up before the write is repeated. A refusal after an unknown outcome also causes a look-up, because
// the first attempt itself may have taken the slot.

// deliverWrite writes a new appointment or an appointment's new time. It is the attempt for UpstreamBook and
// UpstreamReschedule: upstream, a move creates a new appointment and ends the old one.
func (pr *Practice) deliverWrite(ctx context.Context, op *store.Operation) outbound.Outcome {
	o := pr.attemptWrite(ctx, op)
	// Another write would also have an unknown outcome, so the lane pauses.
	o.Rest = o.End == outbound.Unknown && pr.doubt.Load() > 1
	return o
}

func (pr *Practice) attemptWrite(ctx context.Context, op *store.Operation) outbound.Outcome {
	p := payloadOf(op)
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
	patient := a.UpstreamPatientID
	if p.isBlank() {
		return outbound.Outcome{End: outbound.Refused, Detail: "the person was erased, so there is nothing to write"}
	}
	if op.Unknown && p.Step == "" { // interrupted before anything was sent
		op.Unknown = false
	}
	p.withDoubt(op)
	ask := patient != "" && (op.Unknown || pr.mayBeWritten(op, &p))
	if (p.Written || ask) && pr.asks.Wait(ctx, upstream.NoBound) != nil {
		return pr.soon(op.LastError)
	}
	if p.Written {
		return pr.findWritten(ctx, op, &p, &a)
	}
	switch {
	case op.Unknown && p.Step == stepPatient && patient == "" && !isCurrent(&a, &p): // the appointment was not sent
	case op.Unknown && patient == "":
		return outbound.Outcome{
			End: outbound.Undecided,
			Detail: "it is not known whether the patient was added; check in the practice system whether the " +
				"patient and the appointment exist",
		}
	case ask:
		if o, found := pr.lookUp(ctx, op, &p, &a); found {
			return o
		}
		op.Unknown, op.Lookups, p.Checked = false, 0, pr.outbound.Started().UnixMilli()
		op.Payload = p.json()
	}
	if !isCurrent(&a, &p) {
		return outbound.Outcome{End: outbound.NotNeeded}
	}
	if patient == "" && !op.Unknown && pr.mayBeWritten(op, &p) {
		if o, ends := pr.findRolledBack(ctx, op, &p, &a); ends {
			return o
		}
	}
	if outbound.IsTooLate(op, pr.outbound.Now()) {
		return outbound.Outcome{End: outbound.Refused, Detail: tooLate}
	}
	if now, ok := pr.targetOf(&a); ok && p.Step != stepAppointment && p.Step != stepForgotten {
		p.target = now // nothing was sent under earlier GUIDs
		op.Payload = p.json()
	}
	if op.Attempts > op.MaxAttempts {
		return outbound.Outcome{End: outbound.Refused, Detail: op.LastError}
	}
	if patient == "" {
		if o, ok := pr.addPatient(ctx, op, &p, &a); !ok {
			return o
		}
	}
	return pr.sendAppointment(ctx, op, &p, a)
}

// sendAppointment waits for its turn, records the attempt, and writes.
func (pr *Practice) sendAppointment(ctx context.Context, op *store.Operation, p *payload,
	a store.Appointment) outbound.Outcome {
	if o, ok := pr.isThere(ctx, upstream.NoBound); !ok {
		return o
	}
	if o, ok := pr.makeRoom(ctx, op, p, &a); !ok {
		return o
	}
	if err := pr.Options.Pacer.Wait(ctx, upstream.NoBound); err != nil {
		return pr.soon(op.LastError)
	}
	// The appointment may have been cancelled or moved while it waited for its turn.
	a, err := pr.store.Appointment(ctx, op.AppointmentID)
	switch {
	case err != nil:
		return pr.soon(outbound.Unread(ctx))
	case !isCurrent(&a, p):
		return outbound.Outcome{End: outbound.NotNeeded}
	case a.UpstreamPatientID == "":
		return outbound.Outcome{End: outbound.Refused, Detail: "the person was erased, so there is nothing to write"}
	}
	if err := pr.begin(ctx, op, p, stepAppointment); err != nil {
		return pr.soon("the queue could not be written")
	}
	created, err := pr.Options.Upstream.SetAppointment(ctx, p.write(a.UpstreamPatientID, pr.clinic.Zone()))
	return pr.written(ctx, op, p, &a, created, err)
}

// written converts the response to SetAppointment to an outcome.
func (pr *Practice) written(ctx context.Context, op *store.Operation, p *payload, a *store.Appointment,
	created upstream.Created, err error) outbound.Outcome {
	class, reason := upstream.ClassOf(err), upstream.ReasonOf(err)
	switch class {
	case upstream.Unknown:
		pr.doubt.Add(1)
	case upstream.NotSent:
		pr.doubt.CompareAndSwap(0, 1)
	default:
		pr.doubt.Store(0)
	}
	if class != "" && class != upstream.Unknown && !p.Doubt {
		p.Step = "" // the appointment certainly does not exist
		op.Payload = p.json()
	}
	switch class {
	case "":
		if !created.LookUp {
			return outbound.Outcome{End: outbound.Delivered, Result: created.GUID}
		}
		p.Written = true
		op.Payload = p.json()
		return pr.findWritten(ctx, op, p, a)
	case upstream.RateLimited:
		return outbound.Outcome{End: outbound.Retryable, Detail: upstream.Words(err)}
	case upstream.NotSent, upstream.Misconfigured:
		return outbound.Outcome{End: outbound.Unreachable, Detail: upstream.Words(err)}
	case upstream.Refused:
		isTaken := reason == upstream.SlotTaken || reason == upstream.AlreadyBooked
		if p.Doubt && isTaken {
			if o, found := pr.lookUp(ctx, op, p, a); found {
				if o.End == outbound.LookupFailed || o.End == outbound.Unreachable || o.End == outbound.Deferred {
					o = outbound.Outcome{End: outbound.Unknown, Detail: upstream.Words(err)}
				}
				return o
			}
		}
		if isTaken {
			pr.occupancy.CloseTime(ctx, p.Specialist, a.ID, p.Start, p.Start.Add(time.Duration(p.Minutes)*time.Minute))
		}
		return outbound.Outcome{End: outbound.Refused, Detail: upstream.Words(err)}
	}
	p.Doubt = true
	op.Payload = p.json()
	return outbound.Outcome{End: outbound.Unknown, Detail: upstream.Words(err)}
}

// begin records in the queue that a write is about to be sent.
func (pr *Practice) begin(ctx context.Context, op *store.Operation, p *payload, step string) error {
	p.Step = step
	op.Payload, op.AttemptedAt = p.json(), pr.outbound.Now()
	return pr.outbound.Queue.Change(context.WithoutCancel(ctx), *op, "attempted", step)
}

// findEarlier looks up and records the GUID of the earlier time of an appointment that moves, if that time has no GUID,
// so that it can be cancelled, and returns the time as the upstream lists it. It returns nil if the time has a GUID, or
// if no earlier write took effect. If several appointments match, a person decides which of them to cancel.
func (pr *Practice) findEarlier(ctx context.Context, op *store.Operation,
	a *store.Appointment) ([]upstream.Appointment, outbound.Outcome, bool) {
	if op.Kind != store.UpstreamReschedule || a.UpstreamID != "" {
		return nil, outbound.Outcome{}, true
	}
	log, err := pr.store.Deliveries(ctx, a.ID)
	if err != nil {
		return nil, pr.soon(outbound.Unread(ctx)), false
	}
	wanted, search := pr.unnamed(ctx, log, payload{})
	if !search || wanted.isBlank() {
		return nil, outbound.Outcome{}, true
	}
	if pr.asks.Wait(ctx, upstream.NoBound) != nil {
		return nil, pr.soon(op.LastError), false
	}
	list, err := pr.findUpstream(ctx, &wanted, a)
	var answered *upstream.Error
	switch class := upstream.ClassOf(err); {
	case err != nil && !errors.As(err, &answered):
		return nil, pr.soon(outbound.Unread(ctx)), false
	case class == upstream.NotSent, class == upstream.RateLimited, upstream.IsSilent(err):
		o, ok := pr.harmless(op, err)
		return nil, o, ok
	case len(list) > 1:
		return nil, outbound.Outcome{End: outbound.Undecided, Detail: "the practice system has the appointment more " +
			"than once at its earlier time; cancel the duplicates there"}, false
	case len(list) == 0: // or the response cannot be used: the move does not wait for it
		return nil, outbound.Outcome{}, true
	}
	if pr.recordGUID(ctx, a, upstreamID, list[0].GUID) != nil {
		return nil, pr.soon("the earlier appointment could not be recorded yet"), false
	}
	return list, outbound.Outcome{}, true
}

// makeRoom cancels the old time of an appointment that moves to an overlapping time, because the upstream would
// otherwise refuse the new time.
func (pr *Practice) makeRoom(ctx context.Context, op *store.Operation, p *payload,
	a *store.Appointment) (outbound.Outcome, bool) {
	list, o, ok := pr.findEarlier(ctx, op, a)
	if !ok || a.UpstreamID == "" {
		return o, ok
	}
	var err error
	if list == nil {
		list, err = pr.Options.Upstream.GetAppointmentListByPatient(ctx, a.UpstreamPatientID, pr.clinic.Zone())
	}
	end := p.Start.Add(time.Duration(p.Minutes) * time.Minute)
	for _, old := range list {
		if upstream.EqualGUID(old.GUID, a.UpstreamID) && !old.Cancelled && old.Start.Before(end) &&
			p.Start.Before(old.Start.Add(time.Duration(max(old.Minutes, p.Minutes))*time.Minute)) {
			err = pr.Options.Upstream.SetAppointmentStatusCanceled(ctx, old.GUID)
		}
	}
	return pr.harmless(op, err)
}

// addPatient adds the patient for a booking whose patient is not in the upstream, such as a booking from the page, and
// records the GUID with the appointment. Patients cannot be looked up, so a person decides about an unknown outcome.
func (pr *Practice) addPatient(ctx context.Context, op *store.Operation, p *payload,
	a *store.Appointment) (outbound.Outcome, bool) {
	if p.Patient == "" {
		p.Patient = pr.knownPatient(ctx, a)
	}
	if p.Patient == "" {
		if err := pr.begin(ctx, op, p, stepPatient); err != nil {
			return pr.soon("the queue could not be written"), false
		}
		guid, err := pr.Options.Upstream.SetPatient(ctx, newPatientOf(&a.Patient))
		if class := upstream.ClassOf(err); class != upstream.Unknown {
			p.Step = "" // the outcome is known
			op.Payload = p.json()
		}
		switch upstream.ClassOf(err) {
		case "":
			p.Patient = guid
		case upstream.RateLimited:
			return outbound.Outcome{End: outbound.Retryable, Detail: upstream.Words(err)}, false
		case upstream.NotSent, upstream.Misconfigured:
			return outbound.Outcome{End: outbound.Unreachable, Detail: upstream.Words(err)}, false
		case upstream.Refused:
			return outbound.Outcome{End: outbound.Refused, Detail: upstream.Words(err)}, false
		default:
			return outbound.Outcome{End: outbound.Undecided, Detail: "it is not known whether the patient was added (" +
				upstream.Words(err) + "); check in the practice system whether the patient exists"}, false
		}
	}
	op.Payload = p.json()
	if pr.recordPatient(ctx, a, p.Patient) != nil {
		return pr.soon("the patient was added and could not be recorded yet"), false
	}
	return outbound.Outcome{}, true
}

// recordPatient stores the patient's upstream GUID with an appointment that does not have one.
func (pr *Practice) recordPatient(ctx context.Context, a *store.Appointment, guid string) error {
	return pr.recordGUID(ctx, a, upstreamPatientID, guid)
}

func upstreamID(a *store.Appointment) *string        { return &a.UpstreamID }
func upstreamPatientID(a *store.Appointment) *string { return &a.UpstreamPatientID }

// recordGUID stores an upstream GUID in a field of an appointment, unless the stored appointment already has one there.
func (pr *Practice) recordGUID(ctx context.Context, a *store.Appointment, field func(*store.Appointment) *string,
	guid string) error {
	err := pr.store.Write(ctx, func(tx store.Tx) error {
		now, err := tx.Appointment(ctx, a.ID)
		if err != nil || *field(&now) != "" {
			return err
		}
		*field(&now), now.UpdatedAt = guid, pr.outbound.Now()
		return tx.UpdateAppointment(ctx, now)
	})
	if err == nil {
		*field(a) = guid
	}
	return err
}

// knownPatient returns the GUID that the same person has in another appointment, or an empty string.
func (pr *Practice) knownPatient(ctx context.Context, a *store.Appointment) string {
	address := a.Patient.Email
	if address == "" {
		address = a.Patient.Phone
	}
	if address == "" {
		return ""
	}
	list, _, err := pr.store.Appointments(ctx, store.AppointmentFilter{Query: address, Limit: 100})
	if err != nil {
		return ""
	}
	for _, o := range list {
		if o.UpstreamPatientID != "" && strings.EqualFold(o.Patient.Name, a.Patient.Name) &&
			o.Patient.BirthDate == a.Patient.BirthDate &&
			strings.EqualFold(o.Patient.Email, a.Patient.Email) && o.Patient.Phone == a.Patient.Phone {
			return o.UpstreamPatientID
		}
	}
	return ""
}

// newPatientOf converts a patient to the upstream's format: the last word of the name is the last name.
func newPatientOf(p *store.Patient) upstream.NewPatient {
	n := upstream.NewPatient{FirstName: p.Name, LastName: "-", Phone: p.Phone, Email: p.Email}
	if i := strings.LastIndexByte(p.Name, ' '); i > 0 {
		n.FirstName, n.LastName = p.Name[:i], p.Name[i+1:]
	}
	n.BirthDate, _ = time.Parse(time.DateOnly, p.BirthDate) // an empty date becomes the zero time
	return n
}

// behind returns the outcome of an operation that has to wait for an earlier one for the same appointment; it returns
// nil if there is none. Operations for an appointment are delivered in the order of their changes.
func (pr *Practice) behind(ctx context.Context, op *store.Operation) *outbound.Outcome {
	o := &outbound.Outcome{End: outbound.Deferred, Detail: op.LastError, Wait: 10 * time.Second}
	list, pending, err := pr.outbound.Earlier(ctx, op, func(o *store.Operation) bool { // a comment blocks nothing
		return booking.ChannelOf(o.Kind) == "upstream" && o.Kind != store.UpstreamComment
	})
	switch {
	case err != nil:
		return o
	case pending:
		o.Wait = time.Second
		return o
	}
	for _, earlier := range list {
		switch {
		case earlier.NeedsReview:
			o.Wait = 5 * time.Minute
			return o
		case !earlier.Status.Final():
			if next := earlier.NextAttemptAt.Add(time.Second); next.After(pr.outbound.Now().Add(o.Wait)) {
				o.At = next
			}
			return o
		}
	}
	return nil
}

// soon defers an operation for 10 s because this server could not attempt it.
func (pr *Practice) soon(detail string) outbound.Outcome {
	return outbound.Outcome{End: outbound.Deferred, Detail: detail, Wait: 10 * time.Second}
}
