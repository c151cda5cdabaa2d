package message

import (
	"cmp"
	"errors"
	"net/mail"
	"strings"
)

// noSender is the sender of mail that only becomes files: nobody can answer it, and no mail server should take it.
const noSender = "no-reply@holdfast.invalid"

// errNoSender: a mail server would be given mail from an address that is nobody's.
var errNoSender = errors.New("mail has no sender: start with --mail-from and an address of the clinic, or give the clinic an e-mail address in the settings")

// sender is who mail comes from: as the server was started, else as its owner chose with the mail server, else the clinic's own address.
func (ms *Messages) sender() mail.Address {
	if chosen := ms.clinic.Settings().Mail; chosen != nil && ms.transport.Mailer != nil && ms.transport.Mailer.Given() == nil {
		return ms.senderOr(cmp.Or(ms.transport.From, chosen.From))
	}
	return ms.senderOr(ms.transport.From)
}

// senderOr is who mail comes from if it is from whom it says; empty: from the clinic.
func (ms *Messages) senderOr(said string) mail.Address {
	clinic := &ms.clinic.Schedule().Clinic
	from := mail.Address{Name: clinic.Name, Address: said}
	if parsed, err := mail.ParseAddress(from.Address); err == nil {
		from.Address = parsed.Address
		from.Name = cmp.Or(parsed.Name, from.Name)
	}
	from.Address = cmp.Or(from.Address, clinic.Email, noSender)
	return from
}

// SenderFromStart is who mail comes from as the server was started; empty: that was not said.
func (ms *Messages) SenderFromStart() string { return ms.transport.From }

// Sender is who mail comes from, as a mail program writes it, and who says so: start, choice or clinic. Both are empty where nobody does.
func (ms *Messages) Sender() (address, from string) {
	by := ms.sender()
	chosen := ms.clinic.Settings().Mail
	switch {
	case isNobody(by.Address):
		return "", ""
	case ms.transport.From != "":
		return by.String(), "start"
	case chosen != nil && chosen.From != "" && ms.transport.Mailer != nil && ms.transport.Mailer.Given() == nil:
		return by.String(), "choice"
	}
	return by.String(), "clinic"
}

// isNobody reports whether an address is below .invalid (RFC 2606).
func isNobody(address string) bool { return strings.HasSuffix(strings.ToLower(address), ".invalid") }

// CheckSender returns an error with its remedy if a mail server is set and mail would come from nobody. An address below
// .invalid (RFC 2606) is nobody's.
func (ms *Messages) CheckSender() error {
	if ms.SendsMail() && isNobody(ms.sender().Address) {
		return errNoSender
	}
	return nil
}
