package account

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"

	"holdfast/engine/record"
	"holdfast/store"
)

var (
	// ErrStranger means that the identity does not belong to an active member of staff.
	ErrStranger = errors.New("no user has this identity")
	// ErrOtherIdentity means that the member of staff with this email address already has another identity of the
	// same provider and client.
	ErrOtherIdentity = errors.New("the user with this address has a different identity")
)

// Identity is a person as identified by the clinic's identity provider. All fields are verified.
type Identity struct {
	Issuer, Subject string
	ClientID        string     // the client that the issuer identified the person for
	Email           string     // verified, and in one of the clinic's domains; empty if not available
	Name            string     // the name for a new user; empty means the email address
	NewRole         store.Role // the role of a new user; if empty, unknown people are refused
	HasSecondFactor bool       // the provider has checked a second factor, so this server does not
	Code            string     // a one-time code of this server
	By              string     // the provider's name, for the audit log
	Address         string     // the network address of the browser
	UserAgent       string
}

// of returns the prefix shared by all keys for one client of an issuer. A provider may give a person a different
// subject for each client (a pairwise subject, OpenID Connect Core, 8.1; Microsoft Entra does), so a subject for
// another client identifies no user here.
func (id *Identity) of() string { return id.Issuer + " " + url.QueryEscape(id.ClientID) + " " }

// key returns the stored form of the identity.
func (id *Identity) key() string { return id.of() + id.Subject }

// mayUsePassword reports whether this user can sign in with a password. Owners can always use a password, so that an
// outage at another company cannot lock them out of their clinic. All other users can use one only while no provider is
// available, for example after a restore with other keys.
func (ac *Account) mayUsePassword(u *store.User) bool {
	p := ac.clinic.Settings().OpenID
	return p == nil || !p.OwnersOnly || u.Role == store.RoleOwner || ac.Identity.SignInWith() == ""
}

// BeginReturn counts a browser that returns from the identity provider as a failed guess from its network, under the
// same limit as failed passwords. The caller must call end with the outcome: the count remains only if the provider or
// the clinic refused the sign-in. Errors: *BackoffError.
func (ac *Account) BeginReturn(ctx context.Context, address string) (end func(refused bool), err error) {
	now, g := record.Now(), guess{byNetwork(networkOf(address))}
	if until, err := ac.beginGuess(ctx, now, g); err != nil {
		return nil, err
	} else if until.After(now) {
		return nil, &BackoffError{until}
	}
	return func(refused bool) {
		var err error
		if refused {
			err = ErrStranger
		}
		ac.endGuess(ctx, g, err)
	}, nil
}

// SignInByIdentity signs in a person whom the identity provider identified: the user who has this identity or, at the
// first sign-in, the user with the verified email address. An email address identifies an account only until the
// account has an identity of this provider and client, because the address may later belong to another person.
//
// Errors: ErrStranger, ErrOtherIdentity, ErrCodeNeeded, ErrWrongCode, *BackoffError.
func (ac *Account) SignInByIdentity(ctx context.Context, id Identity) (secret string, staff Staff, err error) {
	now := record.Now()
	g := guessOf(id.key(), id.Address)
	if id.Code != "" {
		if until, err := ac.beginGuess(ctx, now, g); err != nil {
			return "", Staff{}, err
		} else if until.After(now) {
			return "", Staff{}, &BackoffError{until}
		}
	}
	known := "" // the user's id, if there is such a user
	committed := func() {}
	secret, staff, err = ac.openSignIn(ctx, id.UserAgent, id.By, now, func(tx store.Tx) (store.User, error) {
		before, u, err := ac.identified(ctx, tx, &id)
		known = u.ID
		if err == nil && !u.Active {
			err = ErrStranger
		}
		if err == nil {
			err = mustWork(ctx, tx, &u, ErrStranger)
		}
		if err == nil && !id.HasSecondFactor {
			err = useCode(&u, id.Code, now)
		}
		if err == nil {
			committed, err = ac.hooks.UserChanged(ctx, tx, &before, &u, now)
		}
		return u, err
	})
	if id.Code != "" {
		ac.endGuess(ctx, g, err)
	}
	if errors.Is(err, ErrStranger) || errors.Is(err, ErrOtherIdentity) || errors.Is(err, ErrWrongCode) {
		ac.noteFailed(ctx, known, id.Address, err, now)
	}
	if err == nil {
		committed()
	}
	return secret, staff, err
}

// identified finds the user who has an identity, links the identity to the user with its email address, or returns a
// new user. before is the user as the transaction first read it; for a new user, its fields are zero. Errors:
// ErrStranger, ErrOtherIdentity.
func (ac *Account) identified(ctx context.Context, tx store.Tx, id *Identity) (before, u store.User, err error) {
	u, err = tx.UserByIdentity(ctx, id.key())
	if !errors.Is(err, store.ErrNotFound) {
		return u, u, err
	}
	email := normalEmail(id.Email)
	if email == "" {
		return u, u, ErrStranger
	}
	u, err = tx.UserByEmail(ctx, email)
	before = u
	action, audited := record.ActionUserLinked, any(auditedUser(&u))
	switch {
	case errors.Is(err, store.ErrNotFound) && id.NewRole != "":
		action, audited = record.ActionUserCreated, nil
		// The provider can allow longer names than this server, and line breaks.
		name := []rune(strings.Join(strings.Fields(id.Name), " "))
		name = name[:min(len(name), maxUserName)]
		u = store.User{ID: record.NewID(), Email: email, Name: cmp.Or(string(name), email),
			Role: id.NewRole, Active: true, CreatedAt: record.Now()}
		var m record.Mistakes
		ac.checkUser(&m, &u, nil)
		if m.Err() != nil {
			return before, u, ErrStranger
		}
	case errors.Is(err, store.ErrNotFound):
		return before, u, ErrStranger
	case err != nil:
		return before, u, err
	case !u.Active:
		return before, u, ErrStranger
	case strings.HasPrefix(u.Identity, id.of()):
		return before, u, ErrOtherIdentity
	}
	u.Identity = id.key()
	return before, u, record.Audit(ctx, tx, record.Now(), record.Actor("user:"+u.ID), action, "user:"+u.ID, id.By,
		audited, auditedUser(&u))
}
