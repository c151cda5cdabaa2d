// Package account is who may come in: members of staff with their passwords and second factors, their sign-ins, the first
// set-up of a clinic, and the API keys of programs.
//
// # What is decided where
//
// argon2id runs outside of any transaction, because it takes as long as it should. What it said is then decided on inside
// one: the user is read again, compared with the one whose password was checked, the one-time code is spent, and only then is
// the sign-in made. So an account that was switched off meanwhile stays off, and a code signs in once.
//
// # Guessing
//
// A try counts before the password is looked at, by account and network (guess.go), over all nodes (nodeguess.go), and for itself where
// the browser has signed in before (device.go). Failures are in the audit log (failed.go); common passwords are refused (common.go). Only hashes of sign-in cookies and of
// API keys are stored, and they are compared in constant time.
package account

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// Account signs people and programs in. It is safe for concurrent use.
type Account struct {
	TakesIdentities func() bool // whether the staff can sign in with an identity provider now; set before anybody signs in

	// Changed promises what a member of staff is told of a change of their account, in its transaction, and returns what is to be done
	// after the commit; set before anybody signs in.
	Changed func(ctx context.Context, tx store.Tx, before, after *store.User, at time.Time) (committed func(), err error)

	store  store.Store
	log    *slog.Logger
	clinic *clinic.Clinic

	knownKeys knownKeys
	revoked   revoked
	guesses   guesses
	failed    failedSignIns
	shared    bool                // other nodes use the same store
	names     func(string) string // a keyed hash of a text, as token.Keyring.Name makes it
	passwords passwords
	adminKey  []byte // SHA-256 of the bootstrap admin key; nil if there is none
}

// New returns an Account. adminKey is a key with every scope, of at least MinAdminKey characters, or empty;
// names makes keyed hashes, and outlives the process; shared says that other nodes use the same store.
func New(s store.Store, log *slog.Logger, c *clinic.Clinic, adminKey string, names func(string) string, shared bool) (*Account, error) {
	e := &Account{store: s, log: log, clinic: c, passwords: newPasswords(), names: names, shared: shared, TakesIdentities: func() bool { return false }}
	e.Changed = func(context.Context, store.Tx, *store.User, *store.User, time.Time) (func(), error) {
		return func() {}, nil
	}
	if adminKey != "" {
		if len(adminKey) < MinAdminKey {
			return nil, fmt.Errorf("the admin key has %d characters; it needs at least %d", len(adminKey), MinAdminKey)
		}
		sum := sha256.Sum256([]byte(adminKey))
		e.adminKey = sum[:]
	}
	return e, nil
}

// ForgetKeys is called when an API key was revoked: none is known to be good any more.
func (ac *Account) ForgetKeys() { ac.knownKeys.forget() }
