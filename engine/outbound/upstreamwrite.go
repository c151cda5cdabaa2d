package outbound

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Writing upstream from the queue
//
// Before anything is sent, the attempt is recorded in the queue; what was recorded and has no outcome is unknown. An
// unknown outcome is looked up before the write is repeated, and a refusal that follows one is looked up as well: the
// one who took the slot may have been our own first try.

// deliverWrite brings a new appointment upstream, or the new time of one. It is the attempt of UpstreamBook and
// UpstreamReschedule: a move is a new appointment there, and the end of the old one.
func (out *Outbound) deliverWrite(ctx context.Context, op *store.Operation) Outcome {
	p := payloadOf(op)
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
	patient := a.UpstreamPatientID
	if p.blank() {
		return Outcome{End: Refused, Detail: "the person was erased, so there is nothing to write"}
	}
	if op.Unknown && p.Step == "" { // interrupted before anything was sent
		op.Unknown = false
	}
	doubted(op, &p)
	ask := patient != "" && (op.Unknown || out.mayBeWritten(op, &p))
	if (p.Written || ask) && out.asks.Wait(ctx, upstream.NoBound) != nil {
		return out.soon(op.LastError)
	}
	if p.Written {
		return out.findWritten(ctx, op, &p, &a)
	}
	switch {
	case op.Unknown && p.Step == stepPatient && patient == "" && !wanted(&a, &p): // the appointment itself was never sent
	case op.Unknown && patient == "":
		return Outcome{End: undecided, Detail: "it is not known whether the patient was added; see in the practice system whether patient and appointment are there"}
	case ask:
		if o, found := out.lookUp(ctx, op, &p, &a); found {
			return o
		}
		op.Unknown, op.Lookups, p.Checked = false, 0, out.started.UnixMilli()
		op.Payload = p.json()
	}
	if !wanted(&a, &p) {
		return Outcome{End: NotNeeded}
	}
	if patient == "" && !op.Unknown && out.mayBeWritten(op, &p) {
		if o, ends := out.findRolledBack(ctx, op, &p, &a); ends {
			return o
		}
	}
	if tooLate(op, out.Now()) {
		return Outcome{End: Refused, Detail: tooLateDetail}
	}
	if now, ok := out.targetOf(&a); ok && p.Step != stepAppointment && p.Step != stepForgotten {
		p.target = now // nothing was sent under what the upstream was believed to call it before
		op.Payload = p.json()
	}
	if op.Attempts > op.MaxAttempts {
		return Outcome{End: Refused, Detail: op.LastError}
	}
	if patient == "" {
		if o, ok := out.addPatient(ctx, op, &p, &a); !ok {
			return o
		}
	}
	return out.sendAppointment(ctx, op, &p, a)
}

// sendAppointment waits for its turn, records the attempt, and writes.
func (out *Outbound) sendAppointment(ctx context.Context, op *store.Operation, p *upstreamPayload, a store.Appointment) Outcome {
	if o, ok := out.isThere(ctx, upstream.NoBound); !ok {
		return o
	}
	if o, ok := out.makeRoom(ctx, op, p, &a); !ok {
		return o
	}
	if err := out.Options.Pacer.Wait(ctx, upstream.NoBound); err != nil {
		return out.soon(op.LastError)
	}
	// It may have been cancelled or moved while it stood in line.
	a, err := out.store.Appointment(ctx, op.AppointmentID)
	switch {
	case err != nil:
		return out.soon(Unread(ctx))
	case !wanted(&a, p):
		return Outcome{End: NotNeeded}
	case a.UpstreamPatientID == "":
		return Outcome{End: Refused, Detail: "the person was erased, so there is nothing to write"}
	}
	if err := out.begin(ctx, op, p, stepAppointment); err != nil {
		return out.soon("the queue could not be written")
	}
	created, err := out.Options.Upstream.SetAppointment(ctx, p.write(a.UpstreamPatientID, out.clinic.Zone()))
	return out.written(ctx, op, p, &a, created, err)
}

// written says what the answer to a SetAppointment means.
func (out *Outbound) written(ctx context.Context, op *store.Operation, p *upstreamPayload, a *store.Appointment, created upstream.Created, err error) Outcome {
	class, reason := upstream.ClassOf(err), upstream.ReasonOf(err)
	switch class {
	case upstream.Unknown:
		out.doubt.Add(1)
	case upstream.NotSent:
		out.doubt.CompareAndSwap(0, 1)
	default:
		out.doubt.Store(0)
	}
	if class != "" && class != upstream.Unknown && !p.Doubt {
		p.Step = "" // it is certain that nothing is there
		op.Payload = p.json()
	}
	switch class {
	case "":
		if !created.LookUp {
			return Outcome{End: Delivered, Result: created.GUID}
		}
		p.Written = true
		op.Payload = p.json()
		return out.findWritten(ctx, op, p, a)
	case upstream.RateLimited:
		return Outcome{End: Retryable, Detail: upstream.Words(err)}
	case upstream.NotSent, upstream.Misconfigured:
		return Outcome{End: Unreachable, Detail: upstream.Words(err)}
	case upstream.Refused:
		isTaken := reason == upstream.SlotTaken || reason == upstream.AlreadyBooked
		if p.Doubt && isTaken {
			if o, found := out.lookUp(ctx, op, p, a); found {
				if o.End == lookupFailed || o.End == Unreachable || o.End == Deferred {
					o = Outcome{End: unknown, Detail: upstream.Words(err)}
				}
				return o
			}
		}
		if isTaken {
			out.booking.CloseTime(ctx, p.Specialist, a.ID, p.Start, p.Start.Add(time.Duration(p.Minutes)*time.Minute))
		}
		return Outcome{End: Refused, Detail: upstream.Words(err)}
	}
	p.Doubt = true
	op.Payload = p.json()
	return Outcome{End: unknown, Detail: upstream.Words(err)}
}

// begin records in the queue that a write is about to be sent.
func (out *Outbound) begin(ctx context.Context, op *store.Operation, p *upstreamPayload, step string) error {
	p.Step = step
	op.Payload, op.AttemptedAt = p.json(), out.Now()
	return out.Queue.Change(context.WithoutCancel(ctx), *op, "attempted", step)
}

// makeRoom cancels the old time of an appointment that moves onto a part of it: the upstream would refuse the new one.
func (out *Outbound) makeRoom(ctx context.Context, op *store.Operation, p *upstreamPayload, a *store.Appointment) (Outcome, bool) {
	if a.UpstreamID == "" {
		return Outcome{}, true
	}
	list, err := out.Options.Upstream.GetAppointmentListByPatient(ctx, a.UpstreamPatientID, out.clinic.Zone())
	end := p.Start.Add(time.Duration(p.Minutes) * time.Minute)
	for _, old := range list {
		if upstream.EqualGUID(old.GUID, a.UpstreamID) && !old.Cancelled && old.Start.Before(end) &&
			p.Start.Before(old.Start.Add(time.Duration(max(old.Minutes, p.Minutes))*time.Minute)) {
			err = out.Options.Upstream.SetAppointmentStatusCanceled(ctx, old.GUID)
		}
	}
	return out.harmless(op, err)
}

// addPatient makes the patient of a booking that came without one, such as a web visitor's, and records the GUID with
// the appointment. There is no way to look a patient up: an unknown outcome is for people to decide.
func (out *Outbound) addPatient(ctx context.Context, op *store.Operation, p *upstreamPayload, a *store.Appointment) (Outcome, bool) {
	if p.Patient == "" {
		p.Patient = out.knownPatient(ctx, a)
	}
	if p.Patient == "" {
		if err := out.begin(ctx, op, p, stepPatient); err != nil {
			return out.soon("the queue could not be written"), false
		}
		guid, err := out.Options.Upstream.SetPatient(ctx, newPatientOf(&a.Patient))
		if class := upstream.ClassOf(err); class != upstream.Unknown {
			p.Step = "" // whatever became of it is known
			op.Payload = p.json()
		}
		switch upstream.ClassOf(err) {
		case "":
			p.Patient = guid
		case upstream.RateLimited:
			return Outcome{End: Retryable, Detail: upstream.Words(err)}, false
		case upstream.NotSent, upstream.Misconfigured:
			return Outcome{End: Unreachable, Detail: upstream.Words(err)}, false
		case upstream.Refused:
			return Outcome{End: Refused, Detail: upstream.Words(err)}, false
		default:
			return Outcome{End: undecided, Detail: "it is not known whether the patient was added (" + upstream.Words(err) + "); see in the practice system whether the patient is there"}, false
		}
	}
	op.Payload = p.json()
	if out.recordPatient(ctx, a, p.Patient) != nil {
		return out.soon("the patient was added and could not be recorded yet"), false
	}
	return Outcome{}, true
}

// recordPatient stores the upstream's GUID of the patient with an appointment that has none.
func (out *Outbound) recordPatient(ctx context.Context, a *store.Appointment, guid string) error {
	err := out.store.Write(ctx, func(tx store.Tx) error {
		now, err := tx.Appointment(ctx, a.ID)
		if err != nil || now.UpstreamPatientID != "" {
			return err
		}
		now.UpstreamPatientID, now.UpdatedAt = guid, out.Now()
		return tx.UpdateAppointment(ctx, now)
	})
	if err == nil {
		a.UpstreamPatientID = guid
	}
	return err
}

// knownPatient is the GUID that the same person was given for another appointment, or nothing.
func (out *Outbound) knownPatient(ctx context.Context, a *store.Appointment) string {
	address := a.Patient.Email
	if address == "" {
		address = a.Patient.Phone
	}
	if address == "" {
		return ""
	}
	list, _, err := out.store.Appointments(ctx, store.AppointmentFilter{Query: address, Limit: 100})
	if err != nil {
		return ""
	}
	for _, o := range list {
		if o.UpstreamPatientID != "" && strings.EqualFold(o.Patient.Name, a.Patient.Name) && o.Patient.BirthDate == a.Patient.BirthDate &&
			strings.EqualFold(o.Patient.Email, a.Patient.Email) && o.Patient.Phone == a.Patient.Phone {
			return o.UpstreamPatientID
		}
	}
	return ""
}

// newPatientOf is the person as the upstream wants them: the last word of the name is the last name.
func newPatientOf(p *store.Patient) upstream.NewPatient {
	n := upstream.NewPatient{FirstName: p.Name, LastName: "-", Phone: p.Phone, Email: p.Email}
	if i := strings.LastIndexByte(p.Name, ' '); i > 0 {
		n.FirstName, n.LastName = p.Name[:i], p.Name[i+1:]
	}
	n.BirthDate, _ = time.Parse(time.DateOnly, p.BirthDate) // none is the zero time
	return n
}

// behind says until when an operation stands behind an earlier one of the same appointment: what was decided first
// happens first.
func (out *Outbound) behind(ctx context.Context, op *store.Operation) (time.Time, bool) {
	now := out.Now()
	list, pending, err := out.Earlier(ctx, op, func(o *store.Operation) bool { // a comment blocks nothing
		return booking.ChannelOf(o.Kind) == "upstream" && o.Kind != store.UpstreamComment
	})
	switch {
	case err != nil:
		return now.Add(10 * time.Second), true
	case pending:
		return now.Add(time.Second), true
	}
	for _, o := range list {
		switch {
		case o.NeedsReview:
			return now.Add(5 * time.Minute), true
		case !o.Status.Final():
			at := now.Add(10 * time.Second)
			if next := o.NextAttemptAt.Add(time.Second); next.After(at) {
				at = next
			}
			return at, true
		}
	}
	return time.Time{}, false
}

// soon puts an operation off for a moment, because something of our own did not work.
func (out *Outbound) soon(detail string) Outcome {
	return Outcome{End: Deferred, Detail: detail, At: out.Now().Add(10 * time.Second)}
}

// Unread says why an attempt could not be begun: its appointment was not read.
func Unread(ctx context.Context) string {
	if ctx.Err() != nil {
		return "the server stopped before it was tried"
	}
	return "the database could not be read"
}
