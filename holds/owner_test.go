package holds_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"holdfast/holds"
)

// TestOwnerHidesClient: an owner is the first half of the client id's hash, and only the owner's own stored form can be
// read back.
func TestOwnerHidesClient(t *testing.T) {
	t.Parallel()
	const client = holds.ClientID("a-secret-of-a-browser-tab")
	sum := sha256.Sum256([]byte(client))
	o := client.Owner()
	if string(o[:]) != string(sum[:16]) {
		t.Errorf("got %x, want the first 16 bytes of %x", o, sum)
	}
	if text := o.String(); len(text) != 32 || strings.Contains(text, string(client)) {
		t.Errorf("the stored form is %q", text)
	}
	for _, o := range []holds.Owner{o, {}} {
		if got, err := holds.ParseOwner(o.String()); err != nil || got != o {
			t.Errorf("%q is parsed as %v, %v", o.String(), got, err)
		}
	}
	for _, text := range []string{"0", strings.Repeat("0", 31), strings.Repeat("0", 33), strings.Repeat("x", 32),
		string(client)} {
		if _, err := holds.ParseOwner(text); err == nil {
			t.Errorf("%q is parsed as an owner", text)
		}
	}
}

// TestZeroOwnerMatchesNoClient: two requests without a client are not the same client.
func TestZeroOwnerMatchesNoClient(t *testing.T) {
	t.Parallel()
	var zero holds.Owner
	one, two := holds.ClientID("client-1").Owner(), holds.ClientID("client-2").Owner()
	switch {
	case !holds.ClientID("").Owner().IsZero():
		t.Error("an empty client id has an owner")
	case zero.Is(zero) || zero.Is(one) || one.Is(zero):
		t.Error("the zero Owner equals a client's")
	case !one.Is(one) || one.Is(two):
		t.Error("Is does not compare owners")
	}
}
