package message

import (
	"context"
	"net/mail"

	"holdfast/engine/notice"
	"holdfast/engine/record"
)

// MailDelivery is what became of a mail.
type MailDelivery string

// The ways a test mail can go.
const (
	MailSent   MailDelivery = "sent"   // the mail server has taken it
	MailFile   MailDelivery = "file"   // no mail server is configured: it is an .eml file in the data directory
	MailFailed MailDelivery = "failed" // the mail server did not take it
	MailNone   MailDelivery = "none"   // this server sends no mail at all
)

// TestMail sends one message to somebody of the staff at once, past the queue, so that who asked sees what becomes of
// it. The detail says in words why it failed, and is empty otherwise.
func (ms *Messages) TestMail(ctx context.Context, to mail.Address) (MailDelivery, string) {
	mailer := ms.transport.Mailer
	if mailer == nil {
		return MailNone, ""
	}
	if err := ms.CheckSender(); err != nil {
		return MailFailed, err.Error()
	}
	err := mailer.Send(ctx, ms.TestLetter(to, ""))
	switch {
	case err != nil:
		return MailFailed, err.Error()
	case mailer.ToFiles():
		return MailFile, ""
	}
	return MailSent, ""
}

// TestLetter is a test mail to somebody of the staff, from this sender; empty: whoever mail comes from.
func (ms *Messages) TestLetter(to mail.Address, from string) notice.Mail {
	clinic := &ms.clinic.Schedule().Clinic
	words := ms.lettersFor(clinic.Locale)
	text := words.letter(to.Name, words.Fill("mail.opening.test", "clinic", clinic.Name)) + "\n"
	m := ms.letterNow(to, words.Tag, words.Fill("mail.subject.test", "clinic", clinic.Name), text)
	if from != "" {
		m.From = ms.senderOr(from)
	}
	return m
}

// sendNow sends one mail about no appointment, past the queue. Errors: those of notice.Mailer.Send.
func (ms *Messages) sendNow(ctx context.Context, to mail.Address, language, subject, text string) error {
	return ms.transport.Mailer.Send(ctx, ms.letterNow(to, language, subject, text))
}

// letterNow is one mail about no appointment.
func (ms *Messages) letterNow(to mail.Address, language, subject, text string) notice.Mail {
	return notice.Mail{
		ID: record.NewID(), To: to.Address, ToName: to.Name, From: ms.sender(), ReplyTo: ms.clinic.Schedule().Clinic.Email,
		Language: language, Subject: subject, Text: text, HTML: asHTML(language, subject, text, ""),
	}
}
