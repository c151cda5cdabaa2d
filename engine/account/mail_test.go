package account_test

import (
	"context"
	"io"
	"mime/quotedprintable"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestAccountChangeNotifiesUser: when the password, the one-time codes or the email address of an account change, the
// user gets an email in the clinic's language at the address that the account had before the change. It does not matter
// who made the change. Other changes and refused changes cause no email.
func TestAccountChangeNotifiesUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		ctx := context.Background()
		if _, err := c.Clinic.UpdateClinic(ctx, "system", func(k *store.Clinic) {
			k.Name, k.Locale = "Praxis am Kai", "de"
		}); err != nil {
			t.Fatal(err)
		}
		// news returns the emails that have arrived since its last call.
		seen := make(map[string]bool)
		news := func() (all []string) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			list, err := filepath.Glob(filepath.Join(folder, "*.eml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range list {
				raw, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if text, _ := io.ReadAll(quotedprintable.NewReader(strings.NewReader(string(raw)))); !seen[name] {
					all = append(all, string(text))
				}
				seen[name] = true
			}
			return all
		}
		want := func(what, to string, words ...string) {
			t.Helper()
			got := news()
			if len(got) != len(words) {
				t.Errorf("%s: got %d mails, want %d: %q", what, len(got), len(words), got)
				return
			}
			for _, word := range words {
				if all := strings.Join(got, ""); !strings.Contains(all, word) {
					t.Errorf("%s: no email contains %q: %s", what, word, all)
				}
			}
			for _, text := range got {
				if !strings.Contains(text, "<"+to+">") || !strings.Contains(text, "Praxis am Kai") ||
					!strings.Contains(text, "Wenn nicht, wenden Sie sich sofort") ||
					strings.Contains(text, "{clinic") || strings.Contains(text, "{when") ||
					strings.Contains(text, "{you") {
					t.Errorf("%s: got %s", what, text)
				}
			}
		}
		const password, codes, app, address = "das Passwort Ihres Kontos", "keinen Einmalcode mehr",
			"jetzt auch einen Einmalcode aus einer App", "eine andere E-Mail-Adresse"
		u := staff(c)
		want("a new account", "")
		secret, _ := withCode(c, &u)
		want("codes switched on", "kim@example.org", app)
		here := signedIn(c, &u)
		if err := c.Account.ChangePassword(ctx, here, "not the right one", "another few words"); err == nil {
			t.Fatal("a wrong password was accepted")
		}
		want("a change that was refused", "")
		if err := c.Account.ChangePassword(ctx, here, enginetest.GoodPassword, "another few words"); err != nil {
			t.Fatal(err)
		}
		want("the own password", "kim@example.org", password)
		if err := c.Account.DisableTOTP(ctx, here, account.Proof{Password: "another few words",
			Code: account.TOTPCode(secret, time.Now().Unix()/account.TotpStep)}); err != nil {
			t.Fatal(err)
		}
		want("the own codes", "kim@example.org", codes)
		withCodeBy(c, &u, account.Proof{Password: "another few words"})
		want("codes switched on again", "kim@example.org", app)
		if _, err := c.Account.UpdateUser(ctx, "system", u.ID, func(u *store.User) {
			u.Name = "Kim B."
		}, nil); err != nil {
			t.Fatal(err)
		}
		want("another name", "")
		// A person runs the command on the server's machine and also replaces the user's address with a different one.
		reset := "words by somebody else"
		if _, err := c.Account.UpdateUser(ctx, "system", u.ID, func(u *store.User) {
			u.TOTPSecret, u.Email = nil, "taken@example.org"
		}, &reset); err != nil {
			t.Fatal(err)
		}
		want("a password reset", "kim@example.org", password, codes, address)
		// The password and then the address change before the first email is sent. The email goes to the address that
		// the account had before the takeover.
		again := "more words by somebody else"
		if _, err := c.Account.UpdateUser(ctx, "system", u.ID, func(*store.User) {}, &again); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Account.UpdateUser(ctx, "system", u.ID, func(u *store.User) {
			u.Email = "again@example.org"
		}, nil); err != nil {
			t.Fatal(err)
		}
		want("an account that is taken over", "taken@example.org", password, address)
		// The first sign-in with an identity links it. Later ones change nothing, and a new account has no earlier
		// user to notify.
		by := account.Identity{Issuer: "https://id.example", ClientID: "holdfast", Subject: "kim",
			Email: "again@example.org", By: "Clinic account"}
		for _, mails := range [][]string{{"Identitätsanbieter der Praxis"}, nil} {
			if _, _, err := c.Account.SignInByIdentity(ctx, by); err != nil {
				t.Fatal(err)
			}
			want("a sign-in with an identity", "again@example.org", mails...)
		}
		by.Subject, by.Email, by.NewRole = "nina", "nina@example.org", store.RoleReception
		if _, _, err := c.Account.SignInByIdentity(ctx, by); err != nil {
			t.Fatal(err)
		}
		want("a new account of an identity", "")
	})
}
