// Package notice carries messages out: e-mail by SMTP or into files, and webhooks by the Standard Webhooks convention
// (https://www.standardwebhooks.com). It decides nothing about when and to whom; package engine does.
//
// An error says whether the same message may be sent again: Permanent wraps one that never will succeed. Errors are in
// words for people and carry no personal data and no secret.
package notice

import "errors"

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
