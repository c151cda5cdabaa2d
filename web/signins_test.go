package web_test

import (
	"strings"
	"testing"
)

// TestSignOutOtherSessions: all other browsers of this member of staff are signed out. Other users stay signed in.
func TestSignOutOtherSessions(t *testing.T) {
	h := newHouse(t)
	mine, others := h.signedIn("jo@clinic.example", "reception", ""), h.signedIn("robin@clinic.example", "owner", "")
	again := func() header {
		r := h.do("POST", "/v1/auth/sign-in", map[string]any{"email": "jo@clinic.example",
			"password": "a few words together"}).want(200)
		value, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
		return header{"Cookie": value}
	}
	second, third := again(), again()
	if n := h.do("DELETE", "/v1/auth/sign-ins", nil, mine).want(200).body["ended"]; n != 2.0 {
		t.Errorf("ended %v sign-ins, want 2", n)
	}
	for _, ended := range []header{second, third} {
		h.do("GET", "/v1/auth/me", nil, ended).problem(401, "unauthorized")
	}
	for _, stands := range []header{mine, others} {
		h.do("GET", "/v1/auth/me", nil, stands).want(200)
	}
	h.do("DELETE", "/v1/auth/sign-ins", nil, second).problem(401, "unauthorized")
	h.do("DELETE", "/v1/auth/sign-ins", nil, asAdmin).problem(403, "forbidden") // a key has no sign-ins
}
