// Package notice sends messages: emails by SMTP or into files, and webhooks by the Standard Webhooks convention
// (https://www.standardwebhooks.com). Package engine decides when and to whom.
//
// An error shows whether the same message may be sent again. Permanent wraps an error of a message that can never
// succeed. Unreachable wraps an error of a message that was never sent because the server could not be reached. Error
// texts are for people and contain no personal data and no secret.
package notice

import (
	"crypto/tls"
	"errors"
)

// Permanent is an error that a retry cannot fix, such as an address that does not exist.
type Permanent struct{ Err error }

func (p *Permanent) Error() string { return p.Err.Error() }
func (p *Permanent) Unwrap() error { return p.Err }

// IsPermanent reports whether a retry is useless.
func IsPermanent(err error) bool {
	var p *Permanent
	return errors.As(err, &p)
}

func permanent(text string) error { return &Permanent{errors.New(text)} }

// Unreachable is an error from before any part of the message was sent: an unknown host name, no route, a refused
// connection, or no answer in time.
type Unreachable struct{ Err error }

func (u *Unreachable) Error() string { return u.Err.Error() }
func (u *Unreachable) Unwrap() error { return u.Err }

// IsUnreachable reports whether nothing was sent because the server was unreachable.
func IsUnreachable(err error) bool {
	var u *Unreachable
	return errors.As(err, &u)
}

// isTLS reports whether the server was reached but the TLS handshake failed.
func isTLS(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		plain       tls.RecordHeaderError
		alert       tls.AlertError
	)
	return errors.As(err, &certificate) || errors.As(err, &plain) || errors.As(err, &alert)
}
