package postgres

import (
	"context"
	"errors"
	"time"

	"holdfast/store"
)

const userColumns = `users.id, users.email, users.name, users.role, users.specialist_id, users.password_hash,
	users.totp_secret, users.totp_last_step, users.active, users.created_at, users.last_sign_in_at, users.identity`

func scanUser(r *row) store.User {
	return store.User{ID: r.text(), Email: r.text(), Name: r.text(), Role: store.Role(r.text()), SpecialistID: r.text(),
		PasswordHash: r.text(), TOTPSecret: r.bytes(), TOTPLastStep: r.int64(), Active: r.bool(),
		CreatedAt: r.time(), LastSignInAt: r.time(), Identity: r.text()}
}

const signInColumns = `sign_ins.id, sign_ins.hash, sign_ins.user_id, sign_ins.created_at, sign_ins.last_seen_at,
	sign_ins.expires_at, sign_ins.user_agent`

func scanSignIn(r *row) store.SignIn {
	return store.SignIn{ID: r.text(), Hash: r.hash(), UserID: r.text(), CreatedAt: r.time(), LastSeenAt: r.time(),
		ExpiresAt: r.time(), UserAgent: r.text()}
}

func (r reads) Users(ctx context.Context) ([]store.User, error) {
	return list(ctx, r, scanUser, `SELECT `+userColumns+` FROM users ORDER BY name, id`)
}

func (r reads) User(ctx context.Context, id string) (store.User, error) {
	return one(ctx, r, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1`, id)
}

func (r reads) UserByEmail(ctx context.Context, email string) (store.User, error) {
	return one(ctx, r, scanUser, `SELECT `+userColumns+` FROM users WHERE email = $1`, email)
}

func (r reads) UserByIdentity(ctx context.Context, identity string) (store.User, error) {
	return one(ctx, r, scanUser, `SELECT `+userColumns+` FROM users WHERE identity = $1 AND identity <> ''`, identity)
}

func (r reads) SignInByHash(ctx context.Context, hash [32]byte) (store.SignIn, store.User, error) {
	type both struct {
		signIn store.SignIn
		user   store.User
	}
	found, err := one(ctx, r, func(r *row) both { return both{scanSignIn(r), scanUser(r)} },
		`SELECT `+signInColumns+`, `+userColumns+` FROM sign_ins JOIN users ON users.id = user_id WHERE hash = $1`, hash)
	return found.signIn, found.user, err
}

func (r reads) SignIns(ctx context.Context, userID string) ([]store.SignIn, error) {
	return list(ctx, r, scanSignIn,
		`SELECT `+signInColumns+` FROM sign_ins WHERE user_id = $1 ORDER BY created_at DESC, id DESC`, userID)
}

func (r reads) SetupToken(ctx context.Context) (store.SetupToken, error) {
	return one(ctx, r, func(r *row) store.SetupToken { return store.SetupToken{Hash: r.hash(), ExpiresAt: r.time()} },
		`SELECT hash, expires_at FROM setup_token`)
}

func (t *tx) PutUser(_ context.Context, u store.User) error {
	t.changed(store.Change{Noun: store.NounUser, ID: u.ID})
	return t.run(`
		INSERT INTO users (id, email, name, role, specialist_id, password_hash, totp_secret, totp_last_step, active,
			created_at, last_sign_in_at, identity)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (id) DO UPDATE SET email = excluded.email, name = excluded.name, role = excluded.role,
			specialist_id = excluded.specialist_id, password_hash = excluded.password_hash,
			totp_secret = excluded.totp_secret, totp_last_step = excluded.totp_last_step, active = excluded.active,
			created_at = excluded.created_at, last_sign_in_at = excluded.last_sign_in_at,
			identity = excluded.identity`,
		u.ID, u.Email, u.Name, string(u.Role), textOrNull(u.SpecialistID), u.PasswordHash, u.TOTPSecret,
		u.TOTPLastStep, u.Active, u.CreatedAt, orNull(u.LastSignInAt), u.Identity)
}

func (t *tx) InsertSignIn(_ context.Context, s store.SignIn) error {
	err := t.run(`INSERT INTO sign_ins (id, hash, user_id, created_at, last_seen_at, expires_at, user_agent)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		s.ID, s.Hash, s.UserID, s.CreatedAt, s.LastSeenAt, s.ExpiresAt, s.UserAgent)
	if errors.Is(err, errReference) {
		return store.ErrNotFound
	}
	return err
}

func (t *tx) TouchSignIn(_ context.Context, id string, seen, expires time.Time) error {
	return t.run(`UPDATE sign_ins SET last_seen_at = $1, expires_at = $2 WHERE id = $3`, seen, expires, id)
}

func (t *tx) DeleteSignIn(_ context.Context, id string) error {
	t.changed(store.Change{Noun: store.NounSignIn, ID: id})
	return t.run(`DELETE FROM sign_ins WHERE id = $1`, id)
}

func (t *tx) DeleteSignIns(_ context.Context, userID, except string) (int, error) {
	t.changed(store.Change{Noun: store.NounSignIn, Assigned: userID})
	n, err := t.exec(`DELETE FROM sign_ins WHERE user_id = $1 AND id <> $2`, userID, except)
	return int(n), err
}

func (t *tx) ForgetSignIns(_ context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM sign_ins WHERE id IN (SELECT id FROM sign_ins WHERE expires_at < $1 LIMIT $2)`, before, limit)
	return int(n), err
}

func (t *tx) PutSetupToken(_ context.Context, s store.SetupToken) error {
	return t.run(`INSERT INTO setup_token (id, hash, expires_at) VALUES (1, $1, $2)
		ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at`, s.Hash, s.ExpiresAt)
}

func (t *tx) ClearSetupToken(context.Context) error { return t.run(`DELETE FROM setup_token`) }
