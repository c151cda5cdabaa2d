package record

import (
	"net/mail"
	"strings"
	"testing"
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
		var m Mistakes
		CheckEmail(&m, "email", address)
		if got := m.Err() == nil; got != want {
			t.Errorf("%q: accepted %v, want %v", address, got, want)
		}
		if parsed, err := mail.ParseAddress(address); want && (err != nil || parsed.Address != address) {
			t.Errorf("%q is accepted, and a mail server would parse it as %v (%v)", address, parsed, err)
		}
	}
}
