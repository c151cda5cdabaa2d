package message

import (
	"cmp"
	"errors"
	"net/mail"
	"strings"
)

// noSender is the sender of emails that are only written to files: it cannot receive replies, and no mail server
// should accept it.
const noSender = "no-reply@holdfast.invalid"

// errNoSender means that the mail server would receive emails from a sender address that does not exist.
var errNoSender = errors.New(
	"emails have no sender: set --mail-from, or enter the clinic's email address in the settings")

// sender returns the sender of emails: the one set at startup, or else the one that the owner chose with the mail
// server, or else the clinic's address.
func (ms *Messages) sender() mail.Address {
	if chosen := ms.clinic.Settings().Mail; chosen != nil && ms.transport.Mailer != nil &&
		ms.transport.Mailer.Given() == nil {
		return ms.senderOr(cmp.Or(ms.transport.From, chosen.From))
	}
	return ms.senderOr(ms.transport.From)
}

// senderOr returns the given sender or, if it is empty, the clinic's.
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

// SenderFromStart returns the sender set at startup, or an empty string if none was set.
func (ms *Messages) SenderFromStart() string { return ms.transport.From }

// Sender returns the sender of emails in the form that mail programs write, and its source: start, choice or clinic.
// Both are empty if no sender is set.
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

// isNobody reports whether an address is in the domain .invalid (RFC 2606).
func isNobody(address string) bool { return strings.HasSuffix(strings.ToLower(address), ".invalid") }

// CheckSender returns an error that describes the remedy if a mail server is set but there is no usable sender. An
// address in the domain .invalid (RFC 2606) is not usable.
func (ms *Messages) CheckSender() error {
	if ms.SendsMail() && isNobody(ms.sender().Address) {
		return errNoSender
	}
	return nil
}
