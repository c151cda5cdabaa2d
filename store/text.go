package store

import (
	"strings"
	"unicode/utf8"
)

// Text returns s as every backend stores it and looks it up: valid UTF-8 without NUL. PostgreSQL accepts nothing
// else. Each other byte becomes U+FFFD, so text from a remote server or a browser cannot make a write fail.
func Text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// CutText returns the longest prefix of s that has at most limit bytes and does not split a character.
func CutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
