package message

import (
	"context"
	"encoding/json"
	"errors"

	"time"

	"holdfast/engine/booking"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// Emails about a booking request: one with the link to confirm the request, one saying that it was received, and one
// saying that it was declined.
const (
	MailRequest  = "confirmation_request"
	MailReceived = "request_received" // the desk decides about the request
	MailDeclined = "request_declined"
	MailProposed = "request_proposed" // the desk proposes another time
	mailAsking   = "staff_request"    // to the clinic: a request is waiting for a decision
	// MailLapsed notifies the clinic that a request expired undecided. The patient gets MailDeclined at the same time.
	MailLapsed = "staff_request_lapsed"
)

// RequestMail returns the emails that a booking request requires, or none if this server sends no email or there is no
// recipient. For MailReceived and MailLapsed, the clinic also gets an email. For MailProposed, the patient also gets a
// text message if they agreed to text messages.
func (ms *Messages) RequestMail(r *store.BookingRequest, name string, at time.Time) (calls []booking.Promise) {
	add := func(name string) {
		op := ms.outbound.NewOperation(store.Email, ms.asAppointment(r), at)
		op.Deadline = r.SlotEnd
		if name != MailDeclined && name != MailLapsed {
			op.Deadline = r.ExpiresAt
		}
		op.Payload, _ = json.Marshal(mailPayload{Notice: name}) // encoding strings cannot fail
		calls = append(calls, booking.Promise{Operation: op, Notice: name})
	}
	toPatient, toClinic := name, ""
	switch name {
	case MailReceived:
		toClinic = mailAsking
	case MailLapsed:
		toPatient, toClinic = MailDeclined, MailLapsed
	}
	isMailed := ms.transport.Mailer != nil
	if isMailed && r.Patient.Email != "" {
		add(toPatient)
	}
	if name == MailProposed {
		a := ms.asAppointment(r)
		if ms.smsNumber(a) != "" {
			calls = append(calls, ms.smsCall(a, mailPayload{Notice: name}, at, at, r.ExpiresAt))
		}
	}
	if isMailed && toClinic != "" && ms.clinic.Schedule().Clinic.Email != "" {
		add(toClinic)
	}
	return calls
}

// toStaff reports whether an email goes to the clinic.
func toStaff(name string) bool { return name == mailStaff || name == mailAsking || name == MailLapsed }

// asAppointment returns the appointment that a request would become.
func (ms *Messages) asAppointment(r *store.BookingRequest) *store.Appointment {
	return &store.Appointment{
		ID: r.ID, AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, SlotStart: r.SlotStart,
		SlotEnd: r.SlotEnd, Patient: r.Patient, Intake: r.Intake, Locale: r.Locale, CreatedAt: r.CreatedAt,
		Place: ms.clinic.Current().PlaceAt(r.SpecialistID, r.SlotStart),
	}
}

// outdated reports whether the desk has proposed another time since this email or text message about an open request
// was queued.
func outdated(r *store.BookingRequest, op *store.Operation, name string) bool {
	switch name {
	case MailProposed:
		return !r.SlotStart.Equal(op.StartTime)
	case MailRequest, MailReceived, mailAsking:
		return !r.WantedStart.IsZero()
	}
	return false
}

// deliverRequestSMS writes the text message about a proposed time, and sends it.
func (ms *Messages) deliverRequestSMS(ctx context.Context, op *store.Operation, name string) outbound.Outcome {
	r, err := ms.store.BookingRequest(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notNeeded("the request was confirmed or deleted")
	case err != nil:
		return unread(ctx)
	case r.Status != store.RequestOpen || outdated(&r, op, name):
		return notNeeded("the request was declined, or another time was proposed")
	}
	a, link := ms.asAppointment(&r), ""
	number := ms.smsNumber(a)
	if number == "" && ms.SendsSMS() {
		return notNeeded("the patient no longer receives text messages")
	}
	if base := ms.clinic.LinkURL(); base != "" {
		link = base + "/m#" + ms.booking.ShortManageToken(a)
	}
	letter := smsLetter{notice: MailProposal, about: a, link: link, until: r.ExpiresAt}
	return sent(op, ms.transport.Texter.Send(ctx, number, ms.writeSMS(letter)))
}

// deliverRequestMail writes one email based on the current state of its request, and sends it.
func (ms *Messages) deliverRequestMail(ctx context.Context, op *store.Operation, name string) outbound.Outcome {
	r, err := ms.store.BookingRequest(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notNeeded("the request was confirmed or deleted")
	case err != nil:
		return unread(ctx)
	case outdated(&r, op, name):
		return notNeeded("another time was proposed")
	case (name == MailDeclined || name == MailLapsed) != (r.Status == store.RequestDeclined):
		return notNeeded("the request was declined")
	}
	a, link, at := ms.asAppointment(&r), "", mailTimes{}
	switch {
	case name == MailRequest, name == MailProposed:
		at = mailTimes{until: r.ExpiresAt, was: r.WantedStart}
	case name == MailDeclined && !r.WantedStart.IsZero(): // the email is about the time that the patient asked for
		a.SlotStart, a.SlotEnd = r.WantedStart, r.WantedStart.Add(r.SlotEnd.Sub(r.SlotStart))
	}
	hasLink := name == MailRequest || name == MailReceived || name == MailProposed
	if base := ms.clinic.LinkURL(); base != "" && hasLink {
		link = base + "/manage#" + ms.booking.ManageToken(a)
	}
	if name == MailDeclined {
		link = ms.bookingLink(a)
	}
	clinic := &ms.clinic.Schedule().Clinic
	m := ms.mailTo(op, &r.Patient)
	if toStaff(name) {
		m.To, m.ToName = clinic.Email, clinic.Name
	}
	if m.To == "" {
		return notNeeded("no recipient")
	}
	ms.writeMailAt(&m, name, a, link, at)
	return ms.mailed(op, ms.transport.Mailer.Send(ctx, m))
}

// mailed converts the result of sending an email to an outcome.
func (ms *Messages) mailed(op *store.Operation, err error) outbound.Outcome {
	if err == nil && ms.transport.Mailer.ToFiles() {
		return outbound.Outcome{End: outbound.Delivered, Result: op.ID,
			Detail: "written to a file, because no mail server is configured"}
	}
	return sent(op, err)
}
