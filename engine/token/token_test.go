package token

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// vectors reads test vectors from testdata/token. An independent program created them, so they fix the wire format and
// do not only check that this package is consistent with itself.
func vectors(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/token/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func keyring(t testing.TB, text string) *Keyring {
	t.Helper()
	k, err := ParseKeyring([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const (
	patient     = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
	appointment = "0193a2b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b"
)

// kinds returns the three tokens behind one interface that issues and checks them.
func kinds(t testing.TB, k *Keyring) map[string]kind {
	t.Helper()
	auth, _, err := k.IssueBookingAuth("call-7", patient, noon)
	if err != nil {
		t.Fatal(err)
	}
	booking, _, err := k.IssueBooking("checkup", "ada", noon.Add(48*time.Hour), 30, noon)
	if err != nil {
		t.Fatal(err)
	}
	link, err := k.IssueManage(Manage{AppointmentID: appointment, Version: 3, ExpiresAt: noon.Add(24 * time.Hour)},
		noon)
	if err != nil {
		t.Fatal(err)
	}
	text, err := k.IssueManage(Manage{AppointmentID: "row_17", Version: 3, ExpiresAt: noon.Add(24 * time.Hour)}, noon)
	if err != nil {
		t.Fatal(err)
	}
	verifyLink := func(k *Keyring, token string) error { _, err := k.VerifyManage(token, noon); return err }
	return map[string]kind{
		"bookingAuthToken": {auth, BookingAuthSignatureInvalid, func(k *Keyring, token string) error {
			_, err := k.VerifyBookingAuth(token, patient, noon)
			return err
		}},
		"bookingToken": {booking, BookingTokenInvalid, func(k *Keyring, token string) error {
			_, err := k.VerifyBooking(token, noon)
			return err
		}},
		"manage token of a UUID":     {link, ManageTokenInvalid, verifyLink},
		"manage token of another id": {text, ManageTokenInvalid, verifyLink},
	}
}

type kind struct {
	token  string
	refuse Error
	verify func(k *Keyring, token string) error
}

// TestNoMutationIsAccepted: every character of a valid token is replaced by every other byte, every character is
// dropped, doubled and swapped with its neighbour, and the token is cut at every position at both ends. None of the
// results is accepted.
func TestNoMutationIsAccepted(t *testing.T) {
	k := Generate(noon).Rotate(noon)
	for name, kind := range kinds(t, k) {
		t.Run(name, func(t *testing.T) {
			if err := kind.verify(k, kind.token); err != nil {
				t.Fatalf("the unchanged token: got %v, want no error", err)
			}
			refused := func(mutant, what string, at int) {
				t.Helper()
				want := kind.refuse
				if mutant == "" && kind.refuse == BookingAuthSignatureInvalid {
					want = BookingAuthMissing
				}
				if err := kind.verify(k, mutant); err != want {
					t.Fatalf("%s at %d: got %v, want %v\n token %s\nmutant %q", what, at, err, want, kind.token, mutant)
				}
			}
			for i := range len(kind.token) {
				for c := range 256 {
					if byte(c) != kind.token[i] {
						refused(kind.token[:i]+string([]byte{byte(c)})+kind.token[i+1:], "replaced", i)
					}
				}
				for _, c := range "\r\n\x00 =.Aa0_-" {
					refused(kind.token[:i]+string(c)+kind.token[i:], "inserted", i)
				}
				refused(kind.token[:i]+kind.token[i+1:], "dropped", i)
				refused(kind.token[:i], "cut", i)
				refused(kind.token[i+1:], "beginning cut", i)
				if i > 0 && kind.token[i] != kind.token[i-1] {
					refused(kind.token[:i-1]+string([]byte{kind.token[i], kind.token[i-1]})+kind.token[i+1:], "swapped",
						i)
				}
			}
			for _, tail := range []string{"A", "=", "==", ".", "\n", "\r\n", "\x00", " ", kind.token, "." +
				kind.token} {
				refused(kind.token+tail, "appended", len(kind.token))
			}
			refused(strings.ToUpper(kind.token), "upper case", 0)
			refused(strings.ToLower(kind.token), "lower case", 0)
		})
	}
}

// TestNoFlippedBitIsAccepted flips every single bit of the decoded parts and encodes the result again.
func TestNoFlippedBitIsAccepted(t *testing.T) {
	k := Generate(noon)
	for name, kind := range kinds(t, k) {
		t.Run(name, func(t *testing.T) {
			parts := strings.Split(kind.token, ".")
			for p, part := range parts {
				raw, ok := decode(part)
				if !ok {
					t.Fatalf("part %d of an issued token does not decode: %s", p, part)
				}
				for bit := range len(raw) * 8 {
					raw[bit/8] ^= 1 << (bit % 8)
					parts[p] = encode(raw)
					raw[bit/8] ^= 1 << (bit % 8)
					if err := kind.verify(k, strings.Join(parts, ".")); err != kind.refuse {
						t.Fatalf("part %d, bit %d flipped: got %v, want %v", p, bit, err, kind.refuse)
					}
				}
				parts[p] = part
			}
		})
	}
}

func TestTokenKindsAreSeparate(t *testing.T) {
	k := Generate(noon)
	all := kinds(t, k)
	for a, from := range all {
		for b, to := range all {
			if from.refuse == to.refuse {
				continue
			}
			if err := to.verify(k, from.token); err != to.refuse {
				t.Errorf("%s passed to %s: got %v, want %v", a, b, err, to.refuse)
			}
		}
	}
}

func TestTokenOfOtherKeyringIsRefused(t *testing.T) {
	mine, theirs := Generate(noon), Generate(noon)
	// Even with the same key id.
	theirs.keys[0].id = mine.keys[0].id
	theirs.keys[0] = derive(theirs.keys[0])
	for name, kind := range kinds(t, theirs) {
		if err := kind.verify(mine, kind.token); err != kind.refuse {
			t.Errorf("%s of another keyring: got %v, want %v", name, err, kind.refuse)
		}
	}
}

// TestErrorsSayWhatToDo: messages for people and agents contain no token and say what to do next.
func TestErrorsSayWhatToDo(t *testing.T) {
	for _, e := range []Error{
		BookingAuthMissing, BookingAuthSignatureInvalid, BookingAuthExpired, BookingAuthGUIDMismatch,
		BookingTokenInvalid, BookingTokenExpired, ManageTokenInvalid, ManageTokenExpired,
	} {
		if e.Error() == e.Code() || !strings.Contains(e.Error(), ": ") {
			t.Errorf("%s: got %q, want a sentence with the action to take", e.Code(), e.Error())
		}
	}
	if got := Error("ELSE").Error(); got != "ELSE" {
		t.Errorf("an error without a known code: got %q, want the code", got)
	}
}

func FuzzTokens(f *testing.F) {
	k := Generate(noon)
	all := kinds(f, k)
	for _, kind := range all {
		f.Add(kind.token)
		f.Add(kind.token[:len(kind.token)-4] + "AAAA") // the end of the signature is wrong
	}
	f.Add("")
	f.Add(".")
	f.Add(strings.Repeat("A", 63))
	f.Fuzz(func(t *testing.T, s string) {
		for name, kind := range all {
			own := s == kind.token || kind.refuse == ManageTokenInvalid && s == all["manage token of a UUID"].token ||
				kind.refuse == ManageTokenInvalid && s == all["manage token of another id"].token
			if err := kind.verify(k, s); (err == nil) != own {
				t.Fatalf("%s: %q: got %v, but only issued tokens may be accepted", name, s, err)
			}
		}
	})
}

// FuzzMutation edits a valid token: cut drops bytes, put replaces them.
func FuzzMutation(f *testing.F) {
	k := Generate(noon)
	all := kinds(f, k)
	f.Add(0, 1, []byte("A"))
	f.Add(62, 1, []byte("B"))
	f.Add(10, 0, []byte("\r\n"))
	f.Fuzz(func(t *testing.T, at, cut int, put []byte) {
		for name, kind := range all {
			n := len(kind.token)
			from := min(max(at, 0), n)
			to := min(max(from+min(max(cut, 0), n), from), n)
			mutant := kind.token[:from] + string(put) + kind.token[to:]
			if mutant == kind.token {
				continue
			}
			if err := kind.verify(k, mutant); err == nil {
				t.Fatalf("%s: %q is accepted as well as %q", name, mutant, kind.token)
			}
		}
	})
}
