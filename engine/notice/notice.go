// Package notice carries messages out: e-mail by SMTP or into files, and webhooks by the Standard Webhooks convention
// (https://www.standardwebhooks.com). It decides nothing about when and to whom; package engine does.
//
// An error says whether the same message may be sent again: Permanent wraps one that never will succeed, Unreachable one
// that never left because nobody was there to take it. Errors are in words for people and carry no personal data and no
// secret.
package notice

import (
	"crypto/tls"
	"errors"
)

// Permanent is an error that a repeat cannot mend, such as an address that does not exist.
type Permanent struct{ Err error }

func (p *Permanent) Error() string { return p.Err.Error() }
func (p *Permanent) Unwrap() error { return p.Err }

// IsPermanent reports whether a repeat is useless.
func IsPermanent(err error) bool {
	var p *Permanent
	return errors.As(err, &p)
}

func permanent(text string) error { return &Permanent{errors.New(text)} }

// Unreachable is an error from before anything of the message was sent: no name, no route, nobody who listens, no answer
// in time.
type Unreachable struct{ Err error }

func (u *Unreachable) Error() string { return u.Err.Error() }
func (u *Unreachable) Unwrap() error { return u.Err }

// IsUnreachable reports whether nothing was sent, because the far side was not there.
func IsUnreachable(err error) bool {
	var u *Unreachable
	return errors.As(err, &u)
}

// isTLS reports whether somebody was there and the two did not agree how to encrypt.
func isTLS(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		plain       tls.RecordHeaderError
		alert       tls.AlertError
	)
	return errors.As(err, &certificate) || errors.As(err, &plain) || errors.As(err, &alert)
}
