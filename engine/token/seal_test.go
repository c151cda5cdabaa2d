package token

import (
	"strings"
	"testing"
	"time"
)

// TestSealedSecretOpensForItsPurposeOnly: a secret is opened only by the keys that sealed it and only for the same
// purpose, even after a rotation.
func TestSealedSecretOpensForItsPurposeOnly(t *testing.T) {
	now := time.Now()
	keys := Generate(now)
	sealed := keys.Seal("correct horse", "mail.example.org:587")
	if strings.Contains(sealed, "correct") || sealed == keys.Seal("correct horse", "mail.example.org:587") {
		t.Errorf("it is sealed as %q: it is readable, or two seals of the same text are equal", sealed)
	}
	flipped := sealed[:len(sealed)-2] + "A" + sealed[len(sealed)-1:]
	if flipped == sealed {
		flipped = sealed[:len(sealed)-2] + "B" + sealed[len(sealed)-1:]
	}
	for _, c := range []struct {
		name, sealed, about string
		keys                *Keyring
		opens               bool
	}{
		{"as it was sealed", sealed, "mail.example.org:587", keys, true},
		{"after a rotation", sealed, "mail.example.org:587", keys.Rotate(now), true},
		{"for another server", sealed, "mail.evil.example:587", keys, false},
		{"by other keys", sealed, "mail.example.org:587", Generate(now), false},
		{"changed", flipped, "mail.example.org:587", keys, false},
		{"cut", sealed[:len(sealed)-8], "mail.example.org:587", keys, false},
		{"nothing", "", "mail.example.org:587", keys, false},
		{"not sealed", "correct horse", "mail.example.org:587", keys, false},
		{"without its text", sealPrefix + "0000.", "mail.example.org:587", keys, false},
	} {
		if got, ok := c.keys.Open(c.sealed, c.about); ok != c.opens || ok && got != "correct horse" || !ok &&
			got != "" {
			t.Errorf("%s: got %q, %t; want it opened: %t", c.name, got, ok, c.opens)
		}
	}
}
