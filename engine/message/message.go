// Package message is what patients, staff and programs are told: mail and webhooks.
//
// # Who is told what
//
// A change of an appointment promises its notices in its own transaction, as operations beside the upstream write; package
// outbound keeps the promise and calls back here to deliver it. A mail is written when it is delivered, from what the
// appointment is then, so no personal data waits in the queue. A webhook says what was decided, without the person.
//
// # One after the other
//
// What was decided first is told first: a notice waits behind an earlier one of the same appointment to the same receiver
// (order.go), or a patient would read of the cancellation before the booking. A notice that found nobody has not been tried:
// it is deferred, and ends only by its age. Mail goes to one server, so the lane of mail rests as a whole; webhooks go to many,
// and each address rests by itself.
//
// # Where to read
//
//	mail.go     which mails a change promises, and how one is delivered     letter.go    their words, in each language
//	waitlist.go mails to those who wait for a time
//	request.go  mails about a booking request                               calendar.go  the iCalendar object they carry
//	webhook.go  which webhooks a change promises, and how one is delivered  sender.go    who mail comes from
//	order.go    what waits behind what                                      mailtest.go  one mail at once, past the queue
//	backups.go  the mail about missing backups                              preview.go   a mail that is shown and not sent
//	account.go  mails to the staff about their own accounts
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
	Server *MailServer // the mail server that an owner chooses

	store     store.Store
	log       *slog.Logger
	clinic    *clinic.Clinic
	booking   *booking.Booking
	outbound  *outbound.Outbound
	transport Transport

	hookRests rests   // webhook addresses that were not reached
	posting   posting // webhook addresses that are being posted to
}

// Transport is what carries messages.
type Transport struct {
	Mailer *notice.Mailer // nil: nobody gets mail
	Hooks  *notice.Hooks  // nil: webhooks are off
	From   string         // sender address; default: the clinic's own
}

// Options configure a Messages.
type Options struct {
	Store     store.Store
	Logger    *slog.Logger
	Clinic    *clinic.Clinic
	Booking   *booking.Booking
	Outbound  *outbound.Outbound
	Transport Transport
	Keys      *token.Keys // seal the password of the mail server
}

// New returns a Messages. Without a queue it sends no notices.
func New(o Options) *Messages {
	ms := &Messages{store: o.Store, log: o.Logger, clinic: o.Clinic, booking: o.Booking, outbound: o.Outbound, transport: o.Transport}
	ms.Server = newMailServer(ms, o.Transport.Mailer, o.Keys)
	if !o.Outbound.HasQueue() {
		ms.transport.Mailer, ms.transport.Hooks = nil, nil
	}
	return ms
}

// Delivery returns how package outbound delivers emails and webhooks. It has no Attempt if this clinic sends none of that kind.
func (ms *Messages) Delivery(kind store.OperationKind) outbound.Delivery {
	switch {
	case kind == store.Email && ms.transport.Mailer != nil:
		return outbound.Delivery{Attempt: ms.deliverMail, OnTheDay: isReminder}
	case kind == store.Webhook && ms.transport.Hooks != nil:
		return outbound.Delivery{Attempt: ms.deliverHook, Awake: ms.hookRests.wakeAll}
	}
	return outbound.Delivery{}
}

// Operations returns the emails and webhooks that a change requires.
func (ms *Messages) Operations(c *booking.Change) (calls []booking.Promise) {
	if ms.transport.Mailer != nil {
		calls = ms.mailCalls(c)
	}
	if ms.transport.Hooks != nil {
		calls = append(calls, ms.hookCalls(c)...)
	}
	return calls
}
