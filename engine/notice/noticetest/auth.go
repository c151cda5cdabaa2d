package noticetest

import "encoding/base64"

// PlainAuth returns the initial response of a client for a user and a password (RFC 4616).
func PlainAuth(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
}
