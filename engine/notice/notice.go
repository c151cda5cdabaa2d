// Package notice sends messages: emails over SMTP or into files, and webhooks according to Standard Webhooks
// (https://www.standardwebhooks.com). Package engine decides when to send a message, and to whom.
//
// An error shows whether the same message may be sent again. Permanent wraps an error for a message that can never be
// delivered. Unreachable wraps an error for a message that was never sent because the server could not be reached.
// Error texts are user-facing and contain neither personal data nor secrets.
package notice

import (
	"crypto/tls"
	"errors"
)

// Permanent is an error that a retry cannot fix, such as a nonexistent address.
type Permanent struct{ Err error }

func (p *Permanent) Error() string { return p.Err.Error() }
func (p *Permanent) Unwrap() error { return p.Err }

// IsPermanent reports whether a retry is useless.
func IsPermanent(err error) bool {
	var p *Permanent
	return errors.As(err, &p)
}

func permanent(text string) error { return &Permanent{errors.New(text)} }

// Unreachable is an error that occurred before any part of the message was sent: an unknown host name, no route, a
// refused connection, or no response in time.
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
