package table

import (
	"context"
	"errors"
	"time"

	"holdfast/store"
)

var users = nounOf[store.User]("users", "id")

var signIns = nounOf[store.SignIn]("sign_ins", "id")

var setupToken = nounOf[store.SetupToken]("setup_token", "id",
	derived("id", func(*store.SetupToken) any { return 1 }),
)

// Users implements store.UserReader.
func (r Reads) Users(ctx context.Context) ([]store.User, error) {
	return users.list(ctx, r.source, `ORDER BY name, id`)
}

// User implements store.UserReader.
func (r Reads) User(ctx context.Context, id string) (store.User, error) {
	return users.one(ctx, r.source, `WHERE id = ?`, id)
}

// UserByEmail implements store.UserReader.
func (r Reads) UserByEmail(ctx context.Context, email string) (store.User, error) {
	return users.one(ctx, r.source, `WHERE email = ?`, email)
}

// UserByIdentity implements store.UserReader.
func (r Reads) UserByIdentity(ctx context.Context, identity string) (store.User, error) {
	return users.one(ctx, r.source, `WHERE identity = ? AND identity <> ''`, identity)
}

// SignInByHash implements store.UserReader.
func (r Reads) SignInByHash(ctx context.Context, hash [32]byte) (store.SignIn, store.User, error) {
	type both struct {
		signIn store.SignIn
		user   store.User
	}
	found, err := one(ctx, r.source, func(r Row) both { return both{signIns.scan(r), users.scan(r)} },
		`SELECT `+signIns.qualified+`, `+users.qualified+`
		FROM sign_ins JOIN users ON users.id = user_id WHERE hash = ?`, hash)
	return found.signIn, found.user, err
}

// SignIns implements store.UserReader.
func (r Reads) SignIns(ctx context.Context, userID string) ([]store.SignIn, error) {
	return signIns.list(ctx, r.source, `WHERE user_id = ? ORDER BY created_at DESC, id DESC`, userID)
}

// SetupToken implements store.UserReader.
func (r Reads) SetupToken(ctx context.Context) (store.SetupToken, error) {
	return setupToken.one(ctx, r.source, ``)
}

// PutUser implements store.UserWriter.
func (t *Tx) PutUser(_ context.Context, u store.User) error {
	t.to.Changed(store.Change{Noun: store.NounUser, ID: u.ID})
	return t.run(users.put, users.values(&u)...)
}

// InsertSignIn implements store.UserWriter.
func (t *Tx) InsertSignIn(_ context.Context, s store.SignIn) error {
	err := t.run(signIns.insert, signIns.values(&s)...)
	if errors.Is(err, ErrReference) {
		return store.ErrNotFound
	}
	return err
}

// TouchSignIn implements store.UserWriter.
func (t *Tx) TouchSignIn(_ context.Context, id string, seen, expires time.Time) error {
	return t.run(`UPDATE sign_ins SET last_seen_at = ?, expires_at = ? WHERE id = ?`, seen, expires, id)
}

// DeleteSignIn implements store.UserWriter.
func (t *Tx) DeleteSignIn(_ context.Context, id string) error {
	t.to.Changed(store.Change{Noun: store.NounSignIn, ID: id})
	return t.run(`DELETE FROM sign_ins WHERE id = ?`, id)
}

// DeleteSignIns implements store.UserWriter.
func (t *Tx) DeleteSignIns(_ context.Context, userID, except string) (int, error) {
	t.to.Changed(store.Change{Noun: store.NounSignIn, Assigned: userID})
	return t.count(`DELETE FROM sign_ins WHERE user_id = ? AND id <> ?`, userID, except)
}

// ForgetSignIns implements store.UserWriter.
func (t *Tx) ForgetSignIns(_ context.Context, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM sign_ins WHERE id IN (
		SELECT id FROM sign_ins WHERE expires_at < ? LIMIT +?)`, before, limit)
}

// PutSetupToken implements store.UserWriter.
func (t *Tx) PutSetupToken(_ context.Context, s store.SetupToken) error {
	return t.run(setupToken.put, setupToken.values(&s)...)
}

// ClearSetupToken implements store.UserWriter.
func (t *Tx) ClearSetupToken(context.Context) error { return t.run(`DELETE FROM setup_token`) }
