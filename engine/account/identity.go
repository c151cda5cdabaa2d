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
	// ErrStranger: the identity provider vouches for somebody who may not come in here: nobody of the staff, or switched off.
	ErrStranger = errors.New("nobody of the staff has this identity")
	// ErrOtherIdentity: the address is that of a member of staff whom the same provider knows as somebody else, for the same client.
	ErrOtherIdentity = errors.New("the member of staff with this address has another identity")
)

// Identity is who somebody is to the clinic's identity provider, after all of it was found true.
type Identity struct {
	Issuer, Subject string
	ClientID        string     // for whom the issuer said it
	Email           string     // vouched for, and of a domain of the clinic; empty: it says nothing
	Name            string     //
	NewRole         store.Role // what somebody becomes whom nobody here knows; empty: they are refused
	HasSecondFactor bool       // the provider has asked for one, so ours is not asked for
	Code            string     // a one-time code of ours
	By              string     // the provider's name, for the audit log
	Address         string     // the network address it comes from
	UserAgent       string
}

// of is the beginning of all keys of one client of an issuer. A provider may call a person otherwise for each client (a pairwise subject, OpenID
// Connect Core, 8.1; Microsoft Entra does), so what it said for another client says nothing now.
func (id *Identity) of() string { return id.Issuer + " " + url.QueryEscape(id.ClientID) + " " }

// key is how a user has an identity.
func (id *Identity) key() string { return id.of() + id.Subject }

// mayUsePassword reports whether a password signs this user in. Owners come in by password whatever is chosen, so that nobody is locked out of
// a clinic by somebody else's server, and so does everybody while there is no other way in here: after a restore with other keys, say.
func (ac *Account) mayUsePassword(u *store.User) bool {
	p := ac.clinic.Settings().OpenID
	return p == nil || !p.OwnersOnly || u.Role == store.RoleOwner || ac.Identity.SignInWith() == ""
}

// BeginReturn counts a browser that returns from the identity provider as a failed guess of its network, by the limit of failed passwords.
// The caller must call end with the outcome: only a sign-in that the provider or the clinic refused stays counted. *BackoffError.
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

// SignInByIdentity signs in whom an identity provider vouches for: the user who has this identity, or, at the first time, whose address the
// provider vouches for. An address opens an account only until it has an identity of this provider and client: it may be given to somebody else later.
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
	known := "" // the user, where there is one
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

// identified finds the user who has an identity, links it to the one whose address it comes with, or creates a user. before is the user
// as the transaction found it; of one who was created it has no fields. ErrStranger, ErrOtherIdentity.
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
		u = store.User{ID: record.NewID(), Email: email, Name: cmp.Or(strings.TrimSpace(id.Name), email), Role: id.NewRole, Active: true, CreatedAt: record.Now()}
		var m record.Mistakes
		ac.checkUser(&m, &u)
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
	return before, u, record.Audit(ctx, tx, record.Now(), record.Actor("user:"+u.ID), action, "user:"+u.ID, id.By, audited, auditedUser(&u))
}
