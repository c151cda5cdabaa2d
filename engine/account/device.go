package account

import (
	"crypto/rand"
	"crypto/subtle"
	"strings"
)

// A browser that signed in keeps a device token beside its sign-in, and longer: it says that somebody has signed in to this account
// there before. It opens nothing; with it the failures of others do not count (OWASP Authentication Cheat Sheet, device cookies).
// It is its own nonce, and a MAC over that and the account, so nothing is kept about it.

// DeviceToken names a browser that has just signed in to an account.
func (ac *Account) DeviceToken(email string) string {
	nonce := rand.Text()
	return nonce + "." + ac.deviceMAC(email, nonce)
}

// device returns the nonce of a token that was made for this account, or nothing.
func (ac *Account) device(email, token string) string {
	nonce, mac, found := strings.Cut(token, ".")
	if !found || len(token) > 100 || subtle.ConstantTimeCompare([]byte(mac), []byte(ac.deviceMAC(email, nonce))) != 1 {
		return ""
	}
	return nonce
}

func (ac *Account) deviceMAC(email, nonce string) string {
	return ac.keys.Current().Name("device\n" + normalEmail(email) + "\n" + nonce)
}
