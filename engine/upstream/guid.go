package upstream

import "strings"

// ValidGUID reports whether s is a GUID as the upstream writes it: 36 characters in either letter case, with or
// without braces.
func ValidGUID(s string) bool {
	s = bare(s)
	return len(s) == 36 && guid.FindString(s) == s
}

// EqualGUID reports whether two GUIDs are equal. It ignores letter case and braces. An empty string does not equal
// anything, not even another empty string.
func EqualGUID(a, b string) bool {
	return a != "" && strings.EqualFold(bare(a), bare(b))
}

// CanonicalGUID returns the spelling to store and to hash: lower case, no braces.
func CanonicalGUID(s string) string { return strings.ToLower(bare(s)) }

func bare(s string) string {
	if len(s) > 2 && s[0] == '{' && s[len(s)-1] == '}' {
		return s[1 : len(s)-1]
	}
	return s
}
