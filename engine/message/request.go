package message

import (
	"context"
	"encoding/json"
	"errors"

	"time"

	"holdfast/engine/booking"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/store"
)

// Mails about a booking request: the one it is confirmed from, and that the desk declined it.
const (
	MailRequest  = "confirmation_request"
	MailDeclined = "request_declined"
)

// RequestMail is the mail that a booking request promises; none where no mail goes out or nobody is to get it.
func (ms *Messages) RequestMail(r *store.BookingRequest, name string, at time.Time) []booking.Promise {
	if ms.transport.Mailer == nil || r.Patient.Email == "" {
		return nil
	}
	op := ms.outbound.NewOperation(store.Email, asAppointment(r), at)
	op.Deadline = r.SlotEnd
	if name == MailRequest {
		op.Deadline = r.ExpiresAt
	}
	op.Payload, _ = json.Marshal(mailPayload{Notice: name}) // a string cannot fail
	return []booking.Promise{{Operation: op, Notice: name}}
}

// asAppointment is the appointment that a request would become.
func asAppointment(r *store.BookingRequest) *store.Appointment {
	return &store.Appointment{
		ID: r.ID, AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, SlotStart: r.SlotStart, SlotEnd: r.SlotEnd,
		Patient: r.Patient, Locale: r.Locale, CreatedAt: r.CreatedAt,
	}
}

// deliverRequestMail writes one mail from what its request is now, and sends it.
func (ms *Messages) deliverRequestMail(ctx context.Context, op *store.Operation, name string) outbound.Outcome {
	r, err := ms.store.BookingRequest(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return outbound.Outcome{End: outbound.NotNeeded, Detail: "the request was confirmed, or is gone"}
	case err != nil:
		return outbound.Outcome{End: outbound.Retryable, Detail: outbound.Unread(ctx)}
	case (name == MailDeclined) != (r.Status == store.RequestDeclined):
		return outbound.Outcome{End: outbound.NotNeeded, Detail: "the request was declined"}
	}
	a, link := asAppointment(&r), ""
	if base := ms.clinic.LinkURL(); base != "" && name == MailRequest {
		link = base + "/manage#" + ms.booking.ManageToken(a)
	}
	m := notice.Mail{
		ID: op.ID, To: r.Patient.Email, ToName: record.Greetable(r.Patient.Name), ReplyTo: ms.clinic.Schedule().Clinic.Email, From: ms.sender(),
	}
	ms.writeMail(&m, name, a, link)
	return ms.sent(op, ms.transport.Mailer.Send(ctx, m))
}

// sent is what came of handing a mail over.
func (ms *Messages) sent(op *store.Operation, err error) outbound.Outcome {
	switch {
	case err == nil && ms.transport.Mailer.ToFiles():
		return outbound.Outcome{End: outbound.Delivered, Result: op.ID, Detail: "written to a file, because no mail server is configured"}
	case err == nil:
		return outbound.Outcome{End: outbound.Delivered, Result: op.ID}
	case notice.IsPermanent(err):
		return outbound.Outcome{End: outbound.Refused, Detail: err.Error()}
	case notice.IsUnreachable(err):
		return outbound.Outcome{End: outbound.Unreachable, Detail: err.Error()}
	}
	return outbound.Outcome{End: outbound.Retryable, Detail: err.Error()}
}
