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

// BookingAuthTTL is the lifetime of a bookingAuthToken.
const BookingAuthTTL = 15 * time.Minute

// With these limits every issued token fits into maxBookingAuth: JSON uses at most six bytes per byte of input.
const (
	maxSessionID   = 256
	maxPatientGUID = 64
	maxBookingAuth = 4096
)

// BookingAuth is the content of a bookingAuthToken: this session is allowed to book for this patient until an instant.
// It is the payload on the wire, in this order.
type BookingAuth struct {
	SessionID   string `json:"sessionId"`
	PatientGUID string `json:"patientGUID"`
	CreatedAt   int64  `json:"createdAt"` // Unix milliseconds
	ExpiresAt   int64  `json:"expiresAt"` // Unix milliseconds; refused from this instant on
	Nonce       string `json:"nonce"`     // 128 random bits, so that no two tokens are equal
}

// IssueBookingAuth creates a bookingAuthToken: base64url(payload) "." base64url(HMAC-SHA256(key, text before the dot)).
// It fails only if sessionID is longer than 256 bytes, or if patientGUID is empty or longer than 64 bytes.
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

// VerifyBookingAuth checks a bookingAuthToken for patientGUID in this order: it is not empty (BookingAuthMissing), it
// was signed here and is unchanged (BookingAuthSignatureInvalid; also for a malformed token), it has not expired
// (BookingAuthExpired), and it is for this patient, ignoring letter case (BookingAuthGUIDMismatch).
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

// signedBookingAuth tries the signing key and each replaced key whose tokens can still be valid. It always tries all of
// these keys, so that the duration reveals nothing.
func (k *Keyring) signedBookingAuth(text string, sum []byte, now time.Time) bool {
	found := false
	for i := range k.keys {
		if k.keys[i].accepts(forBookingAuth, now) && hmac.Equal(sum, k.keys[i].mac(forBookingAuth, []byte(text))) {
			found = true
		}
	}
	return found
}
