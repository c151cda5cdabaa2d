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

// MailMustMove tells a patient that the appointment cannot be at its time and has to be moved.
const MailMustMove = "must_move"

// mailMustCall is the opening of MailMustMove for an appointment that its link cannot change.
const mailMustCall = "must_call"

// changesOnline reports whether the link of an appointment can change its time now: not one whose type the desk approves, not a part of a
// visit, and not within the clinic's limit before its start.
func (ms *Messages) changesOnline(a *store.Appointment) bool {
	t := ms.clinic.Current().TypeOf(a.AppointmentTypeID)
	limit := time.Duration(ms.clinic.Settings().ChangeCutoffHours) * time.Hour
	return (t == nil || !t.Page.Approval) && a.VisitID == "" && time.Until(a.SlotStart) >= limit
}

// ErrNoMail: the patient has no mail address, or this server sends no mail.
var ErrNoMail = errors.New("the patient cannot be told by mail")

// AskToMove tells the patient of a confirmed appointment by mail that it has to be moved: the clinic calls, or the patient chooses
// another time with the link. Nothing about the appointment changes. It is audited.
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
		case a.Patient.Email == "" || ms.transport.Mailer == nil:
			return ErrNoMail
		}
		op := ms.outbound.NewOperation(store.Email, &a, now)
		op.Deadline = a.SlotStart
		op.Payload, _ = json.Marshal(mailPayload{Notice: MailMustMove}) // a string cannot fail
		calls = []booking.Promise{{Operation: op, Notice: MailMustMove}}
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

// Told reports which of these appointments have a mail on its way or delivered that says they have to be moved.
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
