// Package message notifies patients, staff and programs: it writes and delivers emails, text messages and webhooks.
//
// # Who gets which notice
//
// The transaction that changes an appointment also writes its notices to the outbox, as operations alongside the
// upstream write. Package outbound runs the operations and calls back here to deliver them. An email is written at
// delivery time, from its appointment's current state, so the only personal data in the queue is an earlier address
// (mailPayload.To). A webhook contains the decision, without personal data.
//
// # Order
//
// Notices are delivered in the order of the decisions: a notice waits behind an earlier one about the same appointment
// to the same receiver (order.go). Otherwise, a patient could read about the cancellation before the booking. A notice
// whose receiver was unreachable does not count as attempted: it is deferred, and the server gives up only when the
// notice is too old. All emails go to one mail server, so the email lane pauses as a whole. Webhooks go to many
// servers, so each address pauses separately.
//
// # Where to read
//
//	mail.go     which emails a change requires, and their delivery    letter.go    their texts, in each language
//	sms.go      which text messages a change requires, and their delivery    smstext.go  their texts
//	waitlist.go emails to people on the waiting list
//	recall.go   the message that it is time for the next visit
//	request.go  emails about a booking request                        calendar.go  their iCalendar object
//	webhook.go  which webhooks a change requires, and their delivery  sender.go    the sender of emails
//	order.go    which notice waits behind which                       mailtest.go  one email past the queue
//	backups.go  the email about missing backups                       preview.go   an email that is shown and not sent
//	account.go  emails to staff about their own accounts
package message

import (
	"log/slog"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/engine/token"
	"holdfast/store"
)

// Messages notifies people and programs. It is safe for concurrent use.
type Messages struct {
	Server  *MailServer // the mail server that an owner chooses
	Gateway *SMSGateway // the SMS gateway that an owner chooses

	store     store.Store
	log       *slog.Logger
	clinic    *clinic.Clinic
	booking   *booking.Booking
	outbound  *outbound.Outbound
	transport Transport

	hookRests rests   // webhook addresses that are paused because they were unreachable
	posting   posting // webhook addresses with a call in progress
}

// Transport sends messages.
type Transport struct {
	Mailer *notice.Mailer // nil means that no email is sent
	Texter *notice.Texter // nil means that no text message is sent
	Hooks  *notice.Hooks  // nil means that webhooks are off
	From   string         // sender address; default: the clinic's own
}

// Options are the parameters of New.
type Options struct {
	Store     store.Store
	Logger    *slog.Logger
	Clinic    *clinic.Clinic
	Booking   *booking.Booking
	Outbound  *outbound.Outbound
	Transport Transport
	Keys      *token.Keys // for sealing the password of the mail server and the secret of the SMS gateway
}

// New returns a Messages. Without a queue, it sends no notices.
func New(o Options) *Messages {
	ms := &Messages{store: o.Store, log: o.Logger, clinic: o.Clinic, booking: o.Booking, outbound: o.Outbound,
		transport: o.Transport}
	ms.Server = newMailServer(ms, o.Transport.Mailer, o.Keys)
	ms.Gateway = newSMSGateway(ms, o.Transport.Texter, o.Keys)
	if !o.Outbound.HasQueue() {
		ms.transport.Mailer, ms.transport.Texter, ms.transport.Hooks = nil, nil, nil
	}
	return ms
}

// Delivery returns the functions that package outbound calls to deliver emails, text messages or webhooks. Attempt is
// nil if this clinic sends none of that kind.
func (ms *Messages) Delivery(kind store.OperationKind) outbound.Delivery {
	switch {
	case kind == store.Email && ms.transport.Mailer != nil:
		return outbound.Delivery{Attempt: ms.deliverMail, OnTheDay: ms.isOnTheDay, Missed: missed}
	case kind == store.SMS && ms.transport.Texter != nil:
		return outbound.Delivery{Attempt: ms.deliverSMS, OnTheDay: ms.isOnTheDay, Missed: missed,
			Forgotten: forgottenSMS}
	case kind == store.Webhook && ms.transport.Hooks != nil:
		return outbound.Delivery{Attempt: ms.deliverHook, Awake: ms.hookRests.wakeAll}
	}
	return outbound.Delivery{}
}

// Operations returns the emails, text messages and webhooks required by a change.
func (ms *Messages) Operations(c *booking.Change) (calls []booking.Promise) {
	if ms.transport.Mailer != nil {
		calls = ms.mailCalls(c)
	}
	calls = append(calls, ms.smsCalls(c)...)
	calls = append(calls, ms.recallCalls(c)...)
	if ms.transport.Hooks != nil {
		calls = append(calls, ms.hookCalls(c)...)
	}
	return calls
}
