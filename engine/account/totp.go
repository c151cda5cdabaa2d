package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"
)

// TotpStep is the time step of one-time codes, in seconds. The codes follow RFC 6238, as in authenticator apps:
// HMAC-SHA-1, 30 seconds, six digits. Because clocks differ, the server accepts a code for the current, the previous or
// the next step. It accepts each step once.
const TotpStep = 30

func newTOTPSecret() []byte {
	secret := make([]byte, 20)
	rand.Read(secret)
	return secret
}

// totpURI returns the URI that is shown as a QR code for an authenticator app.
func totpURI(secret []byte, clinic, email string) string {
	key := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
	label := url.PathEscape(clinic + ":" + email)
	return "otpauth://totp/" + label + "?secret=" + key + "&issuer=" + url.QueryEscape(clinic)
}

// checkTOTP returns the time step of a correct code. The step must be later than lastStep.
func checkTOTP(secret []byte, code string, lastStep int64, now time.Time) (step int64, ok bool) {
	current := now.Unix() / TotpStep
	for _, at := range [...]int64{current, current - 1, current + 1} {
		if at > lastStep && subtle.ConstantTimeCompare([]byte(TOTPCode(secret, at)), []byte(code)) == 1 {
			return at, true
		}
	}
	return 0, false
}

func TOTPCode(secret []byte, step int64) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(step))
	mac := hmac.New(sha1.New, secret)
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[offset:])&0x7fffffff%1_000_000)
}
