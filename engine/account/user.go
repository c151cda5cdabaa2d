package account

import (
	"context"
	"errors"
	"strings"

	"holdfast/engine/record"
	"holdfast/store"
)

// NewUser describes a member of staff to be created.
type NewUser struct {
	Email, Name  string
	Role         store.Role
	SpecialistID string // the specialist whose calendar the user manages; required for store.RoleSpecialist
	Password     string
}

// CreateUser adds a member of staff. Errors: *ValidationError, including when the email address is in use.
func (ac *Account) CreateUser(ctx context.Context, actor record.Actor, n NewUser) (store.User, error) {
	u := store.User{ID: record.NewID(), Email: n.Email, Name: n.Name, Role: n.Role, SpecialistID: n.SpecialistID,
		Active: true, CreatedAt: record.Now()}
	var m record.Mistakes
	ac.checkUser(&m, &u, nil)
	checkPassword(&m, n.Password, n.Email, ac.clinic.Schedule().Clinic.Name)
	if err := m.Err(); err != nil {
		return u, err
	}
	var err error
	if u.PasswordHash, err = ac.passwords.hash(ctx, n.Password); err != nil {
		return u, err
	}
	err = ac.store.Write(ctx, func(tx store.Tx) error {
		if err := tx.PutUser(ctx, u); err != nil {
			return err
		}
		if err := record.Audit(ctx, tx, record.Now(), actor, record.ActionUserCreated, "user:"+u.ID, "", nil,
			auditedUser(&u)); err != nil {
			return err
		}
		return record.OnceOf(ctx).Remember(ctx, tx, u, record.Now())
	})
	return u, duplicateAddress(err)
}

// UpdateUser calls edit to change a user, and sets a new password unless password is nil. Either both changes are
// stored or neither is. A user who is deactivated, or gets a new role, specialist, password or identity, is signed out
// everywhere. edit may be called more than once. Errors: store.ErrNotFound; *ValidationError, including when no active
// owner with a password would remain.
func (ac *Account) UpdateUser(ctx context.Context, actor record.Actor, id string, edit func(*store.User),
	password *string) (store.User, error) {
	hash := ""
	if password != nil {
		var err error
		if hash, err = ac.newPassword(ctx, *password); err != nil {
			return store.User{}, err
		}
	}
	left := "" // the specialist whose calendar the user no longer manages
	changed, err := ac.changeUser(ctx, actor, record.ActionUserChanged, id, func(tx store.Tx, u *store.User) error {
		before := *u
		edit(u)
		if left = ""; before.Role == store.RoleSpecialist &&
			(!u.Active || u.Role != before.Role || u.SpecialistID != before.SpecialistID) {
			left = before.SpecialistID
		}
		u.ID = id
		var m record.Mistakes
		ac.checkUser(&m, u, &before)
		if err := m.Err(); err != nil {
			return err
		}
		switch {
		case hash != "":
			u.PasswordHash = hash
			if err := record.Audit(ctx, tx, record.Now(), actor, record.ActionUserPassword, "user:"+id, "", nil,
				nil); err != nil {
				return err
			}
		case u.Active && u.Role == before.Role && u.SpecialistID == before.SpecialistID &&
			u.Identity == before.Identity:
			return nil
		}
		_, err := tx.DeleteSignIns(ctx, id, "")
		return err
	})
	if p, unknown := ac.clinic.Specialist(left); err == nil && unknown == nil && p.Page.Feed.Hash != "" {
		// The user may have subscribed to that calendar on their own phone.
		err = ac.clinic.PutCalendarFeed(ctx, actor, left, store.CalendarFeed{})
	}
	return changed, err
}

// newPassword checks a new password and returns its hash. Hashing is slow, so it happens before the transaction that
// stores the hash. Errors: *ValidationError.
func (ac *Account) newPassword(ctx context.Context, password string, about ...string) (hash string, err error) {
	var m record.Mistakes
	checkPassword(&m, password, append(about, ac.clinic.Schedule().Clinic.Name)...)
	if err := m.Err(); err != nil {
		return "", err
	}
	return ac.passwords.hash(ctx, password)
}

// Users lists all members of staff by name.
func (ac *Account) Users(ctx context.Context) ([]store.User, error) { return ac.store.Users(ctx) }

// User returns one user. Errors: store.ErrNotFound.
func (ac *Account) User(ctx context.Context, id string) (store.User, error) {
	return ac.store.User(ctx, id)
}

// UserByEmail returns the user with this email address. Errors: store.ErrNotFound.
func (ac *Account) UserByEmail(ctx context.Context, email string) (store.User, error) {
	return ac.store.UserByEmail(ctx, normalEmail(email))
}

func normalEmail(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

const maxUserName = 200 // characters

// checkUser checks a user, and before is the user as stored, or nil. A user may keep a specialist who has been archived
// since then: the account of a former colleague can still be deactivated.
func (ac *Account) checkUser(m *record.Mistakes, u, before *store.User) {
	u.Email, u.Name = normalEmail(u.Email), strings.TrimSpace(u.Name)
	record.CheckEmail(m, "email", u.Email)
	if u.Name == "" {
		m.Add("name", "enter a name; colleagues see it next to changes")
	}
	record.CheckText(m, "name", u.Name, maxUserName, false)
	switch u.Role {
	case store.RoleOwner, store.RoleReception:
	case store.RoleSpecialist:
		kept := before != nil && before.Role == u.Role && before.SpecialistID == u.SpecialistID
		if _, err := ac.clinic.Specialist(u.SpecialistID); err != nil && !kept {
			m.Add("specialistId", "enter the id of the specialist whose calendar the user sees")
		}
	default:
		m.Add("role", "must be owner, reception or specialist")
	}
	if u.Role != store.RoleSpecialist {
		u.SpecialistID = ""
	}
}

// changeUser calls edit with the user as read in the transaction, so that two concurrent changes cannot overwrite each
// other. It commits the change together with its audit entry and with the emails that notify the user. edit may be
// called more than once. Errors: store.ErrNotFound; *ValidationError, including when no active owner with a password
// would remain.
func (ac *Account) changeUser(ctx context.Context, actor record.Actor, action record.Action, id string,
	edit func(store.Tx, *store.User) error) (store.User, error) {
	var after store.User
	var committed func()
	err := ac.store.Write(ctx, func(tx store.Tx) error {
		before, err := tx.User(ctx, id)
		if err != nil {
			return err
		}
		after = before
		if err := edit(tx, &after); err != nil {
			return err
		}
		if before.Role == store.RoleOwner && before.Active && (after.Role != store.RoleOwner || !after.Active) {
			if err := requireOwner(ctx, tx, id); err != nil {
				return err
			}
		}
		if err := tx.PutUser(ctx, after); err != nil {
			return err
		}
		if err := record.Audit(ctx, tx, record.Now(), actor, action, "user:"+id, "", auditedUser(&before),
			auditedUser(&after)); err != nil {
			return err
		}
		if committed, err = ac.hooks.UserChanged(ctx, tx, &before, &after, record.Now()); err != nil {
			return err
		}
		return record.OnceOf(ctx).Remember(ctx, tx, after, record.Now())
	})
	if err == nil && committed != nil {
		committed()
	}
	return after, duplicateAddress(err)
}

func duplicateAddress(err error) error {
	if errors.Is(err, store.ErrDuplicate) {
		return record.Invalid("email", "another user has this address")
	}
	return err
}

// requireOwner refuses a change that would leave the clinic without an active owner who has a password.
func requireOwner(ctx context.Context, r store.Reader, without string) error {
	users, err := r.Users(ctx)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.Role == store.RoleOwner && u.Active && u.PasswordHash != "" && u.ID != without {
			return nil
		}
	}
	return record.Invalid("role",
		"this is the last owner with a password; give another user with a password the role owner first")
}

func auditedUser(u *store.User) map[string]any {
	return map[string]any{"role": u.Role, "specialistId": u.SpecialistID, "active": u.Active,
		"totp": u.TOTPSecret != nil, "linked": u.Identity != ""}
}
