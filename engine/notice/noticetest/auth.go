package noticetest

import "encoding/base64"

// PlainAuth returns a client's initial response for a user and a password (RFC 4616).
func PlainAuth(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
}
