package message

import (
	"context"
	"net/mail"

	"holdfast/engine/notice"
	"holdfast/engine/record"
)

// MailDelivery is the result of sending an email.
type MailDelivery string

// The results of a test email.
const (
	MailSent   MailDelivery = "sent"   // the mail server has accepted it
	MailFile   MailDelivery = "file"   // no mail server is configured; the email is an .eml file in the data directory
	MailFailed MailDelivery = "failed" // the mail server did not accept it, or no sender is set
	MailNone   MailDelivery = "none"   // this server sends no email
)

// TestMail sends one message to a member of staff directly, bypassing the queue, so that the caller sees the result.
// The second result is the reason for a failure, or empty.
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

// TestLetter returns a test email to a member of staff from the given sender. An empty sender means the usual one.
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

// sendNow sends one email that is not about an appointment, bypassing the queue. Errors: those of notice.Mailer.Send.
func (ms *Messages) sendNow(ctx context.Context, to mail.Address, language, subject, text string) error {
	return ms.transport.Mailer.Send(ctx, ms.letterNow(to, language, subject, text))
}

// letterNow returns one email that is not about an appointment.
func (ms *Messages) letterNow(to mail.Address, language, subject, text string) notice.Mail {
	return notice.Mail{
		ID: record.NewID(), To: to.Address, ToName: to.Name, From: ms.sender(),
		ReplyTo: ms.clinic.Schedule().Clinic.Email, Language: language, Subject: subject, Text: text,
		HTML: ms.asHTML(language, subject, text, ""),
	}
}
