package account

import (
	"crypto/rand"
	"crypto/subtle"
	"strings"
)

// A browser that has signed in stores a device token that outlives the sign-in. The token proves that the browser has
// signed in to this account before. It grants no access, but failed sign-ins in other browsers do not count against a
// browser that has one (OWASP Authentication Cheat Sheet, device cookies). The token consists of a nonce and a MAC over
// the nonce and the account, so the server does not have to store anything for it.

// DeviceToken returns a device token for a browser that has just signed in to an account.
func (ac *Account) DeviceToken(email string) string {
	nonce := rand.Text()
	return nonce + "." + ac.deviceMAC(email, nonce)
}

// device returns the nonce of a token that was created for this account, or an empty string.
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
