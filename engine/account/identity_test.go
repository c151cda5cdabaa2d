package account_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/enginetest"
	"holdfast/engine/openid"
	"holdfast/engine/openid/openidtest"
	"holdfast/engine/record"
	"holdfast/store"
)

// These tests sign in with an identity provider. They check which users are admitted and that forged input is rejected.
// The provider runs over TLS and signs with real keys.

const returnURL = "https://book.example.org" + account.ReturnPath

// identityClinic opens a clinic whose owner has chosen a provider, and creates the user olga with the email address
// that the provider has for her.
func identityClinic(t *testing.T, change ...func(*engine.Options)) (*enginetest.TestClinic, *openidtest.Provider,
	store.User) {
	t.Helper()
	p := (&openidtest.Provider{ClientID: "holdfast", Secret: "canary secret", Redirect: returnURL,
		Who: claimsOf("olga")}).Serve(t)
	c, _ := enginetest.NoticeClinic(t, append(change, func(o *engine.Options) {
		o.OpenID = openid.NewClient(p.Roots)
	})...)
	if err := c.Account.Identity.Put(t.Context(), "user:owner", wishFor(p)); err != nil {
		t.Fatal(err)
	}
	u, err := c.Account.CreateUser(t.Context(), "system", account.NewUser{Email: "olga@clinic.example",
		Name: "Olga", Role: store.RoleOwner, Password: enginetest.GoodPassword})
	if err != nil {
		t.Fatal(err)
	}
	return c, p, u
}

func wishFor(p *openidtest.Provider) account.ProviderWish {
	return account.ProviderWish{Name: "Clinic account", Issuer: p.Issuer, ClientID: p.ClientID, Secret: p.Secret,
		Domains: []string{"clinic.example"}}
}

func claimsOf(name string) map[string]any {
	return map[string]any{"sub": "id-" + name, "email": name + "@clinic.example", "email_verified": true, "name": name}
}

// begin starts a sign-in and follows it through the provider. It returns the browser's cookie and the query of the
// redirect back.
func begin(c *enginetest.TestClinic, p *openidtest.Provider) account.Return {
	c.T.Helper()
	address, cookie, err := c.Account.Identity.Begin(c.T.Context())
	if err != nil {
		c.T.Fatal(err)
	}
	return returned(cookie, p.Follow(c.T, address))
}

func returned(cookie string, back *url.URL) account.Return {
	q := back.Query()
	return account.Return{Cookie: cookie, State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"),
		Error: q.Get("error"), Address: "192.0.2.7", UserAgent: "browser"}
}

func finish(c *enginetest.TestClinic, r account.Return) (account.Staff, error) {
	secret, staff, _, err := c.Account.Identity.Finish(c.T.Context(), r)
	if err == nil {
		if _, err := c.Account.SignedIn(c.T.Context(), secret); err != nil {
			c.T.Errorf("the sign-in's secret works as a session: %v", err)
		}
	}
	return staff, err
}

// TestSignInWithIdentityProvider: the first sign-in finds the user by the email address that the provider has verified.
// Later sign-ins find the user by the provider's subject, whatever the email address is.
func TestSignInWithIdentityProvider(t *testing.T) {
	t.Parallel()
	c, p, olga := identityClinic(t)
	for i, name := range []string{"olga", "olga-married"} {
		p.Do(func(p *openidtest.Provider) { p.Who["email"] = name + "@clinic.example" })
		staff, err := finish(c, begin(c, p))
		if err != nil || staff.User.ID != olga.ID || staff.User.Identity != p.Issuer+" holdfast id-olga" {
			t.Fatalf("sign-in %d: got %+v, %v; want olga", i+1, staff.User, err)
		}
	}
	var seen []string
	entries, _, err := c.Record.Audit(t.Context(), store.AuditFilter{Subjects: []string{"user:" + olga.ID}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		seen = append(seen, e.Action+" "+e.Reason)
	}
	if !slices.Contains(seen, "user.linked Clinic account") || !slices.Contains(seen, "user.signed_in Clinic account") {
		t.Errorf("the audit log contains %q", seen)
	}
	// The client picks up the provider's new key.
	p.Rotate(openidtest.NewRSAKey(t, "second"))
	if _, err := finish(c, begin(c, p)); err != nil {
		t.Errorf("after the provider changed its key: %v", err)
	}
}

// TestUnknownIdentityIsRefused is a table of attacks. Each starts as a genuine sign-in by olga.
func TestUnknownIdentityIsRefused(t *testing.T) {
	t.Parallel()
	lie := func(claim string, value any) func(*openidtest.Provider) {
		return func(p *openidtest.Provider) {
			p.Lie = func(_, claims map[string]any) { claims[claim] = value }
		}
	}
	stolen := openidtest.NewKey(t, "first")
	c, p, olga := identityClinic(t)
	if _, err := finish(c, begin(c, p)); err != nil {
		t.Fatal(err)
	}
	for i, x := range []struct {
		name   string
		change func(*openidtest.Provider)
		back   func(*account.Return)
		want   error
	}{
		{"a wrong nonce", lie("nonce", "another"), nil, openid.ErrRefused},
		{"no nonce", lie("nonce", ""), nil, openid.ErrRefused},
		{"for another client", lie("aud", "another"), nil, openid.ErrRefused},
		{"for this client and others, and made for another", func(p *openidtest.Provider) {
			p.Lie = func(_, claims map[string]any) {
				claims["aud"], claims["azp"] = []string{"another", "holdfast"}, "another"
			}
		}, nil, openid.ErrRefused},
		{"several audiences without an authorized party", lie("aud", []string{"another", "holdfast"}), nil, openid.ErrRefused},
		{"of another issuer", lie("iss", "https://evil.example"), nil, openid.ErrRefused},
		{"over for longer than clocks may differ", lie("exp", time.Now().Add(-skewed).Unix()), nil, openid.ErrRefused},
		{"not valid yet", lie("nbf", time.Now().Add(skewed).Unix()), nil, openid.ErrRefused},
		{"without a subject", lie("sub", ""), nil, openid.ErrRefused},
		{"not signed", func(p *openidtest.Provider) {
			p.Lie = func(header, _ map[string]any) { header["alg"] = "none" }
			p.Forge = func(token string) string { return token[:strings.LastIndexByte(token, '.')+1] }
		}, nil, openid.ErrRefused},
		{"signed with what the client knows", func(p *openidtest.Provider) {
			p.Lie = func(header, _ map[string]any) { header["alg"] = "HS256" }
		}, nil, openid.ErrRefused},
		{"signed with a key that is not the issuer's, under its name", func(p *openidtest.Provider) {
			p.SignWith = stolen
		}, nil, openid.ErrRefused},
		{"changed after it was signed", func(p *openidtest.Provider) {
			p.Forge = asSomebodyElse
		}, nil, openid.ErrRefused},
		{"no token at all", func(p *openidtest.Provider) {
			p.Forge = func(string) string { return "" }
		}, nil, openid.ErrRefused},
		{"an unknown code", nil, func(r *account.Return) { r.Code = "guessed" }, openid.ErrRefused},
		{"the code of another sign-in", nil, func(r *account.Return) { r.Code = begin(c, p).Code }, openid.ErrRefused},
		{"the state of another browser", nil, func(r *account.Return) {
			r.Cookie = begin(c, p).Cookie
		}, account.ErrBegin},
		{"no state", nil, func(r *account.Return) { r.State = "" }, account.ErrBegin},
		{"no cookie", nil, func(r *account.Return) { r.Cookie = "" }, account.ErrBegin},
		{"begun too long ago", nil, func(r *account.Return) { r.Cookie = aged(c, r.Cookie) }, account.ErrBegin},
		{"a cookie that was made up", nil, func(r *account.Return) { r.Cookie = "seal1.0000.AAAA" }, account.ErrBegin},
		{"another issuer's answer", func(p *openidtest.Provider) {
			p.Extra = url.Values{"iss": {"https://evil.example"}}
		}, nil, openid.ErrRefused},
		{"who said no there", func(p *openidtest.Provider) { p.Who = nil }, nil, account.ErrDenied},
		{"an unknown identity", func(p *openidtest.Provider) {
			p.Who = claimsOf("stranger")
		}, nil, account.ErrStranger},
		{"an unverified address", func(p *openidtest.Provider) {
			p.Who = claimsOf("olga")
			p.Who["sub"], p.Who["email_verified"] = "id-mallory", false
		}, nil, account.ErrUnverified},
		{"an address of another domain", func(p *openidtest.Provider) {
			p.Who = claimsOf("olga")
			p.Who["sub"], p.Who["email"] = "id-mallory", "olga@evil.example"
		}, nil, account.ErrUnverified},
		{"olga's address with another subject", func(p *openidtest.Provider) {
			p.Who = claimsOf("olga")
			p.Who["sub"] = "id-mallory"
		}, nil, account.ErrOtherIdentity},
		{"nothing wrong", nil, nil, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.T = t
			p.Do(func(p *openidtest.Provider) {
				p.Who, p.Lie, p.Forge, p.SignWith, p.Extra = claimsOf("olga"), nil, nil, nil, nil
				if x.change != nil {
					x.change(p)
				}
			})
			r := begin(c, p)
			// use a new address each time, because failures count by network
			r.Address = netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}).String()
			if x.back != nil {
				x.back(&r)
			}
			staff, err := finish(c, r)
			if !errors.Is(err, x.want) || err == nil && staff.User.ID != olga.ID {
				t.Errorf("got %s, %v; want %v", staff.Email, err, x.want)
			}
			if _, err := finish(c, r); !errors.Is(err, account.ErrBegin) {
				t.Errorf("second use of the code: got %v, want an error", err)
			}
		})
	}
}

// TestRefusedIdentityIsLogged: the log names the error code of the provider, or what is wrong with its response. Text
// that a browser made up is not logged.
func TestRefusedIdentityIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c, p, _ := identityClinic(t, func(o *engine.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, x := range []struct {
		name   string
		change func(*openidtest.Provider)
		want   string
	}{
		{"an error code", func(p *openidtest.Provider) { p.Extra = url.Values{"error": {"invalid_scope"}} },
			"returned=invalid_scope"},
		{"made-up text", func(p *openidtest.Provider) { p.Extra = url.Values{"error": {"Jo's password"}} },
			`returned="an unknown error"`},
		{"neither a code nor an error", func(p *openidtest.Provider) { p.Extra = url.Values{"code": {""}} },
			`returned="no code"`},
		{"the nonce of another sign-in", func(p *openidtest.Provider) {
			p.Lie = func(_, claims map[string]any) { claims["nonce"] = "another" }
		}, "nonce"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.T = t
			p.Do(func(p *openidtest.Provider) { p.Extra, p.Lie = nil, nil; x.change(p) })
			log.Reset()
			if _, err := finish(c, begin(c, p)); err == nil {
				t.Error("signed in, want an error")
			}
			if got := log.String(); !strings.Contains(got, x.want) || strings.Contains(got, "password") {
				t.Errorf("the log is %q, want %s", got, x.want)
			}
		})
	}
}

// aged returns the cookie with an earlier start time, so that its sign-in is too old.
func aged(c *enginetest.TestClinic, cookie string) string {
	text, _ := c.Booking.Keys().Open(cookie, "openid sign-in")
	var begun map[string]any
	_ = json.Unmarshal([]byte(text), &begun)
	begun["u"] = time.Now().Unix()
	b, _ := json.Marshal(begun)
	return c.Booking.Keys().Seal(string(b), "openid sign-in")
}

const skewed = 10 * time.Minute

// asSomebodyElse replaces the subject in a token with another person's.
func asSomebodyElse(token string) string {
	parts := strings.Split(token, ".")
	b, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims map[string]any
	_ = json.Unmarshal(b, &claims)
	claims["sub"] = "id-other"
	b, _ = json.Marshal(claims)
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(b) + "." + parts[2]
}

// TestFailedReturnCountsForItsNetwork: a failed return counts against the network, like a wrong password for any
// account. A successful sign-in does not reset these failures.
func TestFailedReturnCountsForItsNetwork(t *testing.T) {
	t.Parallel()
	// fake time: the wait is 1 s, and on a busy machine one return can take that long
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		c, p, olga := identityClinic(t)
		const free = 20
		var backoff *account.BackoffError
		for i := range free {
			r := begin(c, p)
			switch i % 4 {
			case 0:
				r.Code = "guessed"
			case 1:
				r.State = "guessed"
			case 2:
				r.Code, r.Error = "", "access_denied"
			case 3:
				// A return in a browser that has not started a sign-in here does not count as an attempt. So a page
				// that redirects browsers to this address cannot lock a user out.
				unbegun := account.Return{State: r.State, Code: r.Code, Address: r.Address}
				if _, err := finish(c, unbegun); !errors.Is(err, account.ErrBegin) {
					t.Errorf("without a started sign-in: got %v", err)
				}
				if _, err := finish(c, begin(c, p)); err != nil {
					t.Errorf("after %d failures: %v", i, err)
				}
				r.Code = ""
			}
			if _, err := finish(c, r); err == nil || errors.As(err, &backoff) {
				t.Fatalf("failure %d: got %v", i+1, err)
			}
		}
		if _, err := finish(c, begin(c, p)); !errors.As(err, &backoff) {
			t.Errorf("a callback after %d failures: got %v, want *BackoffError", free, err)
		}
		by := account.Credentials{Email: olga.Email, Password: enginetest.GoodPassword, Address: "192.0.2.7"}
		if _, _, err := c.Account.SignIn(ctx, by); !errors.As(err, &backoff) {
			t.Errorf("a password from this network: got %v, want *BackoffError", err)
		}
		other := begin(c, p)
		other.Address = "192.0.2.8"
		if _, err := finish(c, other); err != nil {
			t.Errorf("from another network: %v", err)
		}
	})
}

// TestIdentitySettingsAdmitUsers: the clinic's own rules take precedence over the provider's claims.
func TestIdentitySettingsAdmitUsers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, p, olga := identityClinic(t)
	otto, err := c.Account.CreateUser(ctx, "system", account.NewUser{Email: "otto@clinic.example",
		Name: "Otto", Role: store.RoleReception, Password: enginetest.GoodPassword})
	if err != nil {
		t.Fatal(err)
	}
	signIn := func(name string) error {
		p.Do(func(p *openidtest.Provider) { p.Who = claimsOf(name) })
		_, err := finish(c, begin(c, p))
		return err
	}
	if err := signIn("otto"); err != nil {
		t.Fatal(err)
	}
	switchTo := func(active bool) {
		t.Helper()
		if _, err := c.Account.UpdateUser(ctx, "user:olga", otto.ID, func(u *store.User) {
			u.Active = active
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	switchTo(false)
	if err := signIn("otto"); !errors.Is(err, account.ErrStranger) {
		t.Errorf("a deactivated account: got %v", err)
	}
	switchTo(true)

	// If the owner allows it, an unknown person becomes a user with the Reception role but without a password. A user
	// without a password cannot be the last owner.
	w := wishFor(p)
	w.Secret, w.NewRole, w.OwnersOnly = "", "reception", true
	if err := c.Account.Identity.Put(ctx, "user:olga", w); err != nil {
		t.Fatal(err)
	}
	if err := signIn("nina"); err != nil {
		t.Fatal(err)
	}
	nina, err := c.Account.UserByEmail(ctx, "nina@clinic.example")
	if err != nil || nina.Role != store.RoleReception || nina.PasswordHash != "" {
		t.Fatalf("the unknown user became %+v, %v", nina, err)
	}
	if _, _, err := c.Account.SignIn(ctx, account.Credentials{Email: nina.Email, Password: ""}); !errors.Is(err,
		account.ErrWrongPassword) {
		t.Errorf("a user without a password, by password: got %v", err)
	}
	// The provider's name for a person can be longer than a name here, or contain a line break.
	for who, names := range map[string][2]string{
		"long": {strings.Repeat("é", 300), strings.Repeat("é", 200)}, "lou": {"Lou\nBerg", "Lou Berg"},
	} {
		p.Do(func(p *openidtest.Provider) {
			p.Who = claimsOf(who)
			p.Who["name"] = names[0]
		})
		if _, err := finish(c, begin(c, p)); err != nil {
			t.Errorf("a new user with the name %q: %v", names[0], err)
		}
		if u, err := c.Account.UserByEmail(ctx, who+"@clinic.example"); err != nil || u.Name != names[1] {
			t.Errorf("the new user with the name %q: got %q, %v", names[0], u.Name, err)
		}
	}
	if _, err := c.Account.UpdateUser(ctx, "user:olga", nina.ID, func(u *store.User) {
		u.Role = store.RoleOwner
	}, nil); err != nil {
		t.Fatal(err)
	}
	var invalid *record.ValidationError
	if _, err := c.Account.UpdateUser(ctx, "user:nina", olga.ID, func(u *store.User) {
		u.Active = false
	}, nil); !errors.As(err, &invalid) {
		t.Errorf("the last owner with a password was deactivated: %v", err)
	}

	// If only owners may sign in by password, other users cannot, not even while the provider is unreachable. Owners
	// can.
	p.Do(func(p *openidtest.Provider) { p.Down = true })
	if _, _, err := c.Account.SignIn(ctx, account.Credentials{Email: otto.Email,
		Password: enginetest.GoodPassword}); !errors.Is(err, account.ErrPasswordOff) {
		t.Errorf("the reception by password: got %v", err)
	}
	if _, _, err := c.Account.SignIn(ctx, account.Credentials{Email: olga.Email,
		Password: enginetest.GoodPassword}); err != nil {
		t.Errorf("an owner by password while the provider is unreachable: %v", err)
	}
	p.Do(func(p *openidtest.Provider) { p.Down, p.Who = false, claimsOf("otto") })
	r := begin(c, p)
	p.Do(func(p *openidtest.Provider) { p.Down = true })
	if _, err := finish(c, r); !errors.Is(err, openid.ErrUnavailable) {
		t.Errorf("the provider became unreachable during the sign-in: got %v", err)
	}
}

// TestIdentitySecondFactor: a user with one-time codes must enter one, unless the provider says that it has already
// checked a second factor.
func TestIdentitySecondFactor(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, p, olga := identityClinic(t)
	_, code := withCode(c, &olga)
	_, _, cookie, err := c.Account.Identity.Finish(ctx, begin(c, p))
	if !errors.Is(err, account.ErrCodeNeeded) || cookie == "" {
		t.Fatalf("without a code: got %v", err)
	}
	if u := user(c, olga.ID); u.Identity != "" {
		t.Error("the identity was linked before the code was entered")
	}
	for _, x := range []struct {
		name, cookie, code string
		want               error
	}{
		{"no code", cookie, "", account.ErrCodeNeeded},
		{"a used code", cookie, code(-1), account.ErrWrongCode},
		{"the cookie of a sign-in that was only begun", begin(c, p).Cookie, code(0), account.ErrBegin},
		{"both", cookie, code(0), nil},
		{"the code again", cookie, code(0), account.ErrWrongCode},
	} {
		if _, _, err := c.Account.Identity.FinishCode(ctx, x.cookie, x.code, "192.0.2.7", ""); !errors.Is(err, x.want) {
			t.Errorf("%s: got %v, want %v", x.name, err, x.want)
		}
	}
	p.Do(func(p *openidtest.Provider) { p.Who["amr"] = []string{"pwd", "mfa"} })
	if _, err := finish(c, begin(c, p)); err != nil {
		t.Errorf("the provider has required a second factor: %v", err)
	}
}

// TestIdentityProviderIsCheckedFirst: before the server stores the owner's input, it checks the input and reports any
// problem.
func TestIdentityProviderIsCheckedFirst(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, p, _ := identityClinic(t)
	kept := c.Account.Identity.Setup()
	for _, x := range []struct {
		name   string
		change func(*openidtest.Provider)
		wish   func(*account.ProviderWish)
		// "unreachable" is also accepted if the check needs the machine's DNS, which may be missing
		want openid.Finding
	}{
		{"a wrong secret", nil, func(w *account.ProviderWish) { w.Secret = "wrong" }, openid.FoundClient},
		{"a wrong client", nil, func(w *account.ProviderWish) { w.ClientID = "wrong" }, openid.FoundClient},
		{"no server", nil, func(w *account.ProviderWish) { w.Issuer = "https://127.0.0.1:1" }, openid.FoundUnreachable},
		{"no such name", nil, func(w *account.ProviderWish) {
			w.Issuer = "https://id.holdfast.invalid"
		}, openid.FoundNoHost},
		{"another page", nil, func(w *account.ProviderWish) { w.Issuer += "/tenant" }, openid.FoundNoProvider},
		{"away", func(p *openidtest.Provider) { p.Down = true }, nil, openid.FoundNoProvider},
		{"another name", func(p *openidtest.Provider) {
			p.Metadata = map[string]any{"issuer": "https://other.example"}
		}, nil, openid.FoundOtherIssuer},
		{"a token address in the clear", func(p *openidtest.Provider) {
			p.Metadata = map[string]any{"token_endpoint": "http://id.example/token"}
		}, nil, openid.FoundNotHTTPS},
		{"no code flow", func(p *openidtest.Provider) {
			p.Metadata = map[string]any{"response_types_supported": []string{"id_token"}}
		}, nil, openid.FoundNoCode},
		{"no public keys", func(p *openidtest.Provider) {
			p.Metadata = map[string]any{"id_token_signing_alg_values_supported": []string{"none", "HS256"}}
		}, nil, openid.FoundNoCode},
		{"no keys at all", func(p *openidtest.Provider) {
			p.Metadata = map[string]any{"jwks_uri": p.Issuer + "/nothing"}
		}, nil, openid.FoundNoKeys},
	} {
		p.Do(func(p *openidtest.Provider) {
			p.Down, p.Metadata = false, nil
			if x.change != nil {
				x.change(p)
			}
		})
		w := wishFor(p)
		if x.wish != nil {
			x.wish(&w)
		}
		var found *account.FoundError
		if err := c.Account.Identity.Put(ctx, "user:olga", w); !errors.As(err, &found) || found.Finding != x.want &&
			(x.want != openid.FoundNoHost || found.Finding != openid.FoundUnreachable) {
			t.Errorf("%s: got %v, want %s", x.name, err, x.want)
		}
	}
	if now := c.Account.Identity.Setup(); now.Chosen.ClientID != kept.Chosen.ClientID ||
		now.Chosen.Issuer != kept.Chosen.Issuer {
		t.Errorf("a refused choice was stored: %+v", now.Chosen)
	}
	for field, change := range map[string]func(*account.ProviderWish){
		"issuer":   func(w *account.ProviderWish) { w.Issuer = "http://id.example" },
		"name":     func(w *account.ProviderWish) { w.Name = " " },
		"clientId": func(w *account.ProviderWish) { w.ClientID = "" },
		"domains":  func(w *account.ProviderWish) { w.Domains = []string{" "} },
		"newRole":  func(w *account.ProviderWish) { w.NewRole = "owner" },
		"secret":   func(w *account.ProviderWish) { w.Secret, w.ClientID = "", "another" },
	} {
		w := wishFor(p)
		change(&w)
		if err := c.Account.Identity.Put(ctx, "user:olga", w); err == nil ||
			!strings.Contains(err.Error(), field+": ") {
			t.Errorf("a wrong %s: got %v", field, err)
		}
	}
	// While the provider is unreachable, settings that do not affect the source of sign-ins can still be changed. The
	// secret is preserved.
	p.Do(func(p *openidtest.Provider) { p.Down, p.Metadata = true, nil })
	w := wishFor(p)
	w.Secret, w.Domains = "", []string{"@Clinic.example", "other.example"}
	if err := c.Account.Identity.Put(ctx, "user:olga", w); err != nil {
		t.Errorf("another domain while the provider is unreachable: %v", err)
	}
	if s := c.Account.Identity.Setup(); !s.IsSet || !s.IsReadable || s.Redirect != returnURL ||
		!slices.Equal(s.Chosen.Domains, []string{"clinic.example", "other.example"}) {
		t.Errorf("the stored choice is %+v", s)
	}
}
