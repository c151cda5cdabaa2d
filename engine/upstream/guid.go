package upstream

import "strings"

// ValidGUID reports whether s is a GUID as the upstream writes them: 36 characters,
// braces around it allowed, in either letter case.
func ValidGUID(s string) bool {
	s = bare(s)
	return len(s) == 36 && guid.FindString(s) == s
}

// EqualGUID compares two GUIDs, letter case and braces aside. Empty strings equal
// nothing, not even each other.
func EqualGUID(a, b string) bool {
	return a != "" && strings.EqualFold(bare(a), bare(b))
}

// CanonicalGUID is the spelling to store and to hash: lower case, no braces.
func CanonicalGUID(s string) string { return strings.ToLower(bare(s)) }

func bare(s string) string {
	if len(s) > 2 && s[0] == '{' && s[len(s)-1] == '}' {
		return s[1 : len(s)-1]
	}
	return s
}
