package token

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestKeyFiles(t *testing.T) {
	var data struct {
		Cases []struct {
			Name, Text, Error string
			IDs               []string
		}
	}
	vectors(t, "keyring.json", &data)
	for _, c := range data.Cases {
		t.Run(c.Name, func(t *testing.T) {
			k, err := ParseKeyring([]byte(c.Text))
			if c.Error != "" {
				if err == nil || !strings.Contains(err.Error(), c.Error) {
					t.Fatalf("got error %v, want one with %q", err, c.Error)
				}
				if !strings.Contains(err.Error(), "from a backup") {
					t.Errorf("got %v, want an error that names the action to take", err)
				}
				for _, field := range strings.Fields(c.Text) {
					if len(field) > 30 && strings.Contains(err.Error(), field) {
						t.Errorf("the error contains a secret: %v", err)
					}
				}
				return
			}
			if err != nil {
				t.Fatalf("got %v, want no error", err)
			}
			var ids []string
			for _, key := range k.Keys() {
				ids = append(ids, key.ID)
			}
			if !slices.Equal(ids, c.IDs) {
				t.Errorf("got keys %v, want %v", ids, c.IDs)
			}
			again, err := ParseKeyring(k.Marshal())
			if err != nil || !bytes.Equal(again.Marshal(), k.Marshal()) {
				t.Errorf("after writing and reading: got %v, want the same keyring", err)
			}
		})
	}
}

// TestTokenWithFlippedBitIsRefused: the bit may be anywhere in the file, except where the keys do not depend on it.
func TestTokenWithFlippedBitIsRefused(t *testing.T) {
	k := Generate(noon).Rotate(noon)
	text := k.Marshal()
	refused := 0
	for at := range text {
		for bit := range 8 {
			flipped := bytes.Clone(text)
			flipped[at] ^= 1 << bit
			switch got, err := ParseKeyring(flipped); {
			case err != nil:
				refused++
			case !bytes.Equal(got.Marshal(), text):
				t.Fatalf("bit %d of byte %d: the damaged file was read as other keys", bit, at)
			}
		}
	}
	if least := 8 * (len(text) - 80); refused < least { // a flipped bit can turn the last line into a comment
		t.Errorf("%d of %d files with a flipped bit were refused, want at least %d", refused, 8*len(text), least)
	}
}

func TestKeyFileRefusesLongLine(t *testing.T) {
	if _, err := ParseKeyring([]byte("holdfast-keys 1\n" + strings.Repeat("x", 100_000))); err == nil {
		t.Error("got no error, want one")
	}
}

func TestGenerateMakesKeysThatDiffer(t *testing.T) {
	a, b := Generate(noon), Generate(noon)
	if a.keys[0].secret == b.keys[0].secret {
		t.Error("two keyrings have the same secret")
	}
	if a.keys[0].secret == [secretSize]byte{} {
		t.Error("the secret is all zero")
	}
	if got := a.Keys(); len(got) != 1 || !got[0].MadeAt.Equal(noon) || !got[0].RetiredAt.IsZero() {
		t.Errorf("got keys %+v, want one, created now, not replaced", got)
	}
}

// TestRotation: a token remains valid after its key has been rotated out, and the key is deleted when its last token
// expires.
func TestRotation(t *testing.T) {
	old := Generate(noon)
	auth, _, _ := old.IssueBookingAuth("call-7", patient, noon)
	booking, _, _ := old.IssueBooking("checkup", "ada", noon.Add(48*time.Hour), 30, noon)
	link, _ := old.IssueManage(Manage{AppointmentID: appointment, ExpiresAt: noon.Add(1000 * 24 * time.Hour)}, noon)

	k := old.Rotate(noon)
	if len(old.Keys()) != 1 {
		t.Error("Rotate changed the keyring it was called on")
	}
	if k.signer().id == old.signer().id {
		t.Error("the new key has the id of the previous one")
	}
	again, err := ParseKeyring(k.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]*Keyring{"in memory": k, "read back": again} {
		last := noon.Add(BookingAuthTTL - time.Millisecond)
		if _, err := k.VerifyBookingAuth(auth, patient, last); err != nil {
			t.Errorf("%s: bookingAuthToken of the replaced key, 1 ms before its end: got %v, want no error", name,
				err)
		}
		if _, err := k.VerifyBooking(booking, noon.Add(BookingTTL-time.Second)); err != nil {
			t.Errorf("%s: bookingToken of the replaced key, 1 s before its end: got %v, want no error", name, err)
		}
		if _, err := k.VerifyManage(link, noon.Add(MaxManageTTL-time.Second)); err != nil {
			t.Errorf("%s: manage token of the replaced key, 1 s before its end: got %v, want no error", name, err)
		}
		if _, err := k.VerifyManage(link, noon.Add(MaxManageTTL)); err != ManageTokenExpired {
			t.Errorf("%s: manage token with a lifetime of 1000 days, after %v: got %v, want %v", name, MaxManageTTL, err,
				ManageTokenExpired)
		}
	}

	if _, err := k.Revoke().VerifyManage(link, noon); err == nil || len(k.Revoke().Keys()) != 1 || len(k.Keys()) != 2 {
		t.Errorf("after the earlier keys were revoked: got %v, want an error and only the signing key", err)
	}

	// A key that was stolen and soon replaced can no longer authorize bookings.
	forged, _, _ := old.IssueBookingAuth("call-8", patient, noon.Add(time.Hour))
	if _, err := k.VerifyBookingAuth(forged, patient, noon.Add(time.Hour)); err != BookingAuthSignatureInvalid {
		t.Errorf("signed an hour later with the replaced key: got %v, want %v", err, BookingAuthSignatureInvalid)
	}

	k = k.Rotate(noon.Add(30 * 24 * time.Hour))
	if got := len(k.Keys()); got != 3 {
		t.Errorf("after a second rotation: got %d keys, want 3", got)
	}
	k = k.Rotate(noon.Add(MaxManageTTL + 24*time.Hour))
	if got := len(k.Keys()); got != 3 {
		t.Errorf("after the first key's last link has expired: got %d keys, want 3 (without the first one)", got)
	}
	if _, err := k.VerifyManage(link, noon); err != ManageTokenInvalid {
		t.Errorf("a link of a deleted key: got %v, want %v", err, ManageTokenInvalid)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	k := Generate(noon).Rotate(noon)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("keys", "ring", k)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("keys", "ring", k)
	out := log.String() + fmt.Sprintf("%v %+v %#v %s %d %x %v", k, k, k, k, k, k, k.Keys())
	for _, key := range k.keys {
		for _, form := range []string{encode(key.secret[:]), fmt.Sprintf("%x", key.secret[:4]),
			fmt.Sprintf("%d %d %d", key.secret[0], key.secret[1], key.secret[2])} {
			if strings.Contains(out, form) {
				t.Errorf("the printed form contains a secret: %s", out)
			}
		}
	}
}

func FuzzParseKeyring(f *testing.F) {
	f.Add(Generate(noon).Rotate(noon).Marshal())
	f.Add([]byte("holdfast-keys 1\nkey 0000 2026-11-20T10:00:00Z - AAAA\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := ParseKeyring(text)
		if err != nil {
			return
		}
		again, err := ParseKeyring(k.Marshal())
		if err != nil || !bytes.Equal(again.Marshal(), k.Marshal()) {
			t.Fatalf("a key file that was read changes when it is written and read again: %v\n%s", err, k.Marshal())
		}
	})
}

// TestDamagedByteIsRefused damages every byte of a key file in several ways. Either the file is refused, or it still
// contains the same keys: damage to a comment is harmless.
func TestDamagedByteIsRefused(t *testing.T) {
	ring := Generate(time.Now())
	whole := ring.Rotate(time.Now()).Marshal()
	keys, err := ParseKeyring(whole)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range whole {
		for _, other := range []byte{whole[i] ^ 1, whole[i] ^ 0x20, whole[i] ^ 0x80, 0, '\n', '#', ' '} {
			damaged := bytes.Clone(whole)
			damaged[i] = other
			got, err := ParseKeyring(damaged)
			if err != nil {
				refused++
				continue
			}
			if !bytes.Equal(got.Marshal(), keys.Marshal()) {
				t.Errorf("byte %d as %q: got other keys, want an error", i, other)
			}
		}
	}
	if refused == 0 {
		t.Error("no damaged file was refused")
	}
}
