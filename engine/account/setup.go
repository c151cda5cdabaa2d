package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// SetupTTL is how long a setup link works.
const SetupTTL = 30 * time.Minute

var (
	// ErrSetupDone means that the clinic already has an owner, or that the link has been used.
	ErrSetupDone = errors.New("setup is done")
	// ErrSetupLink means that the link is wrong or has expired.
	ErrSetupLink = errors.New("the setup link is wrong or has expired")
)

// NeedsSetup reports whether there are no users yet.
func (ac *Account) NeedsSetup(ctx context.Context) (bool, error) {
	users, err := ac.store.Users(ctx)
	return len(users) == 0, err
}

// NewSetupToken creates the one-time token for a setup link and replaces the previous one. Only its hash is stored. It
// returns ErrSetupDone if there already is a user.
func (ac *Account) NewSetupToken(ctx context.Context) (string, error) {
	raw := make([]byte, 24)
	rand.Read(raw)
	token := base64.RawURLEncoding.EncodeToString(raw)
	err := ac.store.Write(ctx, func(tx store.Tx) error {
		if users, err := tx.Users(ctx); err != nil || len(users) > 0 {
			return errors.Join(err, ErrSetupDone)
		}
		return tx.PutSetupToken(ctx, store.SetupToken{Hash: sha256.Sum256([]byte(token)),
			ExpiresAt: record.Now().Add(SetupTTL)})
	})
	return token, err
}

// CheckSetup returns nil if a setup token is valid now. Errors: ErrSetupDone, ErrSetupLink.
func (ac *Account) CheckSetup(ctx context.Context, token string) error {
	return ac.checkSetup(ctx, ac.store, token)
}

func (ac *Account) checkSetup(ctx context.Context, r store.Reader, token string) error {
	users, err := r.Users(ctx)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return ErrSetupDone
	}
	t, err := r.SetupToken(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	sum := sha256.Sum256([]byte(token))
	if err != nil || subtle.ConstantTimeCompare(sum[:], t.Hash[:]) != 1 || !record.Now().Before(t.ExpiresAt) {
		return ErrSetupLink
	}
	return nil
}

// Setup creates the first owner, names the clinic, and disables the setup link. Errors: *ValidationError,
// ErrSetupDone, ErrSetupLink.
func (ac *Account) Setup(ctx context.Context, token string, owner NewUser, edit func(*store.Clinic)) (store.User,
	error) {
	if err := ac.CheckSetup(ctx, token); err != nil {
		return store.User{}, err
	}
	owner.Role, owner.SpecialistID = store.RoleOwner, ""
	u := store.User{ID: record.NewID(), Email: owner.Email, Name: owner.Name, Role: owner.Role, Active: true,
		CreatedAt: record.Now()}
	named := ac.clinic.Schedule().Clinic
	edit(&named)
	var m record.Mistakes
	ac.checkUser(&m, &u, nil)
	checkPassword(&m, owner.Password, owner.Email)
	ac.clinic.CheckClinic(&m, "clinic.", "clinic.contact.", &named)
	if err := m.Err(); err != nil {
		return u, err
	}
	var err error
	if u.PasswordHash, err = ac.passwords.hash(ctx, owner.Password); err != nil {
		return u, err
	}
	return u, ac.clinic.ChangeSchedule(ctx, &clinic.ScheduleChange{Actor: record.Actor("user:" + u.ID),
		Action: record.ActionClinicSetUp, Subject: "clinic"}, func(tx store.Tx) error {
		if err := ac.checkSetup(ctx, tx, token); err != nil {
			return err
		}
		s, err := clinic.StoredSchedule(ctx, tx)
		if err != nil {
			return err
		}
		c := s.Clinic
		edit(&c)
		var m record.Mistakes
		ac.clinic.CheckClinic(&m, "clinic.", "clinic.contact.", &c)
		if err := m.Err(); err != nil {
			return err
		}
		if err := clinic.RemindFromSetup(&c); err != nil {
			return err
		}
		if err := tx.PutUser(ctx, u); err != nil {
			return err
		}
		if err := tx.PutClinic(ctx, c); err != nil {
			return err
		}
		return tx.ClearSetupToken(ctx)
	})
}
