package browsertest

import (
	"encoding/base32"
	"strings"
	"testing"
	"time"

	"holdfast/engine/account"
	"holdfast/store"
)

// TestStaffManageOwnAccount: a member of staff sees and ends their other sign-ins, changes the password, and turns
// one-time codes on.
func TestStaffManageOwnAccount(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	email := string(store.RoleReception) + "@clinic.example"
	windows := header{"User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0"}
	signIn := map[string]any{"email": email, "password": password}
	h.must(200, "POST", "/v1/auth/sign-in", signIn, windows)

	p.click(".side .me a")
	p.says("Edge on Windows")
	p.says("This browser")
	p.press("Sign out the other device")
	p.accessible("asking before a sign-in is ended")
	p.saved()
	p.says("Your other devices have been signed out.")
	p.until(`!document.querySelector('main').innerText.includes('Edge on Windows')`)
	if list, _ := h.engine.Account.SignIns(t.Context(), h.userID(email)); len(list) != 1 {
		t.Errorf("%d sign-ins remain, want one", len(list))
	}

	// The error for an incorrect current password appears next to its field, and nothing changes.
	next := "other words, together"
	p.fill("#me-current", "not the password")
	p.fill("#me-new", next)
	p.press("Change password")
	p.there(".summary:focus")
	p.accessible("a wrong present password")
	p.run(`document.querySelector('#me-current').select()`)
	p.write(password)
	p.press("Change password")
	p.says("Your password has been changed.")
	h.must(401, "POST", "/v1/auth/sign-in", signIn)
	signIn["password"] = next
	h.must(200, "POST", "/v1/auth/sign-in", signIn)

	// The user enters the secret into an authenticator app before the page asks for a code.
	p.press("Set up")
	p.there(".qr")
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(ask[string](p,
		`document.querySelector('#me-secret').value`))
	if err != nil {
		t.Fatal(err)
	}
	p.accessible("setting up a code")
	p.shot("account-code")
	p.fill("#me-code", account.TOTPCode(secret, time.Now().Unix()/account.TotpStep))
	p.fill("#me-proof", next)
	p.press("Turn on")
	p.says("Two-factor authentication is on.")
	if got := h.must(401, "POST", "/v1/auth/sign-in", signIn); !strings.Contains(got.raw, "code_needed") {
		t.Errorf("with the password alone: %s", got.raw)
	}
	p.shot("account")
}

// userID returns the id of the user with the given email address.
func (h *house) userID(email string) string {
	h.t.Helper()
	users, err := h.engine.Account.Users(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, u := range users {
		if u.Email == email {
			return u.ID
		}
	}
	h.t.Fatalf("sign-in as %s failed", email)
	return ""
}

// TestConsoleLocksWhenUserIsDeactivated: the console of a user who is deactivated hides the patients without a press,
// on the calendar and on a page without dates.
func TestConsoleLocksWhenUserIsDeactivated(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{"calendar": "", "queue": "#queue"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			p := h.desk(t, store.RoleReception)
			if page != "" {
				p.run(`location.hash = ` + quoted(page))
				p.there(".office-in")
			}
			h.must(200, "PATCH", "/v1/users/"+h.userID(string(store.RoleReception)+"@clinic.example"),
				map[string]any{"active": false}, asAdmin)
			p.there("dialog.veil #sign-password")
		})
	}
}
