package account_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

func TestSetupHappensOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		ctx := context.Background()
		token, err := c.Account.NewSetupToken(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Account.CheckSetup(ctx, token+"x"); !errors.Is(err, account.ErrSetupLink) {
			t.Errorf("a wrong token: got %v, want ErrSetupLink", err)
		}
		time.Sleep(account.SetupTTL)
		if err := c.Account.CheckSetup(ctx, token); !errors.Is(err, account.ErrSetupLink) {
			t.Errorf("an expired token: got %v, want ErrSetupLink", err)
		}
		if token, err = c.Account.NewSetupToken(ctx); err != nil {
			t.Fatal(err)
		}
		name := func(x *store.Clinic) { x.Name = "Set up" }
		if _, err := c.Account.Setup(ctx, token, enginetest.Owner(), name); err != nil {
			t.Fatal(err)
		}
		if got := c.Clinic.Schedule().Clinic.Name; got != "Set up" {
			t.Errorf("the clinic has the name %q", got)
		}
		if got := c.Clinic.Settings().ReminderHours; got != clinic.SetupReminderHours {
			t.Errorf("reminders after the setup: %d hours before, want the %d of the setup", got,
				clinic.SetupReminderHours)
		}
		if _, err := c.Account.Setup(ctx, token, enginetest.Owner(), name); !errors.Is(err, account.ErrSetupDone) {
			t.Errorf("a second use: got %v, want ErrSetupDone", err)
		}
		if _, err := c.Account.NewSetupToken(ctx); !errors.Is(err, account.ErrSetupDone) {
			t.Errorf("another link: got %v, want ErrSetupDone", err)
		}
	})
}

// TestPasswordsTakeFullWork: unless a test asks for quick passwords, an engine hashes passwords at the cost that OWASP
// recommends for argon2id.
func TestPasswordsTakeFullWork(t *testing.T) {
	t.Parallel()
	db := enginetest.Database(t)
	for quick, want := range map[bool]string{
		false: "$argon2id$v=19$m=19456,t=2,p=1$",
		true:  "$argon2id$v=19$m=8,t=1,p=1$",
	} {
		o := engine.Options{Store: db, Holds: enginetest.Holds(t, db), QuickPasswords: quick}
		e, err := engine.New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		n := enginetest.Owner()
		n.Email = fmt.Sprintf("%t@example.org", quick)
		u, err := e.Account.CreateUser(t.Context(), enginetest.Jo, n)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(u.PasswordHash, want) {
			t.Errorf("with quick passwords %t, the hash starts with %.34s, want %s", quick, u.PasswordHash, want)
		}
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		ctx := context.Background()
		u, err := c.Account.CreateUser(ctx, "system", enginetest.Owner())
		if err != nil {
			t.Fatal(err)
		}
		good := account.Credentials{Email: " owner@example.org", Password: enginetest.GoodPassword,
			Address: "192.0.2.1"}
		secret, _, err := c.Account.SignIn(ctx, good)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := c.Account.SignedIn(ctx, secret); err != nil || s.User.ID != u.ID {
			t.Errorf("signed in as %q: %v", s.User.ID, err)
		}
		if _, err := c.Account.SignedIn(ctx, secret+"x"); !errors.Is(err, record.ErrUnauthorized) {
			t.Errorf("another cookie: got %v, want ErrUnauthorized", err)
		}
		time.Sleep(account.SignInIdle - time.Minute)
		if _, err := c.Account.SignedIn(ctx, secret); err != nil {
			t.Errorf("just before the idle limit: %v", err)
		}
		time.Sleep(account.SignInIdle)
		if _, err := c.Account.SignedIn(ctx, secret); !errors.Is(err, record.ErrUnauthorized) {
			t.Errorf("after the idle limit: got %v, want ErrUnauthorized", err)
		}

		bad := good
		bad.Password = "something else entirely"
		var backoff *account.BackoffError
		for range 5 {
			if _, _, err := c.Account.SignIn(ctx, bad); !errors.Is(err, account.ErrWrongPassword) {
				t.Fatalf("a wrong password: got %v, want ErrWrongPassword", err)
			}
		}
		if _, _, err := c.Account.SignIn(ctx, good); !errors.As(err, &backoff) {
			t.Errorf("after five failures: got %v, want *BackoffError", err)
		}
		time.Sleep(time.Second)
		if _, _, err := c.Account.SignIn(ctx, good); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		other := "another good password"
		if _, err := c.Account.UpdateUser(ctx, "system", u.ID, func(*store.User) {}, &other); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Account.SignIn(ctx, good); !errors.Is(err, account.ErrWrongPassword) {
			t.Errorf("the old password: got %v, want ErrWrongPassword", err)
		}
	})
}

func TestLastOwnerIsKept(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	u, err := c.Account.CreateUser(ctx, "system", enginetest.Owner())
	if err != nil {
		t.Fatal(err)
	}
	var invalid *record.ValidationError
	if _, err := c.Account.UpdateUser(ctx, "system", u.ID, func(u *store.User) {
		u.Active = false
	}, nil); !errors.As(err, &invalid) {
		t.Errorf("deactivating the last owner: got %v, want *ValidationError", err)
	}
	n := enginetest.Owner()
	if _, err := c.Account.CreateUser(ctx, "system", n); !errors.As(err, &invalid) {
		t.Errorf("an address in use: got %v, want *ValidationError", err)
	}
	n.Email = "second@example.org"
	if _, err := c.Account.CreateUser(ctx, "system", n); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Account.UpdateUser(ctx, "system", u.ID, func(u *store.User) {
		u.Role = store.RoleReception
	}, nil); err != nil {
		t.Errorf("with a second owner: %v", err)
	}
}
