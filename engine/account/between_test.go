package account_test

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
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// Every change is decided in the transaction that writes it. These tests commit a second change between the read and
// the write of the first: from another server on the same database, or from many concurrent callers.

// staff adds a user and also an owner, so that every change to the user is allowed.
func staff(c *enginetest.TestClinic) store.User {
	c.T.Helper()
	ctx := context.Background()
	if _, err := c.Account.CreateUser(ctx, "system", enginetest.Owner()); err != nil {
		c.T.Fatal(err)
	}
	u, err := c.Account.CreateUser(ctx, "system", account.NewUser{Email: "kim@example.org",
		Name: "Kim", Role: store.RoleReception, Password: enginetest.GoodPassword})
	if err != nil {
		c.T.Fatal(err)
	}
	return u
}

func updateUser(c *enginetest.TestClinic, id string, edit func(*store.User)) {
	c.T.Helper()
	if _, err := c.Account.UpdateUser(context.Background(), "system", id, edit, nil); err != nil {
		c.T.Fatal(err)
	}
}

func user(c *enginetest.TestClinic, id string) store.User {
	c.T.Helper()
	u, err := c.Account.User(context.Background(), id)
	if err != nil {
		c.T.Fatal(err)
	}
	return u
}

// signedIn creates a sign-in for the user without checking a password or a code.
func signedIn(c *enginetest.TestClinic, u *store.User) *account.Staff {
	c.T.Helper()
	n, now := c.SignIns.Add(1), time.Now().UTC()
	s := store.SignIn{ID: fmt.Sprintf("sign-in-%d", n), Hash: [32]byte{byte(n)}, UserID: u.ID, CreatedAt: now,
		LastSeenAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := c.Store.Write(context.Background(), func(tx store.Tx) error {
		return tx.InsertSignIn(context.Background(), s)
	}); err != nil {
		c.T.Fatal(err)
	}
	return &account.Staff{User: *u, SignIn: s}
}

// withCode turns on one-time codes. It returns the secret and a function that returns the current code, shifted by a
// number of 30 s steps.
func withCode(c *enginetest.TestClinic, u *store.User) (secret []byte, code func(steps int) string) {
	c.T.Helper()
	return withCodeBy(c, u, kimsProof)
}

// withCodeBy is like withCode, for a user with a different password.
func withCodeBy(c *enginetest.TestClinic, u *store.User,
	proof account.Proof) (secret []byte, code func(steps int) string) {
	c.T.Helper()
	secret, _ = c.Account.BeginTOTP(u)
	now := time.Now()
	code = func(steps int) string { return account.TOTPCode(secret, now.Unix()/account.TotpStep+int64(steps)) }
	if err := c.Account.EnableTOTP(context.Background(), signedIn(c, u), proof, secret, code(-1)); err != nil {
		c.T.Fatal(err)
	}
	return secret, code
}

var kimsProof = account.Proof{Password: enginetest.GoodPassword}

var kim = account.Credentials{Email: "kim@example.org", Password: enginetest.GoodPassword, Address: "192.0.2.7",
	UserAgent: "a browser"}

func ofTheSignIn(s store.SignIn) bool { return s.UserAgent == kim.UserAgent }

func TestSignInUsesCurrentAccount(t *testing.T) {
	t.Parallel()
	other := "a different password"
	for _, x := range []struct {
		name      string
		meanwhile func(c *enginetest.TestClinic, u store.User)
		want      error
	}{
		{"switched off", func(c *enginetest.TestClinic, u store.User) {
			updateUser(c, u.ID, func(u *store.User) { u.Active = false })
		}, account.ErrWrongPassword},
		{"another address", func(c *enginetest.TestClinic, u store.User) {
			updateUser(c, u.ID, func(u *store.User) { u.Email = "lee@example.org" })
		}, account.ErrWrongPassword},
		{"another password", func(c *enginetest.TestClinic, u store.User) {
			if _, err := c.Account.UpdateUser(context.Background(), "system", u.ID, func(*store.User) {},
				&other); err != nil {
				c.T.Error(err)
			}
		}, account.ErrWrongPassword},
		{"one-time codes", func(c *enginetest.TestClinic, u store.User) { withCode(c, &u) }, account.ErrCodeNeeded},
		{"another role", func(c *enginetest.TestClinic, u store.User) {
			updateUser(c, u.ID, func(u *store.User) { u.Role = store.RoleOwner })
		}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := enginetest.NewClinic(t, map[string]int{"ada": 1})
			u := staff(c)
			var changed store.User
			e := c.Beside(func() {
				x.meanwhile(c, u)
				changed = user(c, u.ID)
			})
			_, _, err := e.Account.SignIn(context.Background(), kim)
			if !errors.Is(err, x.want) {
				t.Errorf("got %v, want %v", err, x.want)
			}
			after := user(c, u.ID)
			if after.Active != changed.Active || after.Email != changed.Email ||
				after.PasswordHash != changed.PasswordHash ||
				after.Role != changed.Role || string(after.TOTPSecret) != string(changed.TOTPSecret) {
				t.Errorf("the sign-in undid the change: got %+v, want %+v", after, changed)
			}
			if list, err := c.Account.SignIns(context.Background(), u.ID); err != nil ||
				slices.ContainsFunc(list, ofTheSignIn) != (x.want == nil) {
				t.Errorf("sessions are %v, error %v; want this sign-in's only if it succeeded", list, err)
			}
		})
	}
}

func TestOneTimeCodeSignsInOnce(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	u := staff(c)
	_, code := withCode(c, &u)
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
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	u := staff(c)
	secret, code := withCode(c, &u)
	var invalid *record.ValidationError
	proof := kimsProof
	proof.Code = code(0)
	if err := c.Account.EnableTOTP(context.Background(), signedIn(c, &u), proof, secret, code(0)); !errors.As(err,
		&invalid) {
		t.Errorf("the code that turned it on: got %v, want *ValidationError", err)
	}
}

func TestUserChangesAreNotLost(t *testing.T) {
	t.Parallel()
	ctx, other := context.Background(), "a different password"
	for _, x := range []struct {
		name   string
		change func(c *enginetest.TestClinic, e *engine.Engine, u store.User) error
	}{
		{"name", func(_ *enginetest.TestClinic, e *engine.Engine, u store.User) error {
			_, err := e.Account.UpdateUser(ctx, "system", u.ID, func(u *store.User) { u.Name = "Kim Again" }, nil)
			return err
		}},
		{"password", func(_ *enginetest.TestClinic, e *engine.Engine, u store.User) error {
			_, err := e.Account.UpdateUser(ctx, "system", u.ID, func(*store.User) {}, &other)
			return err
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := enginetest.NewClinic(t, map[string]int{"ada": 1})
			u := staff(c)
			e := c.Beside(func() { updateUser(c, u.ID, func(u *store.User) { u.Active = false }) })
			if err := x.change(c, e, u); err != nil {
				t.Fatal(err)
			}
			if user(c, u.ID).Active {
				t.Error("the deactivated account is active again")
			}
		})
	}
}

func TestChangePasswordRefusesStaleChange(t *testing.T) {
	t.Parallel()
	ctx, reset := context.Background(), "reset by the owner"
	for _, x := range []struct {
		name      string
		meanwhile func(c *enginetest.TestClinic, u store.User) error
		want      error
	}{
		{"reset by the owner", func(c *enginetest.TestClinic, u store.User) error {
			_, err := c.Account.UpdateUser(ctx, "system", u.ID, func(*store.User) {}, &reset)
			return err
		}, account.ErrWrongPassword},
		{"signed out", func(c *enginetest.TestClinic, u store.User) error {
			list, err := c.Account.SignIns(ctx, u.ID)
			for _, s := range list {
				err = errors.Join(err, c.Account.SignOut(ctx, s.ID))
			}
			return err
		}, record.ErrUnauthorized},
		{"nothing", func(*enginetest.TestClinic, store.User) error { return nil }, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := enginetest.NewClinic(t, map[string]int{"ada": 1})
			u := staff(c)
			_, staff, err := c.Account.SignIn(ctx, kim)
			if err != nil {
				t.Fatal(err)
			}
			var want string
			e := c.Beside(func() {
				if err := x.meanwhile(c, u); err != nil {
					t.Error(err)
				}
				want = user(c, u.ID).PasswordHash
			})
			if err := e.Account.ChangePassword(ctx, &staff, enginetest.GoodPassword,
				"chosen by the user"); !errors.Is(err, x.want) {
				t.Errorf("got %v, want %v", err, x.want)
			}
			if got := user(c, u.ID).PasswordHash; (got == want) != (x.want != nil) {
				t.Errorf("the password was replaced: %t, want %t", got != want, x.want == nil)
			}
		})
	}
}

func TestLastOwnersCannotBothStepDown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	var owners []store.User
	for _, email := range []string{"a@example.org", "b@example.org", "c@example.org", "d@example.org"} {
		u, err := c.Account.CreateUser(ctx, "system", account.NewUser{Email: email,
			Name: email, Role: store.RoleOwner, Password: enginetest.GoodPassword})
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
		if user(c, u.ID).Active {
			left++
		}
	}
	if left != 1 {
		t.Errorf("%d owners remain, want 1", left)
	}
}

func TestConcurrentSignInsCountGuesses(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	staff(c)
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
		t.Errorf("%d of 40 concurrent guesses were checked, want 5", n)
	}
}
