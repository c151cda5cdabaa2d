package clinic

import (
	"net/mail"
	"strings"
	"testing"

	"holdfast/engine/record"
)

func TestEmailAddressesAreValidated(t *testing.T) {
	for address, want := range map[string]bool{
		"name@example.org": true, "o'neill+clinic@mail.example.org": true, "a_b-c=d/e@localhost": true,
		"jürgen@münchen.example": true, "用户@例子.广告": true, "x@1a.example": true,
		// characters that change what a mailto: link does
		"name@example.org?cc=all@example.com": false, "name?subject=x@example.org": false,
		"a%0d%0aBcc:b@example.org": false, "a%3Fcc=b@example.org": false, "name@example.org&body=x": false,
		"name#x@example.org": false, "a@b@example.org": false, "a@example.org,b@example.org": false,
		// invisible characters, or not an address at all
		"na\u202eme@example.org": false, "na\u200bme@example.org": false, "name@exa\u00admple.org": false,
		"name @example.org": false, "name\n@example.org": false, "na\xffme@example.org": false, "@example.org": false,
		"name@": false, "name": false, "name@example..org": false, "name@.example.org": false,
		"name@example.org.": false, "name@-example.org": false, "name@example.-org": false, "name@[127.0.0.1]": false,
		"<name@example.org>": false, `"a b"@example.org`: false, "na..me@example.org": false, strings.Repeat("a", 250) +
			"@example.org": false,
	} {
		var m record.Mistakes
		record.CheckEmail(&m, "email", address)
		if got := m.Err() == nil; got != want {
			t.Errorf("%q: accepted %v, want %v", address, got, want)
		}
		if parsed, err := mail.ParseAddress(address); want && (err != nil || parsed.Address != address) {
			t.Errorf("%q is accepted, and a mail server would parse it as %v (%v)", address, parsed, err)
		}
	}
}

// TestEmbedOriginsAreExact also covers corsOrigins: both lists accept the same origins.
func TestEmbedOriginsAreExact(t *testing.T) {
	for origin, want := range map[string]bool{
		"https://www.example.org": true, "http://localhost:3000": true, "https://xn--mnchen-3ya.example": true,
		"http://127.0.0.1:80": true, "https://[2001:db8::1]:8443": true,
		"https://*.example.org": false, "https://*": false, "*": false, "https://example.org:*": false, "https:": false,
		"https://": false, "": false, "'self'": false,
		"https://example.org/": false, "https://example.org/book": false, "https://example.org?x": false,
		"https://example.org#x": false, "https://a@example.org": false,
		"https://example.org:": false, "https://example.org:0443": false, "https://example.org:99999": false,
		"https://Example.org": false, "HTTPS://example.org": false,
		"https://example.org https://other.example": false, "https://example.org;script-src *": false,
		"ws://example.org": false, "data:": false,
		"https://example..org": false, "https://example.org.": false, "https://münchen.example": false,
		"https://exa_mple.org": false, "https://a%2e.example": false,
	} {
		for field, s := range map[string]Settings{"embed": {EmbedOrigins: []string{origin}},
			"cors": {CORSOrigins: []string{origin}}} {
			var m record.Mistakes
			checkSettings(&m, &s, &Settings{})
			if got := m.Err() == nil; got != want {
				t.Errorf("%s %q: accepted %v, want %v", field, origin, got, want)
			}
		}
	}
}
