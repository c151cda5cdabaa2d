package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// BookingAuthTTL is how long a bookingAuthToken is good for.
const BookingAuthTTL = 15 * time.Minute

// Bounds that keep every issued token inside maxBookingAuth, six bytes of JSON
// for one of input at the worst.
const (
	maxSessionID   = 256
	maxPatientGUID = 64
	maxBookingAuth = 4096
)

// BookingAuth is what a bookingAuthToken says: this session may book for this
// patient until then. It is the payload on the wire, in this order.
type BookingAuth struct {
	SessionID   string `json:"sessionId"`
	PatientGUID string `json:"patientGUID"`
	CreatedAt   int64  `json:"createdAt"` // Unix milliseconds
	ExpiresAt   int64  `json:"expiresAt"` // Unix milliseconds; refused from this instant on
	Nonce       string `json:"nonce"`     // 128 random bits, so that no two tokens are alike
}

// IssueBookingAuth makes a bookingAuthToken: base64url(payload) "."
// base64url(HMAC-SHA256(key, payload as it stands before the dot)). It fails only
// when sessionID is longer than 256 bytes or patientGUID is empty or longer than 64.
func (k *Keyring) IssueBookingAuth(sessionID, patientGUID string, now time.Time) (string, BookingAuth, error) {
	if len(sessionID) > maxSessionID {
		return "", BookingAuth{}, fmt.Errorf("bookingAuthToken: sessionId may have at most %d bytes", maxSessionID)
	}
	if patientGUID == "" || len(patientGUID) > maxPatientGUID {
		return "", BookingAuth{}, fmt.Errorf("bookingAuthToken: patientGUID must have 1 to %d bytes", maxPatientGUID)
	}
	var nonce [16]byte
	_, _ = rand.Read(nonce[:])
	auth := BookingAuth{
		SessionID:   sessionID,
		PatientGUID: patientGUID,
		CreatedAt:   now.UnixMilli(),
		ExpiresAt:   now.Add(BookingAuthTTL).UnixMilli(),
		Nonce:       encode(nonce[:]),
	}
	token, err := k.signBookingAuth(auth)
	return token, auth, err
}

func (k *Keyring) signBookingAuth(auth BookingAuth) (string, error) {
	payload, err := json.Marshal(auth)
	if err != nil {
		return "", fmt.Errorf("bookingAuthToken: %w", err)
	}
	text := encode(payload)
	return text + "." + encode(k.signer().mac(forBookingAuth, []byte(text))), nil
}

// VerifyBookingAuth checks a bookingAuthToken for patientGUID, in this order:
// there is one (BookingAuthMissing), it was signed here and is unchanged
// (BookingAuthSignatureInvalid; malformed counts as this), it has not expired
// (BookingAuthExpired), it is this patient's, letter case aside
// (BookingAuthGUIDMismatch).
func (k *Keyring) VerifyBookingAuth(token, patientGUID string, now time.Time) (BookingAuth, error) {
	if token == "" {
		return BookingAuth{}, BookingAuthMissing
	}
	if !allowed(token, maxBookingAuth) {
		return BookingAuth{}, BookingAuthSignatureInvalid
	}
	text, signature, found := strings.Cut(token, ".")
	sum, ok := decode(signature)
	if !found || !ok || len(sum) != sha256.Size || !k.signedBookingAuth(text, sum, now) {
		return BookingAuth{}, BookingAuthSignatureInvalid
	}
	payload, ok := decode(text)
	if !ok {
		return BookingAuth{}, BookingAuthSignatureInvalid
	}
	var auth BookingAuth
	if err := json.Unmarshal(payload, &auth); err != nil {
		return BookingAuth{}, BookingAuthSignatureInvalid
	}
	if now.UnixMilli() >= auth.ExpiresAt {
		return BookingAuth{}, BookingAuthExpired
	}
	if !strings.EqualFold(auth.PatientGUID, patientGUID) {
		return BookingAuth{}, BookingAuthGUIDMismatch
	}
	return auth, nil
}

// signedBookingAuth tries the key that signs and each one replaced so lately that
// its tokens can still be alive. All are tried, so the time taken tells nothing.
func (k *Keyring) signedBookingAuth(text string, sum []byte, now time.Time) bool {
	found := false
	for i := range k.keys {
		if k.keys[i].accepts(forBookingAuth, now) && hmac.Equal(sum, k.keys[i].mac(forBookingAuth, []byte(text))) {
			found = true
		}
	}
	return found
}
