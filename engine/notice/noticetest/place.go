package noticetest

import (
	"crypto/rand"
	"fmt"
)

// MailPort returns a loopback address that no other test uses. Its port, 2525, is one that mail servers use, and it
// requires no privileges.
func MailPort() (host, address string) {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it never fails
	host = fmt.Sprintf("127.%d.%d.%d", 1+int(b[0])%254, b[1], 1+int(b[2])%254)
	return host, host + ":2525"
}
