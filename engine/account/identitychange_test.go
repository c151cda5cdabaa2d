package account_test

import (
	"errors"
	"testing"

	"holdfast/engine/account"
	"holdfast/engine/enginetest"
	"holdfast/engine/openid"
	"holdfast/engine/openid/openidtest"
	"holdfast/store"
)

// TestIdentityOfOtherClientIsRefused: a provider may use different subjects for a new client id. The server then
// identifies users by their email address again, each address only once.
func TestIdentityOfOtherClientIsRefused(t *testing.T) {
	t.Parallel()
	c, p, olga := identityClinic(t)
	if _, err := finish(c, begin(c, p)); err != nil {
		t.Fatal(err)
	}
	p.Do(func(p *openidtest.Provider) { p.ClientID, p.Who["sub"] = "holdfast 2", "pairwise-olga" })
	if err := c.Account.Identity.Put(t.Context(), "user:olga", wishFor(p)); err != nil {
		t.Fatal(err)
	}
	staff, err := finish(c, begin(c, p))
	if want := p.Issuer + " holdfast+2 pairwise-olga"; err != nil || staff.User.ID != olga.ID ||
		staff.User.Identity != want {
		t.Errorf("got %+v, %v; want olga as %q", staff.User, err, want)
	}
	p.Do(func(p *openidtest.Provider) { p.Who["sub"] = "pairwise-mallory" })
	if _, err := finish(c, begin(c, p)); !errors.Is(err, account.ErrOtherIdentity) {
		t.Errorf("olga's address, given to another user: got %v", err)
	}
}

// TestPasswordWorksWithoutProvider: if the server lacks the key to the client's secret, no user can sign in with the
// identity provider, and all users can sign in by password.
func TestPasswordWorksWithoutProvider(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, p, _ := identityClinic(t)
	otto, err := c.Account.CreateUser(ctx, "system", account.NewUser{Email: "otto@clinic.example",
		Name: "Otto", Role: store.RoleReception, Password: enginetest.GoodPassword})
	if err != nil {
		t.Fatal(err)
	}
	w := wishFor(p)
	w.OwnersOnly = true
	if err := c.Account.Identity.Put(ctx, "user:olga", w); err != nil {
		t.Fatal(err)
	}
	signIn := func() error {
		_, _, err := c.Account.SignIn(ctx, account.Credentials{Email: otto.Email, Password: enginetest.GoodPassword})
		return err
	}
	if err := signIn(); !errors.Is(err, account.ErrPasswordOff) {
		t.Errorf("while the provider works: got %v", err)
	}
	err = c.Clinic.OpenID(nil).Put(ctx, "system", func(p *openid.Provider) (*openid.Provider, string, error) {
		after := *p
		after.Sealed = "seal1.0000.AAAA"
		return &after, "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := signIn(); err != nil {
		t.Errorf("after a restore with other keys: %v", err)
	}
}
