package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/record"
	"holdfast/store"
)

// Every change makes its decision in the transaction that writes it. These tests commit another change after the
// change has read and before it writes: by another server on the same database, or by many concurrent callers.

// between is a store that runs first just before the next Write begins.
type between struct {
	store.Store
	first func()
}

func (b *between) Write(ctx context.Context, fn func(store.Tx) error) error {
	if first := b.first; first != nil {
		b.first = nil
		first()
	}
	return b.Store.Write(ctx, fn)
}

// beside opens a second server on the clinic's database. The changes that the argument makes are committed just
// before the next write of that server.
func (c *testClinic) beside(meanwhile func()) *engine.Engine {
	c.t.Helper()
	db := &between{Store: c.store}
	e, err := engine.New(context.Background(), engine.Options{Store: db, Holds: c.holds})
	if err != nil {
		c.t.Fatal(err)
	}
	db.first = meanwhile
	return e
}

// staff adds a user and also an owner, so that every change of the user is allowed.
func (c *testClinic) staff() store.User {
	c.t.Helper()
	ctx := context.Background()
	if _, err := c.Account.CreateUser(ctx, "system", owner()); err != nil {
		c.t.Fatal(err)
	}
	u, err := c.Account.CreateUser(ctx, "system", account.NewUser{Email: "kim@example.org", Name: "Kim", Role: store.RoleReception, Password: goodPassword})
	if err != nil {
		c.t.Fatal(err)
	}
	return u
}

func (c *testClinic) updateUser(id string, edit func(*store.User)) {
	c.t.Helper()
	if _, err := c.Account.UpdateUser(context.Background(), "system", id, edit, nil); err != nil {
		c.t.Fatal(err)
	}
}

func (c *testClinic) user(id string) store.User {
	c.t.Helper()
	u, err := c.Account.User(context.Background(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return u
}

// signedIn creates a sign-in of the user without checking a password or code.
func (c *testClinic) signedIn(u *store.User) *account.Staff {
	c.t.Helper()
	n, now := c.signIns.Add(1), time.Now().UTC()
	s := store.SignIn{ID: fmt.Sprintf("sign-in-%d", n), Hash: [32]byte{byte(n)}, UserID: u.ID, CreatedAt: now, LastSeenAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := c.store.Write(context.Background(), func(tx store.Tx) error { return tx.InsertSignIn(context.Background(), s) }); err != nil {
		c.t.Fatal(err)
	}
	return &account.Staff{User: *u, SignIn: s}
}

// withCode turns one-time codes on. It returns the secret and a function for the current code, moved by a number of
// 30 s steps.
func (c *testClinic) withCode(u *store.User) (secret []byte, code func(steps int) string) {
	c.t.Helper()
	return c.withCodeBy(u, kimsProof)
}

// withCodeBy is withCode for a user with another password.
func (c *testClinic) withCodeBy(u *store.User, proof account.Proof) (secret []byte, code func(steps int) string) {
	c.t.Helper()
	secret, _ = c.Account.BeginTOTP(u)
	now := time.Now()
	code = func(steps int) string { return engine.TOTPCode(secret, now.Add(time.Duration(steps)*30*time.Second)) }
	if err := c.Account.EnableTOTP(context.Background(), c.signedIn(u), proof, secret, code(-1)); err != nil {
		c.t.Fatal(err)
	}
	return secret, code
}

var kimsProof = account.Proof{Password: goodPassword}

var kim = account.Credentials{Email: "kim@example.org", Password: goodPassword, Address: "192.0.2.7", UserAgent: "a browser"}

func ofTheSignIn(s store.SignIn) bool { return s.UserAgent == kim.UserAgent }

func TestSignInUsesCurrentAccount(t *testing.T) {
	other := "a different password"
	for _, x := range []struct {
		name      string
		meanwhile func(c *testClinic, u store.User)
		want      error
	}{
		{"switched off", func(c *testClinic, u store.User) { c.updateUser(u.ID, func(u *store.User) { u.Active = false }) }, account.ErrWrongPassword},
		{"another address", func(c *testClinic, u store.User) {
			c.updateUser(u.ID, func(u *store.User) { u.Email = "lee@example.org" })
		}, account.ErrWrongPassword},
		{"another password", func(c *testClinic, u store.User) {
			if _, err := c.Account.UpdateUser(context.Background(), "system", u.ID, func(*store.User) {}, &other); err != nil {
				c.t.Error(err)
			}
		}, account.ErrWrongPassword},
		{"one-time codes", func(c *testClinic, u store.User) { c.withCode(&u) }, account.ErrCodeNeeded},
		{"another role", func(c *testClinic, u store.User) {
			c.updateUser(u.ID, func(u *store.User) { u.Role = store.RoleOwner })
		}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newClinic(t, map[string]int{"ada": 1})
			u := c.staff()
			var changed store.User
			e := c.beside(func() {
				x.meanwhile(c, u)
				changed = c.user(u.ID)
			})
			_, _, err := e.Account.SignIn(context.Background(), kim)
			if !errors.Is(err, x.want) {
				t.Errorf("got %v, want %v", err, x.want)
			}
			after := c.user(u.ID)
			if after.Active != changed.Active || after.Email != changed.Email || after.PasswordHash != changed.PasswordHash ||
				after.Role != changed.Role || string(after.TOTPSecret) != string(changed.TOTPSecret) {
				t.Errorf("the sign-in undid the change: got %+v, want %+v", after, changed)
			}
			if list, err := c.Account.SignIns(context.Background(), u.ID); err != nil || slices.ContainsFunc(list, ofTheSignIn) != (x.want == nil) {
				t.Errorf("open are %v, error %v; want one of this sign-in only if it succeeded", list, err)
			}
		})
	}
}

func TestOneTimeCodeSignsInOnce(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	u := c.staff()
	_, code := c.withCode(&u)
	with := kim
	with.Code = code(0)
	var in atomic.Int32
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			_, _, err := c.Account.SignIn(context.Background(), with)
			var backoff *account.BackoffError
			switch {
			case err == nil:
				in.Add(1)
			case !errors.Is(err, account.ErrWrongCode) && !errors.As(err, &backoff):
				t.Errorf("got %v, want ErrWrongCode or *BackoffError", err)
			}
		})
	}
	all.Wait()
	if n := in.Load(); n != 1 {
		t.Errorf("one code signed in %d times, want once", n)
	}
}

func TestUsedOneTimeCodeIsRefused(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	u := c.staff()
	secret, code := c.withCode(&u)
	var invalid *record.ValidationError
	proof := kimsProof
	proof.Code = code(0)
	if err := c.Account.EnableTOTP(context.Background(), c.signedIn(&u), proof, secret, code(0)); !errors.As(err, &invalid) {
		t.Errorf("the code that switched it on: got %v, want *ValidationError", err)
	}
}

func TestUserChangesAreNotLost(t *testing.T) {
	ctx, other := context.Background(), "a different password"
	for _, x := range []struct {
		name   string
		change func(c *testClinic, e *engine.Engine, u store.User) error
	}{
		{"name", func(_ *testClinic, e *engine.Engine, u store.User) error {
			_, err := e.Account.UpdateUser(ctx, "system", u.ID, func(u *store.User) { u.Name = "Kim Again" }, nil)
			return err
		}},
		{"password", func(_ *testClinic, e *engine.Engine, u store.User) error {
			_, err := e.Account.UpdateUser(ctx, "system", u.ID, func(*store.User) {}, &other)
			return err
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newClinic(t, map[string]int{"ada": 1})
			u := c.staff()
			e := c.beside(func() { c.updateUser(u.ID, func(u *store.User) { u.Active = false }) })
			if err := x.change(c, e, u); err != nil {
				t.Fatal(err)
			}
			if c.user(u.ID).Active {
				t.Error("the account that was switched off meanwhile is on again")
			}
		})
	}
}

func TestChangePasswordRefusesStaleChange(t *testing.T) {
	ctx, reset := context.Background(), "reset by the owner"
	for _, x := range []struct {
		name      string
		meanwhile func(c *testClinic, u store.User) error
		want      error
	}{
		{"reset by the owner", func(c *testClinic, u store.User) error {
			_, err := c.Account.UpdateUser(ctx, "system", u.ID, func(*store.User) {}, &reset)
			return err
		}, account.ErrWrongPassword},
		{"signed out", func(c *testClinic, u store.User) error {
			list, err := c.Account.SignIns(ctx, u.ID)
			for _, s := range list {
				err = errors.Join(err, c.Account.SignOut(ctx, s.ID))
			}
			return err
		}, record.ErrUnauthorized},
		{"nothing", func(*testClinic, store.User) error { return nil }, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newClinic(t, map[string]int{"ada": 1})
			u := c.staff()
			_, staff, err := c.Account.SignIn(ctx, kim)
			if err != nil {
				t.Fatal(err)
			}
			var want string
			e := c.beside(func() {
				if err := x.meanwhile(c, u); err != nil {
					t.Error(err)
				}
				want = c.user(u.ID).PasswordHash
			})
			if err := e.Account.ChangePassword(ctx, &staff, goodPassword, "chosen by the user"); !errors.Is(err, x.want) {
				t.Errorf("got %v, want %v", err, x.want)
			}
			if got := c.user(u.ID).PasswordHash; (got == want) != (x.want != nil) {
				t.Errorf("the password was replaced: %t, want %t", got != want, x.want == nil)
			}
		})
	}
}

func TestOwnersCannotAllStepDownAtOnce(t *testing.T) {
	ctx := context.Background()
	c := newClinic(t, map[string]int{"ada": 1})
	var owners []store.User
	for _, email := range []string{"a@example.org", "b@example.org", "c@example.org", "d@example.org"} {
		u, err := c.Account.CreateUser(ctx, "system", account.NewUser{Email: email, Name: email, Role: store.RoleOwner, Password: goodPassword})
		if err != nil {
			t.Fatal(err)
		}
		owners = append(owners, u)
	}
	var all sync.WaitGroup
	for _, u := range owners {
		all.Go(func() {
			_, _ = c.Account.UpdateUser(ctx, "system", u.ID, func(u *store.User) { u.Active = false }, nil)
		})
	}
	all.Wait()
	left := 0
	for _, u := range owners {
		if c.user(u.ID).Active {
			left++
		}
	}
	if left != 1 {
		t.Errorf("%d owners are left, want 1", left)
	}
}

func TestConcurrentSignInsCountGuesses(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	c.staff()
	var looked atomic.Int32
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			wrong := kim
			wrong.Password = "a wrong one, again"
			_, _, err := c.Account.SignIn(context.Background(), wrong)
			if errors.Is(err, account.ErrWrongPassword) {
				looked.Add(1)
			}
		})
	}
	all.Wait()
	if n := looked.Load(); n != 5 {
		t.Errorf("%d of 40 guesses at once were looked at, want 5", n)
	}
}
