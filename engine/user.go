package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/store"
)

// NewUser asks for a member of staff who can sign in.
type NewUser struct {
	Email, Name  string
	Role         store.Role
	SpecialistID string // whose own calendar it is; required for store.RoleSpecialist
	Password     string
}

// CreateUser adds a member of staff. *ValidationError, also when the address is in use.
func (e *Engine) CreateUser(ctx context.Context, actor Actor, n NewUser) (store.User, error) {
	u := store.User{ID: newID(), Email: n.Email, Name: n.Name, Role: n.Role, SpecialistID: n.SpecialistID, Active: true, CreatedAt: e.now()}
	var m mistakes
	e.checkUser(&m, &u)
	checkPassword(&m, "password", n.Password)
	if err := m.err(); err != nil {
		return u, err
	}
	var err error
	if u.PasswordHash, err = e.passwords.hash(ctx, n.Password); err != nil {
		return u, err
	}
	return u, e.putUser(ctx, actor, "user.created", nil, u, nil)
}

// UpdateUser lets edit change the name, address, role, specialist or active flag of a user. Who is switched off or gets
// another role is signed out everywhere. store.ErrNotFound, *ValidationError; the last active owner stays one.
func (e *Engine) UpdateUser(ctx context.Context, actor Actor, id string, edit func(*store.User)) (store.User, error) {
	before, err := e.store.User(ctx, id)
	if err != nil {
		return before, err
	}
	u := before
	edit(&u)
	u.ID = before.ID
	var m mistakes
	e.checkUser(&m, &u)
	if err := m.err(); err != nil {
		return u, err
	}
	return u, e.putUser(ctx, actor, "user.changed", &before, u, func(tx store.Tx) error {
		if u.Active && u.Role == before.Role && u.SpecialistID == before.SpecialistID {
			return nil
		}
		_, err := tx.DeleteSignIns(ctx, u.ID, "")
		return err
	})
}

// SetPassword gives a user a new password and ends the user's other sign-ins. store.ErrNotFound, *ValidationError.
func (e *Engine) SetPassword(ctx context.Context, actor Actor, id, password, keepSignIn string) error {
	var m mistakes
	checkPassword(&m, "password", password)
	if err := m.err(); err != nil {
		return err
	}
	u, err := e.store.User(ctx, id)
	if err != nil {
		return err
	}
	if u.PasswordHash, err = e.passwords.hash(ctx, password); err != nil {
		return err
	}
	before := u
	return e.putUser(ctx, actor, "user.password", &before, u, func(tx store.Tx) error {
		_, err := tx.DeleteSignIns(ctx, u.ID, keepSignIn)
		return err
	})
}

// BeginTOTP returns a fresh secret and the address for the authenticator app. It takes effect with EnableTOTP.
func (e *Engine) BeginTOTP(u *store.User) (secret []byte, uri string) {
	secret = newTOTPSecret()
	return secret, totpURI(secret, e.Schedule().Clinic.Name, u.Email)
}

// EnableTOTP asks for a one-time code at every sign-in from now on, after a first right code. *ValidationError.
func (e *Engine) EnableTOTP(ctx context.Context, actor Actor, id string, secret []byte, code string) error {
	u, err := e.store.User(ctx, id)
	if err != nil {
		return err
	}
	step, ok := checkTOTP(secret, code, 0, time.Now())
	if !ok || len(secret) < 16 {
		return invalid("code", "is not the code that the app shows now; check that the clock of the phone is right")
	}
	before := u
	u.TOTPSecret, u.TOTPLastStep = secret, step
	return e.putUser(ctx, actor, "user.totp_enabled", &before, u, nil)
}

// DisableTOTP asks for no code any more.
func (e *Engine) DisableTOTP(ctx context.Context, actor Actor, id string) error {
	u, err := e.store.User(ctx, id)
	if err != nil {
		return err
	}
	before := u
	u.TOTPSecret, u.TOTPLastStep = nil, 0
	return e.putUser(ctx, actor, "user.totp_disabled", &before, u, nil)
}

// Users lists all members of staff by name.
func (e *Engine) Users(ctx context.Context) ([]store.User, error) { return e.store.Users(ctx) }

// User returns one. store.ErrNotFound.
func (e *Engine) User(ctx context.Context, id string) (store.User, error) {
	return e.store.User(ctx, id)
}

// UserByEmail returns one by address. store.ErrNotFound.
func (e *Engine) UserByEmail(ctx context.Context, email string) (store.User, error) {
	return e.store.UserByEmail(ctx, normalEmail(email))
}

func normalEmail(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

func (e *Engine) checkUser(m *mistakes, u *store.User) {
	u.Email, u.Name = normalEmail(u.Email), strings.TrimSpace(u.Name)
	checkEmail(m, "email", u.Email)
	if u.Name == "" {
		m.add("name", "enter a name; colleagues see it beside changes")
	}
	checkText(m, "name", u.Name, 200, false)
	switch u.Role {
	case store.RoleOwner, store.RoleReception:
	case store.RoleSpecialist:
		if _, err := e.Specialist(u.SpecialistID); err != nil {
			m.add("specialistId", "name the specialist whose calendar this is")
		}
	default:
		m.add("role", "must be owner, reception or specialist")
	}
	if u.Role != store.RoleSpecialist {
		u.SpecialistID = ""
	}
}

// putUser commits one user with its audit entry, and whatever also does. The last active owner cannot be lost.
func (e *Engine) putUser(ctx context.Context, actor Actor, action string, before *store.User, u store.User, also func(store.Tx) error) error {
	err := e.store.Write(ctx, func(tx store.Tx) error {
		if before != nil && before.Role == store.RoleOwner && before.Active && (u.Role != store.RoleOwner || !u.Active) {
			if err := keepAnOwner(ctx, tx, u.ID); err != nil {
				return err
			}
		}
		if err := tx.PutUser(ctx, u); err != nil {
			return err
		}
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		var was any
		if before != nil {
			was = auditedUser(before)
		}
		return audit(ctx, tx, e.now(), actor, action, "user:"+u.ID, "", was, auditedUser(&u))
	})
	if errors.Is(err, store.ErrDuplicate) {
		return invalid("email", "another user has this address")
	}
	return err
}

func keepAnOwner(ctx context.Context, r store.Reader, without string) error {
	users, err := r.Users(ctx)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.Role == store.RoleOwner && u.Active && u.ID != without {
			return nil
		}
	}
	return invalid("role", "this is the last owner; make somebody else an owner first")
}

func auditedUser(u *store.User) map[string]any {
	return map[string]any{"role": u.Role, "specialistId": u.SpecialistID, "active": u.Active, "totp": u.TOTPSecret != nil}
}

// now is the present instant as the store keeps it.
func (e *Engine) now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
