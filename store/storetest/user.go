package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testUser(t *testing.T, h Harness) {
	t.Run("users", func(t *testing.T) { users(t, h.open(t)) })
	t.Run("sign-ins", func(t *testing.T) { signIns(t, h.open(t)) })
	t.Run("the setup token", func(t *testing.T) { setupToken(t, h.open(t)) })
}

func users(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx := t.Context()
	zoe := store.User{ID: "u1", Email: "zoe@example.org", Name: "Zoë", Role: store.RoleSpecialist, SpecialistID: "ada",
		PasswordHash: "$argon2id$x",
		TOTPSecret:   []byte{0, 1, 2}, TOTPLastStep: 58_000_000, Active: true, CreatedAt: monday,
		LastSignInAt: monday.Add(time.Hour)}
	abe := store.User{ID: "u2", Email: "abe@example.org", Name: "Abe", Role: store.RoleOwner, CreatedAt: monday}
	put := func(u store.User) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.PutUser(ctx, u) })
	}
	wantErr(t, "put", put(zoe), nil)
	wantErr(t, "put", put(abe), nil)
	if got, err := s.Users(ctx); err != nil || !reflect.DeepEqual(got, []store.User{abe, zoe}) {
		t.Errorf("by name:\n got %+v, %v\nwant %+v", got, err, []store.User{abe, zoe})
	}
	wantErr(t, "another user's address", put(store.User{ID: "u3", Email: zoe.Email, Role: store.RoleOwner}),
		store.ErrDuplicate)
	moved := abe
	moved.Email = zoe.Email
	wantErr(t, "changing to another user's address", put(moved), store.ErrDuplicate)
	wantErr(t, "a role that is none", put(store.User{ID: "u3", Email: "x@example.org", Role: "king"}), store.ErrInvalid)

	zoe.Email, zoe.Name, zoe.Role, zoe.SpecialistID, zoe.TOTPSecret, zoe.Active = "z@example.org", "Z",
		store.RoleReception, "", nil, false
	wantErr(t, "replace", put(zoe), nil)
	for name, ask := range map[string]func() (store.User, error){
		"by id":      func() (store.User, error) { return s.User(ctx, "u1") },
		"by address": func() (store.User, error) { return s.UserByEmail(ctx, "z@example.org") },
	} {
		if got, err := ask(); err != nil || !reflect.DeepEqual(got, zoe) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, zoe)
		}
	}
	zoe.Identity, abe.Identity = "https://id.example.org 17", "https://id.example.org 17"
	wantErr(t, "an identity", put(zoe), nil)
	wantErr(t, "another user's identity", put(abe), store.ErrDuplicate)
	if got, err := s.UserByIdentity(ctx, zoe.Identity); err != nil || !reflect.DeepEqual(got, zoe) {
		t.Errorf("by identity: got %+v, %v; want %+v", got, err, zoe)
	}
	_, err := s.UserByIdentity(ctx, "")
	wantErr(t, "the empty identity, which most users have", err, store.ErrNotFound)
	_, err = s.UserByIdentity(ctx, "https://other.example.org 17")
	wantErr(t, "the subject of another issuer", err, store.ErrNotFound)
	_, err = s.User(ctx, "unknown")
	wantErr(t, "an unknown id", err, store.ErrNotFound)
	_, err = s.UserByEmail(ctx, "zoe@example.org")
	wantErr(t, "an address given up", err, store.ErrNotFound)
}

func signIns(t *testing.T, s store.Store) {
	ctx := t.Context()
	user := store.User{ID: "u1", Email: "zoe@example.org", Role: store.RoleOwner, Active: true, CreatedAt: monday}
	signIn := func(n byte) store.SignIn {
		return store.SignIn{ID: string('a' + rune(n)), Hash: [32]byte{n}, UserID: "u1",
			CreatedAt:  monday.Add(time.Duration(n) * time.Minute),
			LastSeenAt: monday, ExpiresAt: monday.Add(time.Hour), UserAgent: "agent"}
	}
	put := func(one store.SignIn) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.InsertSignIn(ctx, one) })
	}
	wantErr(t, "of no user", put(signIn(0)), store.ErrNotFound)
	write(t, s, func(tx store.Tx) error { return tx.PutUser(ctx, user) })
	for n := range byte(4) {
		wantErr(t, "InsertSignIn", put(signIn(n)), nil)
	}
	wantSignIns := func(what string, want ...store.SignIn) {
		t.Helper()
		if got, err := s.SignIns(ctx, "u1"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", what, got, err, want)
		}
	}
	wantSignIns("newest first", signIn(3), signIn(2), signIn(1), signIn(0))
	gotSignIn, gotUser, err := s.SignInByHash(ctx, [32]byte{2})
	if err != nil || !reflect.DeepEqual(gotSignIn, signIn(2)) || !reflect.DeepEqual(gotUser, user) {
		t.Errorf("by hash: got %+v of %+v, %v", gotSignIn, gotUser, err)
	}
	_, _, err = s.SignInByHash(ctx, [32]byte{9})
	wantErr(t, "an unknown hash", err, store.ErrNotFound)

	touched := signIn(1)
	touched.LastSeenAt, touched.ExpiresAt = monday.Add(time.Minute), monday.Add(2*time.Hour)
	write(t, s, func(tx store.Tx) error {
		return tx.TouchSignIn(ctx, touched.ID, touched.LastSeenAt, touched.ExpiresAt)
	})
	for range 2 {
		write(t, s, func(tx store.Tx) error { return tx.DeleteSignIn(ctx, signIn(3).ID) })
	}
	wantSignIns("one touched, one ended", signIn(2), touched, signIn(0))
	ended := 0
	write(t, s, func(tx store.Tx) (err error) { ended, err = tx.DeleteSignIns(ctx, "u1", touched.ID); return err })
	if ended != 2 {
		t.Errorf("ended all sessions but one: got %d, want 2", ended)
	}
	wantSignIns("the one kept", touched)
	write(t, s, func(tx store.Tx) (err error) { _, err = tx.DeleteSignIns(ctx, "u1", ""); return err })
	wantSignIns("none kept")
}

func setupToken(t *testing.T, s store.Store) {
	ctx := t.Context()
	_, err := s.SetupToken(ctx)
	wantErr(t, "none yet", err, store.ErrNotFound)
	for n := range byte(2) {
		want := store.SetupToken{Hash: [32]byte{n}, ExpiresAt: monday.Add(time.Duration(n) * time.Hour)}
		write(t, s, func(tx store.Tx) error { return tx.PutSetupToken(ctx, want) })
		if got, err := s.SetupToken(ctx); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	for range 2 {
		write(t, s, func(tx store.Tx) error { return tx.ClearSetupToken(ctx) })
	}
	_, err = s.SetupToken(ctx)
	wantErr(t, "cleared", err, store.ErrNotFound)
}
