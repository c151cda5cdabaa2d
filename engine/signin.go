package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"sync"
	"time"

	"holdfast/store"
)

// A sign-in ends after SignInIdle without a request, and after SignInLife at the latest.
const (
	SignInIdle = 8 * time.Hour
	SignInLife = 7 * 24 * time.Hour
)

var (
	// ErrWrongPassword: no such account, a wrong password, or an account that is switched off. It does not say which.
	ErrWrongPassword = errors.New("e-mail address or password is wrong")
	// ErrCodeNeeded: the password is right and the account asks for a one-time code.
	ErrCodeNeeded = errors.New("a one-time code is needed")
	// ErrWrongCode: the one-time code is wrong or was used.
	ErrWrongCode = errors.New("the one-time code is wrong or was used already")
)

// BackoffError says that too many sign-ins failed for this account or from this address.
type BackoffError struct{ Until time.Time }

func (e *BackoffError) Error() string { return "too many failed sign-ins" }

// Staff is a signed-in member of staff.
type Staff struct {
	store.User
	SignIn store.SignIn
}

// Actor names the member of staff in the audit log.
func (s *Staff) Actor() Actor { return Actor("user:" + s.User.ID) }

// Credentials are what a member of staff types, and from where.
type Credentials struct {
	Email, Password, Code string
	Address               string // the network address it comes from
	UserAgent             string
}

// SignIn checks a member of staff and returns the secret for the browser's cookie, which is not kept. Failures are
// slowed down per account and per address.
//
// Errors: ErrWrongPassword, ErrCodeNeeded, ErrWrongCode, *BackoffError.
func (e *Engine) SignIn(ctx context.Context, c Credentials) (secret string, staff Staff, err error) {
	now := e.now()
	email := normalEmail(c.Email)
	account, address := "account "+email, "address "+c.Address
	if until := e.failures.until(now, account, address); until.After(now) {
		return "", Staff{}, &BackoffError{until}
	}
	u, err := e.checkedUser(ctx, email, c, now)
	switch {
	case errors.Is(err, ErrWrongPassword) || errors.Is(err, ErrWrongCode):
		e.failures.add(now, account, address)
		return "", Staff{}, err
	case err != nil:
		return "", Staff{}, err
	}
	e.failures.clear(account)
	raw := make([]byte, 32)
	rand.Read(raw)
	secret = base64.RawURLEncoding.EncodeToString(raw)
	if len(c.UserAgent) > 300 {
		c.UserAgent = c.UserAgent[:300]
	}
	u.LastSignInAt = now
	s := store.SignIn{
		ID: newID(), Hash: sha256.Sum256([]byte(secret)), UserID: u.ID, CreatedAt: now, LastSeenAt: now, ExpiresAt: now.Add(SignInIdle), UserAgent: c.UserAgent,
	}
	err = e.store.Write(ctx, func(tx store.Tx) error {
		if err := tx.PutUser(ctx, u); err != nil {
			return err
		}
		if err := tx.InsertSignIn(ctx, s); err != nil {
			return err
		}
		return audit(ctx, tx, now, Actor("user:"+u.ID), "user.signed_in", "user:"+u.ID, "", nil, nil)
	})
	return secret, Staff{u, s}, err
}

// checkedUser returns the user whose password and code are right, with the code's step used up.
func (e *Engine) checkedUser(ctx context.Context, email string, c Credentials, now time.Time) (store.User, error) {
	u, err := e.store.UserByEmail(ctx, email)
	known := err == nil && u.Active
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return u, err
	}
	phc := e.passwords.decoy
	if known {
		phc = u.PasswordHash
	}
	password := c.Password
	if len(password) > MaxPassword {
		password = ""
	}
	right, err := e.passwords.verify(ctx, phc, password)
	switch {
	case err != nil:
		return u, err
	case !known || !right:
		return u, ErrWrongPassword
	case u.TOTPSecret == nil:
		return u, nil
	case c.Code == "":
		return u, ErrCodeNeeded
	}
	step, ok := checkTOTP(u.TOTPSecret, c.Code, u.TOTPLastStep, now)
	if !ok {
		return u, ErrWrongCode
	}
	u.TOTPLastStep = step
	return u, nil
}

// CheckPassword answers nil if this is the user's password now. Failures count as failed sign-ins. ErrWrongPassword,
// *BackoffError.
func (e *Engine) CheckPassword(ctx context.Context, u *store.User, password, address string) error {
	now := e.now()
	keys := []string{"account " + u.Email, "address " + address}
	if until := e.failures.until(now, keys...); until.After(now) {
		return &BackoffError{until}
	}
	right := len(password) <= MaxPassword
	if right {
		var err error
		if right, err = e.passwords.verify(ctx, u.PasswordHash, password); err != nil {
			return err
		}
	}
	if !right {
		e.failures.add(now, keys...)
		return ErrWrongPassword
	}
	return nil
}

// SignedIn returns the member of staff whose cookie this is. ErrUnauthorized if it is unknown, has expired, or the
// account was switched off.
func (e *Engine) SignedIn(ctx context.Context, secret string) (Staff, error) {
	s, u, err := e.store.SignInByHash(ctx, sha256.Sum256([]byte(secret)))
	now := e.now()
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Staff{}, ErrUnauthorized
	case err != nil:
		return Staff{}, err
	case !u.Active || !now.Before(s.ExpiresAt) || !now.Before(s.CreatedAt.Add(SignInLife)):
		return Staff{}, ErrUnauthorized
	}
	if now.Sub(s.LastSeenAt) > time.Minute {
		s.LastSeenAt, s.ExpiresAt = now, now.Add(SignInIdle)
		if limit := s.CreatedAt.Add(SignInLife); s.ExpiresAt.After(limit) {
			s.ExpiresAt = limit
		}
		err := e.store.Write(ctx, func(tx store.Tx) error { return tx.TouchSignIn(ctx, s.ID, s.LastSeenAt, s.ExpiresAt) })
		if err != nil {
			e.log.Warn("the activity of a sign-in was not recorded", "error", err)
		}
	}
	return Staff{u, s}, nil
}

// SignOut ends one sign-in. It is idempotent.
func (e *Engine) SignOut(ctx context.Context, signInID string) error {
	return e.store.Write(ctx, func(tx store.Tx) error { return tx.DeleteSignIn(ctx, signInID) })
}

// SignIns lists the signed-in browsers of one user, newest first.
func (e *Engine) SignIns(ctx context.Context, userID string) ([]store.SignIn, error) {
	return e.store.SignIns(ctx, userID)
}

// failures slows down guessing: after freeFailures wrong tries each further one doubles the wait. It is memory only, so a
// restart forgives.
type failures struct {
	mu  sync.Mutex
	all map[string]failure
}

type failure struct {
	count int
	last  time.Time
}

const (
	freeFailures = 5
	maxBackoff   = 15 * time.Minute
	maxFailures  = 10_000
)

func (f *failures) until(now time.Time, keys ...string) (latest time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		x := f.all[key]
		if x.count < freeFailures {
			continue
		}
		wait := min(time.Second<<min(x.count-freeFailures, 20), maxBackoff)
		if until := x.last.Add(wait); until.After(latest) {
			latest = until
		}
	}
	return latest
}

func (f *failures) add(now time.Time, keys ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil || len(f.all) > maxFailures {
		f.all = make(map[string]failure)
	}
	for _, key := range keys {
		x := f.all[key]
		if now.Sub(x.last) > maxBackoff {
			x.count = 0
		}
		f.all[key] = failure{x.count + 1, now}
	}
}

func (f *failures) clear(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, key)
}
