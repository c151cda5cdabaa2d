package message

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/store"
)

// A recall reminds a patient, some months after an appointment, that it is time for the next visit. The appointment
// stores when (store.Appointment.RecallAt), and one operation in the queue waits for that day. It is an email, or a
// text message if the patient has no email address and agreed to text messages. Nothing is sent if the recall has been
// withdrawn, or if the person already has a coming appointment of the same type.

// mailRecall is the name of the message in the delivery log. mailRecallCall is its opening line if the patient cannot
// book the type online.
const (
	mailRecall     = "recall"
	mailRecallCall = "recall_call"
)

const (
	// recallHour is the hour, in the clinic's local time, at which recalls are sent.
	recallHour = 10
	// maxRecall is the maximum number of days from today to the day of a recall.
	maxRecall = 3 * 366
	// recallAge is how long after its day a recall can still be sent if the receiver was unreachable.
	recallAge = 14 * 24 * time.Hour
	// maxNamesakes is the maximum number of appointments that are searched for a person's coming ones.
	maxNamesakes = 10_000
)

// ErrRecallOff means that the clinic does not let patients ask for a recall.
var ErrRecallOff = errors.New("patients cannot ask for a recall")

// RecallRequest sets or withdraws the recall of an appointment.
type RecallRequest struct {
	ID        string
	Version   int64      // the version of the appointment that the caller has read; 0 means any
	Date      store.Date // the day of the message, the clinic's; the zero value withdraws the recall
	ByPatient bool       // the patient asks; the clinic's settings must allow it
	Actor     record.Actor
	Once      *record.Once // the result that it stores is a store.Appointment
}

// Recall sets the day on which an appointment's patient is reminded of the next visit, in place of any earlier day.
// With the zero Date, it withdraws the recall, also for a cancelled appointment and if the clinic no longer allows
// recalls. A recall survives a move and a cancellation of its appointment. Its day must be after that of the
// appointment: until then, the person has a coming appointment, so nothing would be sent.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrRecallOff, ErrNoMail, record.ErrNotConfirmed, *ValidationError.
func (ms *Messages) Recall(ctx context.Context, r RecallRequest) (store.Appointment, error) {
	at, err := ms.recallAt(&r)
	if err != nil {
		return store.Appointment{}, err
	}
	return ms.booking.SetRecall(ctx, r.ID, r.Version, at, r.Actor, r.Once,
		func(tx store.Tx, a *store.Appointment, now time.Time) error {
			switch {
			case at.IsZero():
			case r.ByPatient && !ms.clinic.Settings().OnlineRecall:
				return ErrRecallOff
			case a.Status != store.Confirmed:
				return record.ErrNotConfirmed
			case store.DateOf(a.SlotStart.In(ms.clinic.Zone())).DaysUntil(r.Date) < 1:
				return record.Invalid("date", "must be after the day of the appointment")
			case !ms.CanWrite(a):
				return ErrNoMail
			}
			return withdrawRecall(ctx, tx, a.ID, now)
		})
}

// recallAt returns the instant of a recall, or the zero time if the request withdraws it. Errors: *ValidationError.
func (ms *Messages) recallAt(r *RecallRequest) (time.Time, error) {
	if r.Date == (store.Date{}) {
		return time.Time{}, nil
	}
	zone := ms.clinic.Zone()
	switch days := store.DateOf(time.Now().In(zone)).DaysUntil(r.Date); {
	case days < 1:
		return time.Time{}, record.Invalid("date", "must be a day after today")
	case days > maxRecall:
		return time.Time{}, record.Invalid("date", "must be at most %d days ahead", maxRecall)
	}
	return time.Date(r.Date.Year, r.Date.Month, r.Date.Day, recallHour, 0, 0, 0, zone).UTC(), nil
}

// withdrawRecall removes the message of an appointment's earlier recall from the outbox. A lane that finds the message
// in the queue completes it.
func withdrawRecall(ctx context.Context, tx store.Tx, appointmentID string, now time.Time) error {
	list, err := tx.Deliveries(ctx, appointmentID)
	if err != nil {
		return err
	}
	for _, d := range list {
		if d.Notice != mailRecall || d.State != booking.DeliveryQueued {
			continue
		}
		if err := tx.Fulfil(ctx, d.OperationID); err != nil {
			return err
		}
		d.State, d.Detail, d.UpdatedAt = outbound.DeliveryNotNeeded, recallWithdrawn, now
		if err := tx.PutDelivery(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// recallWithdrawn is the user-facing reason why a recall is not sent.
const recallWithdrawn = "the recall was withdrawn"

// recallCalls returns the message of a recall if the change sets the recall, or gives the patient another channel.
func (ms *Messages) recallCalls(c *booking.Change) []booking.Promise {
	a, channel := c.After, ms.Channel(c.After)
	isSet := c.Before != nil && !a.RecallAt.Equal(c.Before.RecallAt)
	isRerouted := c.Kind == booking.ChangePatientData && channel != ms.Channel(c.Before)
	if !isSet && !isRerouted || !a.RecallAt.After(c.At) || channel == "" {
		return nil
	}
	kind := store.Email
	if channel == store.ChannelSMS {
		kind = store.SMS
	}
	op := ms.outbound.NewOperation(kind, a, c.At)
	op.NextAttemptAt, op.Deadline = a.RecallAt, a.RecallAt.Add(recallAge)
	op.Payload, _ = json.Marshal(mailPayload{Notice: mailRecall, Due: a.RecallAt}) // encoding strings cannot fail
	return []booking.Promise{{Operation: op, Notice: mailRecall}}
}

// deliverRecall writes the email or the text message of a recall, and sends it. It sends nothing if the person has a
// coming appointment of the same type: the reminder would only confuse.
func (ms *Messages) deliverRecall(ctx context.Context, op *store.Operation, p *mailPayload) outbound.Outcome {
	a, err := ms.store.Appointment(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notNeeded("the appointment was deleted")
	case err != nil:
		return unread(ctx)
	case !a.RecallAt.Equal(p.Due):
		return notNeeded(recallWithdrawn)
	case op.Kind == store.Email && a.Patient.Email == "", op.Kind == store.SMS && ms.canMail(&a),
		op.Kind == store.SMS && ms.SendsSMS() && ms.smsNumber(&a) == "":
		return notNeeded("the patient has other contact details now")
	}
	if o := ms.behindNotice(ctx, op); o != nil {
		return *o
	}
	if ms.isReminded(ctx, op, p) {
		return notNeeded(alreadyReminded)
	}
	switch booked, err := ms.isBookedAgain(ctx, &a); {
	case err != nil:
		return unread(ctx)
	case booked:
		return notNeeded("the patient already has an appointment")
	}
	if op.Kind == store.SMS {
		return ms.sendRecallSMS(ctx, op, &a)
	}
	if err := ms.CheckSender(); err != nil {
		return senderless(err)
	}
	m := ms.mailTo(op, &a.Patient)
	ms.writeMail(&m, mailRecall, &a, ms.bookingLink(&a))
	return ms.mailed(op, ms.transport.Mailer.Send(ctx, m))
}

// sendRecallSMS sends the text message of a recall. The address of the booking page contains the type, which must not
// be visible on a locked screen, so the link opens the page of the earlier appointment. That page leads to the booking
// page.
func (ms *Messages) sendRecallSMS(ctx context.Context, op *store.Operation, a *store.Appointment) outbound.Outcome {
	if at := quietUntil(ms.outbound.Now(), ms.clinic.Zone(), quietTo); !at.IsZero() {
		return outbound.Outcome{End: outbound.Deferred, At: at, Detail: "no reminder is sent at night"}
	}
	link := ""
	if base := ms.clinic.LinkURL(); base != "" && ms.bookingLink(a) != "" {
		link = base + "/m#" + ms.booking.RecallToken(a)
	}
	text := ms.writeSMS(smsLetter{notice: mailRecall, about: a, link: link})
	return sent(op, ms.transport.Texter.Send(ctx, ms.smsNumber(a), text))
}

// isBookedAgain reports whether the person in an appointment has a coming one of the same type.
func (ms *Messages) isBookedAgain(ctx context.Context, a *store.Appointment) (bool, error) {
	of, now := a.Patient.Identity(), ms.outbound.Now()
	all, err := ms.store.AppointmentsNamed(ctx, store.Fold(of.Name), "", maxNamesakes)
	return slices.ContainsFunc(all, func(x store.Appointment) bool {
		who := x.Patient.Identity()
		return x.Status == store.Confirmed && x.AppointmentTypeID == a.AppointmentTypeID && x.SlotStart.After(now) &&
			(who == of || who.Is(&of))
	}), err
}

// bookingLink returns the address at which a patient books the type of an appointment again, with the same specialist
// if the specialist still offers it. It returns "" if the type cannot be booked online, or no address is set.
func (ms *Messages) bookingLink(a *store.Appointment) string {
	s := ms.clinic.Current()
	base, t := ms.clinic.LinkURL(), s.Types[a.AppointmentTypeID]
	if base == "" || t == nil || !t.Active || t.Page.DeskOnly {
		return ""
	}
	v := url.Values{"type": {t.ID}}
	if servesAgain(s, a) {
		v.Set("specialist", a.SpecialistID)
	}
	return base + "/?" + v.Encode()
}

// servesAgain reports whether an appointment's specialist still serves its type.
func servesAgain(s *clinic.Schedule, a *store.Appointment) bool {
	p, t := s.SpecialistByID[a.SpecialistID], s.Types[a.AppointmentTypeID]
	return p != nil && p.Active && t != nil && t.IsServedBy(a.SpecialistID)
}
