package message

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// Emails to a member of staff about their own account, so that a takeover of the account does not go unnoticed.
const (
	mailPassword = "password_changed"
	mailCodesOff = "codes_off"
	mailCodesOn  = "codes_on"
	mailAddress  = "address_changed"
	mailIdentity = "identity_linked"

	mailHookDisabled = "webhook_disabled" // sent to each owner
)

// AccountChanged writes emails to the outbox that notify a member of staff of a change to their account. It runs in the
// transaction of that change and returns a function that the caller must run after the commit. The emails go to the
// address that the account had before the change.
func (ms *Messages) AccountChanged(ctx context.Context, tx store.Tx, before, after *store.User,
	at time.Time) (committed func(), err error) {
	var calls []booking.Promise
	add := func(name string) {
		op := ms.outbound.NewOperation(store.Email, &store.Appointment{}, at)
		op.Deadline = at.Add(ms.outbound.Options.Limits.NoticeAge)
		// Use the previous address: an attacker who takes over the account could change the address again before this
		// email is sent. Encoding strings cannot fail.
		op.Payload, _ = json.Marshal(mailPayload{Notice: name, User: before.ID, To: before.Email})
		calls = append(calls, booking.Promise{Operation: op, Notice: name})
	}
	if ms.transport.Mailer != nil && before.Email != "" {
		if after.PasswordHash != before.PasswordHash {
			add(mailPassword)
		}
		switch {
		case len(before.TOTPSecret) > 0 && len(after.TOTPSecret) == 0:
			add(mailCodesOff)
		case !bytes.Equal(before.TOTPSecret, after.TOTPSecret):
			add(mailCodesOn)
		}
		if after.Identity != "" && after.Identity != before.Identity {
			add(mailIdentity)
		}
		if !booking.SameAddress(before.Email, after.Email) {
			add(mailAddress)
		}
	}
	return func() { ms.outbound.Enqueue(calls...) }, booking.WritePromises(ctx, tx, at, calls...)
}

// deliverAccountMail writes one email to a member of staff, in the clinic's language, and sends it.
func (ms *Messages) deliverAccountMail(ctx context.Context, op *store.Operation, p *mailPayload) outbound.Outcome {
	u, err := ms.store.User(ctx, p.User)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notNeeded("the account was deleted")
	case err != nil:
		return unread(ctx)
	}
	if err := ms.CheckSender(); err != nil {
		// this is not a failed attempt: the email waits until a sender is set
		return outbound.Outcome{End: outbound.Unreachable, Detail: err.Error()}
	}
	s := ms.clinic.Current()
	words := ms.lettersFor(s.Clinic.Locale)
	pairs := []string{"clinic", s.Clinic.Name, "when", words.instant(op.CreatedAt, s.Zone, s.Zone), "you",
		words.Text("mail.account.you"), "webhook", p.Webhook}
	subject := words.Fill("mail.subject."+p.Notice, pairs...)
	text := words.letter(u.Name, words.Fill("mail.opening."+p.Notice, pairs...)) + "\n"
	o := ms.mailed(op, ms.transport.Mailer.Send(ctx, notice.Mail{
		ID: op.ID, To: cmp.Or(p.To, u.Email), ToName: u.Name, From: ms.sender(), ReplyTo: s.Clinic.Email,
		Language: words.Tag, Subject: subject, Text: text, HTML: ms.asHTML(words.Tag, subject, text),
	}))
	if o.End == outbound.Delivered {
		op.Payload, _ = json.Marshal(mailPayload{Notice: p.Notice, User: p.User})
	}
	return o
}
