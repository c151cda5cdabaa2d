package message

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/store"
)

// MailMustMove notifies a patient that the appointment must move to another time.
const MailMustMove = "must_move"

// mailMustCall is the opening of MailMustMove for an appointment that the patient cannot change with the link.
const mailMustCall = "must_call"

// changesOnline reports whether the patient can change the time of an appointment with its link now. It is false if
// the desk approves the type, for a part of a group visit, and within the clinic's limit before the start.
func (ms *Messages) changesOnline(a *store.Appointment) bool {
	t := ms.clinic.Current().TypeOf(a.AppointmentTypeID)
	return (t == nil || !t.Page.Approval) && a.VisitID == "" && !ms.booking.PastCutOff(a, time.Now())
}

// ErrNoMail: the patient has no email address, or this server sends no email.
var ErrNoMail = errors.New("the patient cannot be notified by email")

// CanMail reports whether this server sends emails and the patient of an appointment has an address.
func (ms *Messages) CanMail(a *store.Appointment) bool {
	return a.Patient.Email != "" && ms.transport.Mailer != nil
}

// MustMoveMail returns the email MailMustMove about an appointment, to be sent at due. It returns none if the patient
// cannot be notified by email.
func (ms *Messages) MustMoveMail(a *store.Appointment, at, due time.Time) []booking.Promise {
	if !ms.CanMail(a) {
		return nil
	}
	op := ms.outbound.NewOperation(store.Email, a, at)
	op.NextAttemptAt, op.Deadline = due, a.SlotStart
	op.Payload, _ = json.Marshal(mailPayload{Notice: MailMustMove}) // a string cannot fail
	return []booking.Promise{{Operation: op, Notice: MailMustMove}}
}

// AskToMove notifies the patient of a confirmed appointment by email that it must move: the clinic calls, or the
// patient chooses another time with the link. The appointment stays unchanged. AskToMove writes an audit entry.
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
		case !ms.CanMail(&a):
			return ErrNoMail
		}
		calls = ms.MustMoveMail(&a, now, now)
		if err := booking.WritePromises(ctx, tx, now, calls...); err != nil {
			return err
		}
		if err := record.Audit(ctx, tx, now, actor, record.ActionAppointmentTold, "appointment:"+a.ID, "", nil, nil); err != nil {
			return err
		}
		return once.Remember(ctx, tx, a, now)
	})
	if err == nil {
		ms.outbound.Enqueue(calls...)
	}
	return err
}

// Told reports for which of these appointments an email that asks the patient to move is queued or delivered.
func (ms *Messages) Told(ctx context.Context, list []store.Appointment) (map[string]bool, error) {
	told := make(map[string]bool)
	for i := range list {
		if list[i].Patient.Email == "" {
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
