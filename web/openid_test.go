package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/openid"
	"holdfast/engine/openid/openidtest"
)

// openIDHouse returns a house whose owner has configured an identity provider over HTTP.
func openIDHouse(t *testing.T) (*house, *openidtest.Provider) {
	t.Helper()
	const base = "https://book.example.org"
	p := (&openidtest.Provider{ClientID: "holdfast", Secret: "canarysecret", Redirect: base +
		"/v1/auth/openid/callback", Who: map[string]any{
		"sub": "canarysubject", "email": "owner@clinic.example", "email_verified": true,
	}}).Serve(t)
	h, _ := newPractice(t, func(o *engine.Options) {
		o.OpenID, o.BaseURL = openid.NewClient(p.Roots), base
	})
	owner := h.signedIn("owner@clinic.example", "owner", "")
	body := map[string]any{"name": "Clinic account", "issuer": p.Issuer, "clientId": "holdfast", "secret": "wrong",
		"domains": []string{"clinic.example"}}
	if got := h.do("PUT", "/v1/settings/openid", body, owner).want(422); got.text("reason") != "client" {
		t.Errorf("a wrong secret: %s", got.raw)
	}
	body["secret"] = "canarysecret"
	h.do("PUT", "/v1/settings/openid", body, owner).want(200)
	return h, p
}

// cookieOf returns a cookie that a response sets, in the form in which a browser sends it.
func cookieOf(t *testing.T, got *reply, name string) *http.Cookie {
	t.Helper()
	for _, line := range got.header["Set-Cookie"] {
		if c, err := http.ParseSetCookie(line); err == nil && strings.HasSuffix(c.Name, name) {
			return c
		}
	}
	t.Fatalf("the cookie %s is not in %q", name, got.header["Set-Cookie"])
	return nil
}

// TestBrowserSignsInWithIdentityProvider: a browser signs in with the identity provider. It gets a separate,
// short-lived cookie, the redirect leads back to the sign-in page only, and no response or log contains its secrets.
func TestBrowserSignsInWithIdentityProvider(t *testing.T) {
	h, p := openIDHouse(t)
	begin := func() (*http.Cookie, string) {
		got := h.do("POST", "/v1/auth/openid", nil, header{"Origin": "https://book.example.org"}).want(200)
		c := cookieOf(t, got, "holdfast_openid")
		if c.Name != "__Host-holdfast_openid" || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode ||
			c.MaxAge != 600 || c.Path != "/" {
			t.Errorf("the cookie of a started sign-in is %+v", c)
		}
		return c, got.text("url")
	}
	cookie, address := begin()
	if u, err := url.Parse(address); err != nil || strings.Contains(address, "canarysecret") ||
		u.Query().Get("redirect_uri") != "https://book.example.org/v1/auth/openid/callback" ||
		u.Query().Get("code_challenge_method") != "S256" {
		t.Errorf("the browser is redirected to %s", address)
	}
	back := p.Follow(t, address)
	with := header{"Cookie": cookie.Name + "=" + cookie.Value}
	for _, x := range []struct {
		name, method, query string
		header              header
		want                string // Location
	}{
		{"in another browser", "GET", back.RawQuery, header{}, "/staff?openid=begin"},
		{"with an address to go on to", "GET", "state=x&redirect_uri=https://evil.example&next=//evil.example", with,
			"/staff?openid=begin"},
		{"with two states", "GET", back.RawQuery + "&state=x", with, "/staff?openid=begin"},
		{"as it was meant", "GET", back.RawQuery, with, "/staff"},
		{"once more", "GET", back.RawQuery, with, "/staff?openid=begin"},
	} {
		got := h.do(x.method, "/v1/auth/openid/callback?"+x.query, nil, x.header).want(303)
		if at := got.header.Get("Location"); at != x.want {
			t.Errorf("%s: redirected to %q, want %q", x.name, at, x.want)
		}
		if x.want == "/staff" {
			s := cookieOf(t, got, "holdfast_sign_in")
			if me := h.do("GET", "/v1/auth/me", nil, header{"Cookie": s.Name +
				"=" + s.Value}).want(200); me.text("user", "email") != "owner@clinic.example" ||
				me.get("user", "linked") != true {
				t.Errorf("signed in is %s", me.raw)
			}
			if gone := cookieOf(t, got, "holdfast_openid"); gone.MaxAge >= 0 {
				t.Errorf("the cookie of the sign-in remains: %+v", gone)
			}
		}
	}
	h.do("HEAD", "/v1/auth/openid/callback?"+back.RawQuery, nil, with).want(405)

	// No other site's page can start a sign-in. From an address other than the clinic's own, the cookie would not be
	// sent back.
	h.do("POST", "/v1/auth/openid", nil, header{"Sec-Fetch-Site": "cross-site",
		"Origin": "https://evil.example"}).want(403)
	if got := h.do("POST", "/v1/auth/openid", nil, header{"Origin": "https://other.example.org",
		"Sec-Fetch-Site": "same-origin"}).want(403); got.text("reason") != "openid_elsewhere" {
		t.Errorf("at another address: %s", got.raw)
	}
	p.Do(func(p *openidtest.Provider) { p.Who = nil })
	cookie, address = begin()
	got := h.do("GET", "/v1/auth/openid/callback?"+p.Follow(t, address).RawQuery, nil,
		header{"Cookie": cookie.Name + "=" + cookie.Value}).want(303)
	if at := got.header.Get("Location"); at != "/staff?openid=denied" {
		t.Errorf("after a refusal there, the redirect goes to %q", at)
	}

	all := h.log.String()
	owner := h.signedIn("second@clinic.example", "owner", "")
	for _, path := range []string{"/v1/settings/openid", "/v1/settings", "/v1/export", "/v1/audit", "/v1/users"} {
		all += h.do("GET", path, nil, owner).want(200).raw
	}
	for _, secret := range []string{"canarysecret", "canarysubject", "seal1.", back.Query().Get("code"),
		back.Query().Get("state"), cookie.Value} {
		if strings.Contains(all, secret) {
			t.Errorf("an answer or the log contains %q", secret)
		}
	}
}

// TestUnreachableIdentityProvider: the page reports that the provider is unreachable, and passwords still work.
func TestUnreachableIdentityProvider(t *testing.T) {
	h, p := openIDHouse(t)
	h.do("POST", "/v1/auth/openid", nil).want(200)
	p.Do(func(p *openidtest.Provider) { p.Down = true })
	back := h.do("POST", "/v1/auth/openid", nil).want(200) // the cached metadata is enough for the first step
	cookie := cookieOf(t, back, "holdfast_openid")
	state, err := url.Parse(back.text("url"))
	if err != nil {
		t.Fatal(err)
	}
	got := h.do("GET", "/v1/auth/openid/callback?code=x&state="+state.Query().Get("state"), nil,
		header{"Cookie": cookie.Name + "=" + cookie.Value}).want(303)
	if at := got.header.Get("Location"); at != "/staff?openid=away" {
		t.Errorf("redirected to %q", at)
	}
	owner := h.signedIn("third@clinic.example", "owner", "")
	h.do("DELETE", "/v1/settings/openid", nil, owner).want(200)
	if got := h.do("POST", "/v1/auth/openid", nil).want(404); got.text("reason") != "openid_off" {
		t.Errorf("after the removal: %s", got.raw)
	}
}
