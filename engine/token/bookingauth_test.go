package token

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestBookingAuthVectors(t *testing.T) {
	var data struct {
		Keyring, SessionID string
		Cases              []struct {
			Name, Token, PatientGUID string
			Now                      time.Time
			Error                    Error
		}
	}
	vectors(t, "booking-auth.json", &data)
	k := keyring(t, data.Keyring)
	for _, c := range data.Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, err := k.VerifyBookingAuth(c.Token, c.PatientGUID, c.Now)
			if c.Error != "" {
				if err != c.Error || got != (BookingAuth{}) {
					t.Errorf("got %+v, %v; want nothing and %v", got, err, c.Error)
				}
				return
			}
			if err != nil {
				t.Fatalf("got %v, want no error", err)
			}
			if got.SessionID != data.SessionID || !strings.EqualFold(got.PatientGUID, c.PatientGUID) {
				t.Errorf("got %+v, want session %q and patient %q", got, data.SessionID, c.PatientGUID)
			}
			if got.ExpiresAt-got.CreatedAt != BookingAuthTTL.Milliseconds() {
				t.Errorf("got a lifetime of %d ms, want %d", got.ExpiresAt-got.CreatedAt, BookingAuthTTL.Milliseconds())
			}
		})
	}
}

// TestBookingAuthPayload: the payload on the wire has exactly these fields, in this order, with times in milliseconds.
func TestBookingAuthPayload(t *testing.T) {
	k := Generate(noon)
	token, auth, err := k.IssueBookingAuth("call-7", patient, noon.Add(1234567*time.Nanosecond))
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(token, ".")
	payload, _ := decode(text)
	want := `{"sessionId":"call-7","patientGUID":"` + patient +
		`","createdAt":1795176000001,"expiresAt":1795176900001,"nonce":"` + auth.Nonce + `"}`
	if string(payload) != want {
		t.Errorf("got payload %s\nwant        %s", payload, want)
	}
	other, _, _ := k.IssueBookingAuth("call-7", patient, noon)
	if other == token {
		t.Error("two tokens of one session are equal")
	}
}

// TestBookingAuthSessionIDs: text that people type into a session id is returned unchanged, and even the longest
// session id results in a token that is accepted.
func TestBookingAuthSessionIDs(t *testing.T) {
	k := Generate(noon)
	for _, id := range []string{"", `"};{"`, "Zoë <&>", strings.Repeat("\x01", maxSessionID),
		strings.Repeat("é", maxSessionID/2)} {
		token, _, err := k.IssueBookingAuth(id, patient, noon)
		if err != nil {
			t.Errorf("session id %q: got %v, want a token", id, err)
			continue
		}
		got, err := k.VerifyBookingAuth(token, patient, noon)
		if err != nil || got.SessionID != id {
			t.Errorf("session id %q: got %q, %v, want the same id", id, got.SessionID, err)
		}
	}
	for name, call := range map[string]func() error{
		"a session id of 257 bytes": func() error {
			_, _, err := k.IssueBookingAuth(strings.Repeat("s", 257), patient, noon)
			return err
		},
		"no patient": func() error { _, _, err := k.IssueBookingAuth("s", "", noon); return err },
		"a patientGUID of 65 bytes": func() error {
			_, _, err := k.IssueBookingAuth("s", strings.Repeat("p", 65), noon)
			return err
		},
	} {
		if call() == nil {
			t.Errorf("%s: got a token, want an error", name)
		}
	}
}

// TestBookingAuthSignedNonsense: a payload that this keyring has signed but that is not a JSON object is also refused.
func TestBookingAuthSignedNonsense(t *testing.T) {
	k := Generate(noon)
	sign := func(text string) string {
		return text + "." + encode(k.signer().mac(forBookingAuth, []byte(text)))
	}
	for _, payload := range []string{"", "[]", "7", `{"sessionId":7}`, `{"expiresAt":"soon"}`} {
		if _, err := k.VerifyBookingAuth(sign(encode([]byte(payload))), patient,
			noon); err != BookingAuthSignatureInvalid {
			t.Errorf("payload %q: got %v, want %v", payload, err, BookingAuthSignatureInvalid)
		}
	}
	if _, err := k.VerifyBookingAuth(sign("A"), patient, noon); err != BookingAuthSignatureInvalid {
		t.Errorf("a payload that is not base64: got %v, want %v", err, BookingAuthSignatureInvalid)
	}
	good, _ := json.Marshal(BookingAuth{PatientGUID: patient, ExpiresAt: noon.UnixMilli() + 1})
	if _, err := k.VerifyBookingAuth(sign(encode(good)), patient, noon); err != nil {
		t.Errorf("the same token with a valid payload: got %v, want no error (or this test proves nothing)", err)
	}
}
