package message

import (
	"context"
	"errors"
	"net/mail"
	"time"
)

// NotifyOfBackups sends the clinic an email directly, bypassing the queue. The email states since when there has been
// no good backup, and why. NotifyOfBackups returns an error if no mail server is set or the clinic has no email
// address.
func (ms *Messages) NotifyOfBackups(ctx context.Context, since time.Time, reason string) error {
	clinic := &ms.clinic.Schedule().Clinic
	switch {
	case !ms.SendsMail():
		return errors.New("no mail server is set: use --smtp-url, or choose one in the settings")
	case clinic.Email == "":
		return errors.New("the clinic has no email address in its settings")
	}
	if err := ms.CheckSender(); err != nil {
		return err
	}
	words := ms.lettersFor(clinic.Locale)
	pairs := []string{"clinic", clinic.Name, "day", words.Day(since.In(ms.clinic.Zone())), "reason", reason}
	subject, text := words.Fill("mail.subject.backups", pairs...),
		words.letter("", words.Fill("mail.opening.backups", pairs...))+"\n"
	return ms.sendNow(ctx, mail.Address{Name: clinic.Name, Address: clinic.Email}, words.Tag, subject, text)
}
