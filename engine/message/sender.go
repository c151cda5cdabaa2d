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

// sender is who mail comes from: as the server was started, else the clinic's own address.
func (ms *Messages) sender() mail.Address {
	clinic := &ms.clinic.Schedule().Clinic
	from := mail.Address{Name: clinic.Name, Address: ms.transport.From}
	if parsed, err := mail.ParseAddress(from.Address); err == nil {
		from.Address = parsed.Address
		from.Name = cmp.Or(parsed.Name, from.Name)
	}
	from.Address = cmp.Or(from.Address, clinic.Email, noSender)
	return from
}

// CheckSender returns an error with its remedy if a mail server is set and mail would come from nobody. An address below
// .invalid (RFC 2606) is nobody's.
func (ms *Messages) CheckSender() error {
	if ms.SendsMail() && strings.HasSuffix(strings.ToLower(ms.sender().Address), ".invalid") {
		return errNoSender
	}
	return nil
}
