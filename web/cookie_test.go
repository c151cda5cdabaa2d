package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestCookiesAndTransportFollowTheBaseURL: over https the server sets cookies that no other host can set, and requires
// HTTPS from then on. Over plain HTTP it does neither: otherwise the users of a clinic on a local network could not
// sign in.
func TestCookiesAndTransportFollowTheBaseURL(t *testing.T) {
	for base, prefix := range map[string]string{"https://book.example.org": "__Host-", "http://clinic.local": "",
		"": ""} {
		t.Run(base, func(t *testing.T) {
			h := newHouseAt(t, base)
			h.do("POST", "/v1/users", map[string]any{"email": "jo@clinic.example", "name": "Jo", "role": "owner",
				"password": "a few words together"}, asAdmin).want(201)
			r := h.do("POST", "/v1/auth/sign-in", map[string]any{"email": "jo@clinic.example",
				"password": "a few words together"}).want(200)
			set := make(map[string]*http.Cookie)
			for _, line := range r.header.Values("Set-Cookie") {
				cookie, err := http.ParseSetCookie(line)
				if err != nil {
					t.Fatal(err)
				}
				set[cookie.Name] = cookie
			}
			for _, name := range []string{"holdfast_sign_in", "holdfast_device"} {
				c := set[prefix+name]
				if c == nil || !c.HttpOnly || c.Secure != (prefix != "") || c.Path != "/" || c.Domain != "" ||
					c.SameSite != http.SameSiteLaxMode {
					t.Errorf("%s: got %v, want it as %q and therefore Secure", name, c, prefix+name)
				}
			}
			if got, want := r.header.Get("Strict-Transport-Security"),
				map[bool]string{true: "max-age=31536000"}[prefix != ""]; got != want {
				t.Errorf("Strict-Transport-Security: got %q, want %q", got, want)
			}
			secret := set[prefix+"holdfast_sign_in"].Value
			known := header{"Cookie": prefix + "holdfast_sign_in=" + secret}
			h.do("GET", "/v1/auth/me", nil, known).want(200)
			for _, c := range []struct {
				path string
				from header
				want bool // the page names the signed-in user
			}{{"/staff", known, true}, {"/staff", nil, false}, {"/", known, false}} {
				if raw := h.do("GET", c.path, nil, c.from).want(200).raw; strings.Contains(raw, `"me":`) != c.want {
					t.Errorf("%s with %v: the page contains the user: %v, want %v", c.path, c.from, !c.want, c.want)
				}
			}
			if prefix != "" { // a cookie that another host of the same domain could set is ignored
				h.do("GET", "/v1/auth/me", nil, header{"Cookie": "holdfast_sign_in=" + secret}).problem(401,
					"unauthorized")
			}
			out := h.do("POST", "/v1/auth/sign-out", nil, header{"Cookie": prefix +
				"holdfast_sign_in=" + secret}).want(200)
			if got := strings.Join(out.header.Values("Set-Cookie"), "\n"); !strings.Contains(got, prefix+
				"holdfast_sign_in=;") || strings.Contains(got, "device") {
				t.Errorf("signing out sets %q, want the session removed and the device unchanged", got)
			}
		})
	}
}

// TestKnownBrowserIsNotLockedOut sends the cookie of an earlier sign-in.
func TestKnownBrowserIsNotLockedOut(t *testing.T) {
	h := newHouse(t)
	h.signedIn("jo@clinic.example", "owner", "")
	signIn := func(password string, headers ...header) *reply {
		return h.do("POST", "/v1/auth/sign-in", map[string]any{"email": "jo@clinic.example", "password": password},
			headers...)
	}
	device := ""
	for _, line := range signIn("a few words together").want(200).header.Values("Set-Cookie") {
		if strings.HasPrefix(line, "holdfast_device=") {
			device, _, _ = strings.Cut(line, ";")
		}
	}
	// The first lock lasts 1 s, which a busy machine can need for the next request.
	for deadline := time.Now().Add(5 * time.Minute); ; {
		for range 5 {
			signIn("not the password").problem(401, "unauthorized")
		}
		if locked := signIn("a few words together"); locked.status != 200 || time.Now().After(deadline) {
			locked.problem(429, "rate_limited")
			break
		}
	}
	signIn("a few words together", header{"Cookie": device}).want(200)
}

// TestBaseURLChangeKeepsSessions: sign-ins through the new address stay valid, and so do those through the plain
// address on the clinic's local network.
func TestBaseURLChangeKeepsSessions(t *testing.T) {
	h := newHouse(t)
	owner := h.signedIn("owner@clinic.example", "owner", "")
	h.do("PUT", "/v1/settings", map[string]any{"baseUrl": "https://book.example.org"}, owner).want(200)
	h.do("GET", "/v1/auth/me", nil, owner).want(200)
	again := h.signedIn("late@clinic.example", "owner", "")
	h.do("GET", "/v1/auth/me", nil, again).want(200)
	if name := again["Cookie"]; strings.HasPrefix(name, "__Host-") {
		t.Errorf("over plain HTTP, the cookie is %q, which a browser would not send back", name)
	}
}
