// Package account decides who may sign in. It manages staff members (their passwords, second factors and sign-ins), the
// initial setup of a clinic, and the API keys of programs.
//
// # Checks and transactions
//
// argon2id runs outside any transaction because it is deliberately slow. A transaction then acts on the result: it
// reads the user again, compares it with the user whose password was checked, marks the one-time code as used, and only
// then creates the sign-in. So an account that was deactivated in the meantime cannot sign in, and a code works only
// once.
//
// # Guessing
//
// The server counts an attempt before it checks the password: per account and network (guess.go), across all nodes
// (nodeguess.go), and separately for a browser that has signed in before (device.go). It records failures in the audit
// log (failed.go) and refuses common passwords (common.go). The store contains only hashes of sign-in cookies and of
// API keys. The hashes of the bootstrap admin key and of the setup token are compared in constant time.
package account

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/openid"
	"holdfast/engine/timed"
	"holdfast/engine/token"
	"holdfast/store"
)

// Account signs in people and authenticates programs. It is safe for concurrent use.
type Account struct {
	Identity *Identities // sign-ins with an identity provider

	store  store.Store
	log    *slog.Logger
	clinic *clinic.Clinic
	keys   *token.Keys
	hooks  Hooks

	// usedTickets holds the nonces of used stream tickets, each for as long as its ticket is valid.
	usedTickets *timed.Map[[12]byte, struct{}]

	knownKeys knownKeys
	revoked   revoked
	guesses   guesses
	failed    failedSignIns
	shared    bool // other nodes use the same store
	passwords passwords
	adminKey  []byte // SHA-256 of the bootstrap admin key; nil if there is none
}

// Hooks are functions of higher-level packages that are called when an account changes. All of them are required.
type Hooks struct {
	// UserChanged runs in the transaction that creates or changes a staff member and writes the notification emails.
	// The caller must call committed after the commit.
	UserChanged func(ctx context.Context, tx store.Tx, before, after *store.User,
		at time.Time) (committed func(), err error)
}

// Options are the parameters of New.
type Options struct {
	Store  store.Store
	Logger *slog.Logger
	Clinic *clinic.Clinic
	// for sealing the secret of the identity provider, and for hashing names for the sign-in limits
	Keys     *token.Keys
	AdminKey string         // a key with every scope, of at least MinAdminKey characters; empty means none
	OpenID   *openid.Client // nil means a client that trusts the machine's certificate authorities
	Shared   bool           // other nodes use the same store
	Hooks    Hooks

	QuickPasswords bool // for tests: hash passwords with little work
}

// New returns an Account. It fails if the admin key is too short.
func New(o Options) (*Account, error) {
	cost := argonNow
	if o.QuickPasswords {
		cost = argonQuick
	}
	ac := &Account{
		store: o.Store, log: o.Logger, clinic: o.Clinic, keys: o.Keys, hooks: o.Hooks, shared: o.Shared,
		passwords:   newPasswords(cost),
		usedTickets: timed.NewMap[[12]byte, struct{}](token.StreamTicketTTL, maxUsedTickets),
	}
	if o.AdminKey != "" {
		if len(o.AdminKey) < MinAdminKey {
			return nil, fmt.Errorf("the admin key has %d characters; it needs at least %d", len(o.AdminKey),
				MinAdminKey)
		}
		sum := sha256.Sum256([]byte(o.AdminKey))
		ac.adminKey = sum[:]
	}
	if o.OpenID == nil {
		o.OpenID = openid.NewClient(nil)
	}
	ac.Identity = &Identities{
		store: o.Store, log: o.Logger, clinic: o.Clinic, account: ac, client: o.OpenID, keys: o.Keys,
		choice: o.Clinic.OpenID(o.Keys), calling: make(chan struct{}, 8),
	}
	return ac, nil
}

// ForgetKeys empties the cache of API keys, so that each key is read from the store at its next use. The follower calls
// it after a key has been revoked.
func (ac *Account) ForgetKeys() { ac.knownKeys.forget() }
