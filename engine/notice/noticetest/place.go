package noticetest

import (
	"crypto/rand"
	"fmt"
)

// MailPort is an address of this machine that no other test has, on the port that is a mail server's without being reserved.
func MailPort() (host, address string) {
	var b [3]byte
	_, _ = rand.Read(b[:]) // which never fails
	host = fmt.Sprintf("127.%d.%d.%d", 1+int(b[0])%254, b[1], 1+int(b[2])%254)
	return host, host + ":2525"
}
