package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"sync"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// A sign-in ends after SignInIdle without a request, and after SignInLife at the latest.
const (
	SignInIdle = 8 * time.Hour
	SignInLife = 7 * 24 * time.Hour
)

var (
	// ErrWrongPassword means that there is no such account, that the password is wrong, or that the account is
	// deactivated. The error does not reveal which.
	ErrWrongPassword = errors.New("email address or password is wrong")
	// ErrCodeNeeded means that the password is right, but the account needs a one-time code.
	ErrCodeNeeded = errors.New("a one-time code is required")
	// ErrPasswordOff means that the password is right, but only owners can sign in with a password here.
	ErrPasswordOff = errors.New("only owners can sign in with a password")
	// ErrWrongCode means that the one-time code is wrong or was already used.
	ErrWrongCode = errors.New("the one-time code is wrong or has already been used")
)

// BackoffError reports that too many sign-ins have failed for this account or from this network. Until is the earliest
// time of the next attempt.
type BackoffError struct{ Until time.Time }

func (e *BackoffError) Error() string { return "too many failed sign-ins" }

// Staff is a signed-in member of staff.
type Staff struct {
	store.User
	SignIn store.SignIn
}

// Actor returns the name of the member of staff in the audit log.
func (s *Staff) Actor() record.Actor { return record.Actor("user:" + s.User.ID) }

// Credentials contains the input of a member of staff who signs in, and details of the browser that sent it.
type Credentials struct {
	Email, Password, Code string
	Address               string // the network address of the browser
	Device                string // the device token of the browser, if it has one
	UserAgent             string
}

// SignIn checks the credentials of a staff member and returns the secret for the browser's cookie, which the server
// does not store. Failed attempts are slowed down per account and network, and separately for a browser that has signed
// in before.
//
// Errors: ErrWrongPassword, ErrPasswordOff, ErrCodeNeeded, ErrWrongCode, *BackoffError.
func (ac *Account) SignIn(ctx context.Context, c Credentials) (secret string, staff Staff, err error) {
	now := record.Now()
	email := normalEmail(c.Email)
	guess := guessOf(email, c.Address)
	if device := ac.device(email, c.Device); device != "" {
		guess = guessByDevice(email, device)
	}
	if until, err := ac.beginGuess(ctx, now, guess); err != nil {
		return "", Staff{}, err
	} else if until.After(now) {
		return "", Staff{}, &BackoffError{until}
	}
	u, err := ac.knownPassword(ctx, email, c.Password)
	if err == nil && !ac.mayUsePassword(&u) {
		err = ErrPasswordOff
	}
	if err == nil {
		secret, staff, err = ac.openSignIn(ctx, c.UserAgent, "", now, func(tx store.Tx) (store.User, error) {
			found, err := unchangedUser(ctx, tx, &u)
			if err == nil {
				err = mustWork(ctx, tx, &found, ErrWrongPassword)
			}
			if err == nil {
				err = useCode(&found, c.Code, now)
			}
			return found, err
		})
	}
	ac.endGuess(ctx, guess, err)
	if errors.Is(err, ErrWrongPassword) || errors.Is(err, ErrWrongCode) {
		ac.noteFailed(ctx, u.ID, c.Address, err, now)
	}
	return secret, staff, err
}

// openSignIn creates a sign-in for the user that the function who returns. who runs in the same transaction, because
// the account may have been deactivated or changed during the slow password check. who also checks the one-time code,
// and the transaction records the code's time step as used. So if several sign-ins use the same code, exactly one
// succeeds. by is the name of the identity provider that identified the user. If by is empty, this server identified
// the user.
func (ac *Account) openSignIn(ctx context.Context, userAgent, by string, now time.Time,
	who func(store.Tx) (store.User, error)) (secret string, staff Staff, err error) {
	raw := make([]byte, 32)
	rand.Read(raw)
	secret = base64.RawURLEncoding.EncodeToString(raw)
	userAgent = store.CutText(store.Text(userAgent), maxUserAgent)
	s := store.SignIn{
		ID: record.NewID(), Hash: sha256.Sum256([]byte(secret)), CreatedAt: now, LastSeenAt: now,
		ExpiresAt: now.Add(SignInIdle), UserAgent: userAgent,
	}
	var u store.User
	err = ac.store.Write(ctx, func(tx store.Tx) error {
		var err error
		if u, err = who(tx); err != nil {
			return err
		}
		u.LastSignInAt, s.UserID = now, u.ID
		if err := tx.PutUser(ctx, u); err != nil {
			return err
		}
		if err := tx.InsertSignIn(ctx, s); err != nil {
			return err
		}
		return record.Audit(ctx, tx, now, record.Actor("user:"+u.ID), record.ActionUserSignedIn, "user:"+u.ID, by, nil,
			nil)
	})
	if err != nil {
		return "", Staff{}, err
	}
	return secret, Staff{u, s}, nil
}

// maxUserAgent is the maximum length of the stored browser description, in bytes.
const maxUserAgent = 300

// works reports whether the user may sign in: a specialist's account needs an active specialist. Other accounts are
// always allowed to sign in.
func (ac *Account) works(u *store.User) bool {
	if u.Role != store.RoleSpecialist {
		return true
	}
	p, err := ac.clinic.Specialist(u.SpecialistID)
	return err == nil && p.Active
}

// mustWork is like works, but reads in the transaction, so that a sign-in cannot overtake a change that deactivates the
// specialist. It returns refusal if the specialist is inactive.
func mustWork(ctx context.Context, r store.Reader, u *store.User, refusal error) error {
	if u.Role != store.RoleSpecialist {
		return nil
	}
	s, err := r.Schedule(ctx)
	if err == nil && !slices.ContainsFunc(s.Specialists, func(p store.Specialist) bool {
		return p.ID == u.SpecialistID && p.Active
	}) {
		err = refusal
	}
	return err
}

// unchangedUser reads the user whose password was checked before the transaction. It returns ErrWrongPassword if the
// password or the email address has changed since then, or if the account has been deactivated.
func unchangedUser(ctx context.Context, tx store.Tx, checked *store.User) (store.User, error) {
	u, err := tx.User(ctx, checked.ID)
	if err == nil && (!u.Active || u.Email != checked.Email || u.PasswordHash != checked.PasswordHash) {
		err = ErrWrongPassword
	}
	return u, err
}

// useCode marks the step of a one-time code as used if the user needs a code. Errors: ErrCodeNeeded, ErrWrongCode.
func useCode(u *store.User, code string, now time.Time) error {
	switch {
	case u.TOTPSecret == nil:
		return nil
	case code == "":
		return ErrCodeNeeded
	}
	step, ok := checkTOTP(u.TOTPSecret, code, u.TOTPLastStep, now)
	if !ok {
		return ErrWrongCode
	}
	u.TOTPLastStep = step
	return nil
}

// knownPassword returns the active user who has this email address and this password. It takes as long to return
// ErrWrongPassword as to succeed.
func (ac *Account) knownPassword(ctx context.Context, email, password string) (store.User, error) {
	u, err := ac.store.UserByEmail(ctx, email)
	known := err == nil && u.Active
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return u, err
	}
	phc := ac.passwords.decoy
	if known = known && u.PasswordHash != ""; known {
		phc = u.PasswordHash
	}
	if len(password) > MaxPassword {
		password = ""
	}
	right, err := ac.passwords.verify(ctx, phc, password)
	if err == nil && (!known || !right) {
		err = ErrWrongPassword
	}
	return u, err
}

// ChangePassword replaces the password of a signed-in member of staff who enters the current password, and ends the
// user's other sign-ins. A wrong current password counts as a failed sign-in. The new password is checked first.
//
// Errors: ErrWrongPassword, *BackoffError, ErrUnauthorized if the sign-in has ended since it was read,
// *ValidationError.
func (ac *Account) ChangePassword(ctx context.Context, s *Staff, current, password string) error {
	var m record.Mistakes
	if checkPassword(&m, password, s.User.Email); m.Err() != nil {
		return m.Err()
	}
	now := record.Now()
	guess := guessByDevice(s.User.Email, s.SignIn.ID)
	if until, err := ac.beginGuess(ctx, now, guess); err != nil {
		return err
	} else if until.After(now) {
		return &BackoffError{until}
	}
	checked, err := ac.knownPassword(ctx, s.User.Email, current)
	ac.endGuess(ctx, guess, err)
	if err == nil && checked.ID != s.User.ID {
		err = record.ErrUnauthorized // the email address now belongs to another user
	}
	if err != nil {
		return err
	}
	hash, err := ac.newPassword(ctx, password, s.User.Email)
	if err != nil {
		return err
	}
	_, err = ac.changeUser(ctx, s.Actor(), record.ActionUserPassword, s.User.ID,
		func(tx store.Tx, u *store.User) error {
			if _, err := unchangedUser(ctx, tx, &checked); err != nil {
				return err
			}
			if err := stillSignedIn(ctx, tx, s); err != nil {
				return err
			}
			u.PasswordHash = hash
			_, err := tx.DeleteSignIns(ctx, u.ID, s.SignIn.ID)
			return err
		})
	return err
}

// stillSignedIn returns ErrUnauthorized if a sign-in has ended since it was read.
func stillSignedIn(ctx context.Context, r store.Reader, s *Staff) error {
	open, err := r.SignIns(ctx, s.User.ID)
	if err == nil && !slices.ContainsFunc(open, func(x store.SignIn) bool { return x.ID == s.SignIn.ID }) {
		err = record.ErrUnauthorized
	}
	return err
}

// SignedIn returns the member of staff who is signed in with this cookie. It returns ErrUnauthorized if the cookie is
// unknown or has expired, or if the account or its specialist has been deactivated.
func (ac *Account) SignedIn(ctx context.Context, secret string) (Staff, error) {
	s, u, err := ac.store.SignInByHash(ctx, sha256.Sum256([]byte(secret)))
	now := record.Now()
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Staff{}, record.ErrUnauthorized
	case err != nil:
		return Staff{}, err
	case !u.Active || !ac.works(&u) || !now.Before(s.ExpiresAt) || !now.Before(s.CreatedAt.Add(SignInLife)):
		return Staff{}, record.ErrUnauthorized
	}
	if now.Sub(s.LastSeenAt) > time.Minute {
		s.LastSeenAt, s.ExpiresAt = now, now.Add(SignInIdle)
		if limit := s.CreatedAt.Add(SignInLife); s.ExpiresAt.After(limit) {
			s.ExpiresAt = limit
		}
		err := ac.store.Write(ctx, func(tx store.Tx) error {
			return tx.TouchSignIn(ctx, s.ID, s.LastSeenAt, s.ExpiresAt)
		})
		if err != nil {
			ac.log.Warn("failed to record sign-in activity", "error", err)
		}
	}
	return Staff{u, s}, nil
}

// SignOut ends one sign-in. It is idempotent.
func (ac *Account) SignOut(ctx context.Context, signInID string) error {
	return ac.store.Write(ctx, func(tx store.Tx) error { return tx.DeleteSignIn(ctx, signInID) })
}

// SignOutOthers ends all other sign-ins of a signed-in member of staff, and returns how many it ended. It returns
// ErrUnauthorized if this sign-in has ended since it was read, so that a signed-out user cannot sign out others.
func (ac *Account) SignOutOthers(ctx context.Context, s *Staff) (ended int, err error) {
	err = ac.store.Write(ctx, func(tx store.Tx) (err error) {
		if err := stillSignedIn(ctx, tx, s); err != nil {
			return err
		}
		ended, err = tx.DeleteSignIns(ctx, s.User.ID, s.SignIn.ID)
		return err
	})
	return ended, err
}

// SignIns lists the signed-in browsers of one user, newest first.
func (ac *Account) SignIns(ctx context.Context, userID string) ([]store.SignIn, error) {
	return ac.store.SignIns(ctx, userID)
}

// SignInStands returns the instant when a sign-in ends without further activity. Streams that were opened with the
// sign-in call it. Such a call does not count as activity, so it does not extend the sign-in. It returns
// ErrUnauthorized if the sign-in has ended, or if the user's role or specialist has changed.
func (ac *Account) SignInStands(ctx context.Context, s *Staff) (until time.Time, err error) {
	now := record.Now()
	open, u, err := ac.store.SignInByHash(ctx, s.SignIn.Hash)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return time.Time{}, record.ErrUnauthorized
	case err != nil:
		return time.Time{}, err
	}
	if until = open.CreatedAt.Add(SignInLife); open.ExpiresAt.Before(until) {
		until = open.ExpiresAt
	}
	if !u.Active || !ac.works(&u) || !now.Before(until) || u.Role != s.User.Role ||
		u.SpecialistID != s.User.SpecialistID {
		return time.Time{}, record.ErrUnauthorized
	}
	return until, nil
}

// OnRevoked registers f, which is called whenever a sign-in ends, a key is revoked or a user changes, in this process
// or another. f must be quick and must not write.
func (ac *Account) OnRevoked(f func()) {
	ac.revoked.mu.Lock()
	defer ac.revoked.mu.Unlock()
	ac.revoked.tell = append(ac.revoked.tell, f)
}

// revoked holds the functions registered with OnRevoked.
type revoked struct {
	mu   sync.Mutex
	tell []func()
}

func (r *revoked) told() {
	r.mu.Lock()
	tell := slices.Clone(r.tell)
	r.mu.Unlock()
	for _, f := range tell {
		f()
	}
}

// TellRevoked calls the functions registered with OnRevoked, so that they check their sign-ins and keys again. The
// follower calls it after a sign-in ends, a key is revoked or a user changes.
func (ac *Account) TellRevoked() { ac.revoked.told() }
