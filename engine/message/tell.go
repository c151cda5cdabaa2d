package message

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/store"
)

// MailMustMove notifies a patient that the appointment must move to another time.
const MailMustMove = "must_move"

// mailMustCall names the texts of MailMustMove for an appointment that the patient cannot change with the link.
const mailMustCall = "must_call"

// ChangesOnline reports whether the patient can currently change an appointment's time with its link. It returns false
// if messages contain no links, if the type needs the desk's approval, or if the clinic's cut-off before the start has
// passed. For a group visit, which only moves as a whole, that applies to all of its people, and they must have the
// same contact details. It also returns false if the visit cannot be read.
func (ms *Messages) ChangesOnline(ctx context.Context, a *store.Appointment) bool {
	if ms.clinic.LinkURL() == "" {
		return false
	}
	list := []store.Appointment{*a}
	if a.VisitID != "" {
		var err error
		list, _, err = ms.store.Appointments(ctx, store.AppointmentFilter{VisitID: a.VisitID, Status: store.Confirmed})
		if err != nil || len(list) == 0 {
			return false
		}
	}
	return !ms.booking.PastCutOff(time.Now(), list...) && !slices.ContainsFunc(list, func(x store.Appointment) bool {
		return ms.booking.AsksDesk(&x) || x.ID != a.ID && !booking.SameContact(&x.Patient, &a.Patient)
	})
}

// ErrNoMail means that the patient receives neither emails nor text messages, or that this server does not send any.
var ErrNoMail = errors.New("the patient cannot be notified by email")

// CanWrite reports whether the patient of an appointment can be notified by email or text message.
func (ms *Messages) CanWrite(a *store.Appointment) bool {
	return ms.Channel(a) != ""
}

// Channel returns the channel by which a message about an appointment reaches its patient. An empty result means that
// no message reaches the patient.
func (ms *Messages) Channel(a *store.Appointment) store.MessageChannel {
	switch {
	case ms.canMail(a):
		return store.ChannelEmail
	case ms.smsNumber(a) != "":
		return store.ChannelSMS
	}
	return ""
}

func (ms *Messages) canMail(a *store.Appointment) bool {
	return a.Patient.Email != "" && ms.transport.Mailer != nil
}

// MustMoveMail returns the MailMustMove email and text message about an appointment, to be sent at due. It returns no
// messages if the patient cannot be notified.
func (ms *Messages) MustMoveMail(a *store.Appointment, at, due time.Time) (calls []booking.Promise) {
	payload := mailPayload{Notice: MailMustMove, Specialist: a.SpecialistID}
	if ms.canMail(a) {
		op := ms.outbound.NewOperation(store.Email, a, at)
		op.NextAttemptAt, op.Deadline = due, a.SlotStart
		op.Payload, _ = json.Marshal(payload) // encoding strings cannot fail
		calls = append(calls, booking.Promise{Operation: op, Notice: MailMustMove})
	}
	if ms.smsNumber(a) != "" {
		calls = append(calls, ms.smsCall(a, payload, at, due, a.SlotStart))
	}
	return calls
}

// hasMoved reports whether an appointment that had to be moved has been moved since its message was queued.
func (p *mailPayload) hasMoved(op *store.Operation, a *store.Appointment) bool {
	return p.Notice == MailMustMove &&
		(!a.SlotStart.Equal(op.StartTime) || p.Specialist != "" && a.SpecialistID != p.Specialist)
}

// The user-facing reasons why a message about an appointment in the past is not sent.
const (
	alreadyStarted = "the appointment has already started"
	alreadyOver    = "the appointment is already over"
	missedReminder = "the appointment started before the reminder could be sent"
)

// missed returns the reason why a message that could not be attempted before its deadline, such as while the server was
// off, is no longer needed: a reminder, or a message to a person who has been erased. Other messages fail, because
// nothing else tells the patient.
func missed(op *store.Operation) string {
	if isErased(op) {
		return recipientErased
	}
	var p mailPayload
	if err := json.Unmarshal(op.Payload, &p); err != nil || p.Notice != mailReminder {
		return ""
	}
	return missedReminder
}

// isPast returns the reason why a message about appointments in the past must no longer be sent, or an empty reason if
// it can be sent. A reminder, and a message that an appointment must be moved, end at its start. A message with which
// the patient could still find the appointment, such as a confirmation, ends when the last appointment is over: the
// desk also books patients whose appointment has begun. A cancellation is always sent, because it shows that the
// patient was not expected. Such a message has its end as a deadline, but a retry by a person removes the deadline.
func (p *mailPayload) isPast(list []store.Appointment, now time.Time) string {
	switch p.Notice {
	case mailReminder, MailMustMove:
		if !list[0].SlotStart.After(now) {
			return alreadyStarted
		}
	case mailConfirmation, mailReschedule, mailNewAddress, mailFailed, mailSeries, mailSeriesMoved:
		if !slices.ContainsFunc(list, func(a store.Appointment) bool { return a.SlotEnd.After(now) }) {
			return alreadyOver
		}
	}
	return ""
}

// AskToMove notifies the patient by email and text message that a confirmed appointment must be moved: the clinic will
// call, or the patient can choose another time with the link. The appointment itself does not change. AskToMove writes
// an audit entry.
//
// Errors: store.ErrNotFound, record.ErrNotConfirmed, ErrNoMail.
func (ms *Messages) AskToMove(ctx context.Context, id string, actor record.Actor, once *record.Once) error {
	if !record.ValidID(id) {
		return store.ErrNotFound
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	var calls []booking.Promise
	err := ms.store.Write(ctx, func(tx store.Tx) error {
		a, err := tx.Appointment(ctx, id)
		switch {
		case err != nil:
			return err
		case a.Status != store.Confirmed:
			return record.ErrNotConfirmed
		case !ms.CanWrite(&a):
			return ErrNoMail
		}
		calls = ms.MustMoveMail(&a, now, now)
		if err := booking.WritePromises(ctx, tx, now, calls...); err != nil {
			return err
		}
		err = record.Audit(ctx, tx, now, actor, record.ActionAppointmentTold, "appointment:"+a.ID, "", nil, nil)
		if err != nil {
			return err
		}
		return once.Remember(ctx, tx, a, now)
	})
	if err == nil {
		ms.outbound.Enqueue(calls...)
	}
	return err
}

// Told reports, by id, for which of these appointments a message that asks the patient to move has been queued or
// delivered, by email or text message.
func (ms *Messages) Told(ctx context.Context, list []store.Appointment) (map[string]bool, error) {
	told := make(map[string]bool)
	for i := range list {
		if list[i].Patient.Email == "" && !list[i].Intake.SMS {
			continue
		}
		deliveries, err := ms.store.Deliveries(ctx, list[i].ID)
		if err != nil {
			return nil, err
		}
		for _, d := range deliveries {
			if d.Notice == MailMustMove && d.State != "failed" {
				told[list[i].ID] = true
			}
		}
	}
	return told, nil
}
