package account_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"holdfast/engine/account"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// TestDeactivatedSpecialistCannotSignIn: if an account is linked to a specialist, deactivating the specialist ends the
// existing sign-ins and blocks every way to sign in.
func TestDeactivatedSpecialistCannotSignIn(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := t.Context()
	user := account.NewUser{Email: "ada@example.org", Name: "Ada", Role: store.RoleSpecialist, SpecialistID: "ada",
		Password: enginetest.GoodPassword}
	if _, err := c.Account.CreateUser(ctx, "system", user); err != nil {
		t.Fatal(err)
	}
	password := account.Credentials{Email: user.Email, Password: enginetest.GoodPassword, Address: "192.0.2.1"}
	identity := account.Identity{Issuer: "https://id.example.org", ClientID: "c", Subject: "1", Email: user.Email,
		HasSecondFactor: true}
	signIns := func() (secret string, byPassword, byIdentity error) {
		secret, _, byPassword = c.Account.SignIn(ctx, password)
		_, _, byIdentity = c.Account.SignInByIdentity(ctx, identity)
		return secret, byPassword, byIdentity
	}
	activate := func(active bool) {
		t.Helper()
		if _, err := c.Clinic.UpdateSpecialist(ctx, "system", "ada", func(p *store.Specialist) {
			p.Active = active
		}); err != nil {
			t.Fatal(err)
		}
	}
	secret, byPassword, byIdentity := signIns()
	if byPassword != nil || byIdentity != nil {
		t.Fatalf("an active specialist: password %v, identity %v", byPassword, byIdentity)
	}
	activate(false)
	if _, err := c.Account.SignedIn(ctx, secret); !errors.Is(err, record.ErrUnauthorized) {
		t.Errorf("the earlier session: got %v, want ErrUnauthorized", err)
	}
	_, byPassword, byIdentity = signIns()
	if !errors.Is(byPassword, account.ErrWrongPassword) {
		t.Errorf("password: got %v, want ErrWrongPassword", byPassword)
	}
	if !errors.Is(byIdentity, account.ErrStranger) {
		t.Errorf("identity: got %v, want ErrStranger", byIdentity)
	}
	activate(true)
	if _, byPassword, byIdentity = signIns(); byPassword != nil || byIdentity != nil {
		t.Errorf("reactivated: password %v, identity %v", byPassword, byIdentity)
	}
}

// TestUserOfArchivedSpecialistCanBeDeactivated: a colleague leaves and the specialist is archived. After that, an owner
// can still change and deactivate the account, but cannot link another account to the specialist.
func TestUserOfArchivedSpecialistCanBeDeactivated(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "ben": 1})
	ctx := t.Context()
	create := func(email, specialistID string) store.User {
		t.Helper()
		u, err := c.Account.CreateUser(ctx, "system", account.NewUser{Email: email, Name: "Someone",
			Role: store.RoleSpecialist, SpecialistID: specialistID, Password: enginetest.GoodPassword})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	left, other := create("ada@example.org", "ada"), create("ben@example.org", "ben")
	if err := c.Clinic.ArchiveSpecialist(ctx, "system", "ada"); err != nil {
		t.Fatal(err)
	}
	got, err := c.Account.UpdateUser(ctx, "system", left.ID, func(u *store.User) {
		u.Name, u.Active = "Ada", false
	}, nil)
	if err != nil || got.Active || got.Name != "Ada" {
		t.Errorf("deactivating the account: %v, %v", got, err)
	}
	_, err = c.Account.UpdateUser(ctx, "system", other.ID, func(u *store.User) { u.SpecialistID = "ada" }, nil)
	if wrong := (*record.ValidationError)(nil); !errors.As(err, &wrong) {
		t.Errorf("linking another account to the archived specialist: got %v, want a ValidationError", err)
	}
}

func TestSignInStoresValidUserAgent(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	if _, err := c.Account.CreateUser(t.Context(), "system", enginetest.Owner()); err != nil {
		t.Fatal(err)
	}
	for name, agent := range map[string]string{
		"cut inside a character": strings.Repeat("a", 299) + "ü",
		"Latin-1":                "M\xfcller/1.0",
		"only continuations":     strings.Repeat("\x80", 400),
	} {
		_, staff, err := c.Account.SignIn(t.Context(), account.Credentials{Email: "owner@example.org",
			Password: enginetest.GoodPassword, Address: "192.0.2.1", UserAgent: agent})
		if got := staff.SignIn.UserAgent; err != nil || !utf8.ValidString(got) || len(got) > 300 || got == "" {
			t.Errorf("%s: stored %q, %v", name, got, err)
		}
	}
}
