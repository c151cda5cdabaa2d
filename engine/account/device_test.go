package account_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// wrongFrom returns a wrong guess at Kim's password from the given network.
func wrongFrom(network string) account.Credentials {
	wrong := kim
	wrong.Password, wrong.Address = "a wrong one, again", network
	return wrong
}

// TestOthersNeverLockOutKnownBrowser: failed sign-ins from anywhere never lock out a browser that has signed in to the
// account before. Any other browser has to wait, even with the right password.
func TestOthersNeverLockOutKnownBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("tries many passwords")
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		staff(c)
		ctx := context.Background()
		if _, _, err := c.Account.SignIn(ctx, kim); err != nil {
			t.Fatal(err)
		}
		known := kim
		known.Device = c.Account.DeviceToken(" Kim@Example.org")
		attack := func(network string) {
			for range 10 {
				_, _, err := c.Account.SignIn(ctx, wrongFrom(network))
				var backoff *account.BackoffError
				if !errors.Is(err, account.ErrWrongPassword) && !errors.As(err, &backoff) {
					t.Fatal(err)
				}
			}
		}
		for n := range 20 {
			attack(fmt.Sprintf("198.51.100.%d", n))
		}
		attack(kim.Address) // another person behind the same router
		var backoff *account.BackoffError
		for name, device := range map[string]string{
			"no token": "", "another account's": c.Account.DeviceToken("jo@example.org"),
			"a forged one": strings.Replace(known.Device, ".", ".0", 1), "half a one": known.Device[:20],
		} {
			with := kim
			with.Device = device
			if _, _, err := c.Account.SignIn(ctx, with); !errors.As(err, &backoff) {
				t.Errorf("with %s: got %v, want a wait", name, err)
			}
		}
		for range 20 {
			if _, _, err := c.Account.SignIn(ctx, known); err != nil {
				t.Errorf("from a known browser: %v", err)
			}
		}
		wrong := known
		wrong.Password = "a wrong one, again"
		n := 0
		for ; !errors.As(func() error { _, _, err := c.Account.SignIn(ctx, wrong); return err }(), &backoff); n++ {
			if n > 100 {
				t.Fatal("a known browser has no limit of guesses")
			}
		}
		if n != 10 {
			t.Errorf("a known browser made %d concurrent guesses, want 10", n)
		}
	})
}

// TestFailedSignInsAreInTheAuditLog: the audit log records failed sign-ins by account and network, but never the
// password that was typed.
func TestFailedSignInsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		u := staff(c)
		ctx := context.Background()
		for range 12 { // the server checks only the first five of them
			_, _, _ = c.Account.SignIn(ctx, wrongFrom("2001:db8:1:2::7"))
		}
		time.Sleep(time.Second)
		typed := wrongFrom("192.0.2.9")
		typed.Email = "my-secret-password"
		_, _, _ = c.Account.SignIn(ctx, typed)
		list, _, err := c.Record.Audit(ctx, store.AuditFilter{Action: "user.sign_in_failed"})
		if err != nil || len(list) != 2 {
			t.Fatalf("got %d entries, %v; want one for each account and network", len(list), err)
		}
		for i, want := range []struct{ subject, network string }{{"user:unknown", "192.0.2.9"},
			{"user:" + u.ID, "2001:db8:1:2::/64"}} {
			var said struct {
				Network  string
				Failures int
			}
			if err := json.Unmarshal(list[i].After, &said); err != nil || list[i].Subject != want.subject ||
				said.Network != want.network || said.Failures != 1 {
				t.Errorf("entry %d: got %s %s, %v; want %+v", i, list[i].Subject, list[i].After, err, want)
			}
			if strings.Contains(fmt.Sprintf("%+v", list[i])+string(list[i].After), "secret") {
				t.Errorf("the log contains the entered password: %+v", list[i])
			}
		}
	})
}
