package outbound

import (
	"context"
	"encoding/json"
	"errors"

	"holdfast/engine/booking"
	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/store"
	"time"
)

// Mails about a booking request: the one it is confirmed from, and that the desk declined it.
const (
	MailRequest  = "confirmation_request"
	MailDeclined = "request_declined"
)

// RequestMail is the mail that a booking request promises; none where no mail goes out or nobody is to get it.
func (out *Outbound) RequestMail(r *store.BookingRequest, name string, at time.Time) []booking.Promise {
	if out.Queue == nil || out.Options.Notices.Mailer == nil || r.Patient.Email == "" {
		return nil
	}
	op := out.newOperation(store.Email, asAppointment(r), at)
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
func (out *Outbound) deliverRequestMail(ctx context.Context, op *store.Operation, name string) outcome {
	r, err := out.store.BookingRequest(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return outcome{end: notNeeded, detail: "the request was confirmed, or is gone"}
	case err != nil:
		return outcome{end: retryable, detail: unread(ctx)}
	case (name == MailDeclined) != (r.Status == store.RequestDeclined):
		return outcome{end: notNeeded, detail: "the request was declined"}
	}
	a, link := asAppointment(&r), ""
	if base := out.clinic.LinkURL(); base != "" && name == MailRequest {
		link = base + "/manage#" + out.booking.ManageToken(a)
	}
	m := notice.Mail{
		ID: op.ID, To: r.Patient.Email, ToName: record.Greetable(r.Patient.Name), ReplyTo: out.clinic.Schedule().Clinic.Email, From: out.sender(),
	}
	out.writeMail(&m, name, a, link)
	return out.sent(op, out.Options.Notices.Mailer.Send(ctx, m))
}

// sent is what came of handing a mail over.
func (out *Outbound) sent(op *store.Operation, err error) outcome {
	switch {
	case err == nil && out.Options.Notices.Mailer.ToFiles():
		return outcome{end: Delivered, result: op.ID, detail: "written to a file, because no mail server is configured"}
	case err == nil:
		return outcome{end: Delivered, result: op.ID}
	case notice.IsPermanent(err):
		return outcome{end: Refused, detail: err.Error()}
	case notice.IsUnreachable(err):
		return outcome{end: unreachable, detail: err.Error()}
	}
	return outcome{end: retryable, detail: err.Error()}
}
