package record

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Other people read the name that a visitor types: at the desk, and at the top of emails to an address that may not
// be the visitor's own.

// MaxPublicName is the maximum number of characters of the name in a public booking.
const MaxPublicName = 80

// CheckPublicName refuses a name that is too long, or whose characters are invisible or change the direction of
// writing.
func CheckPublicName(m *Mistakes, field, name string) {
	switch {
	case utf8.RuneCountInString(name) > MaxPublicName:
		m.Add(field, "must be at most %d characters", MaxPublicName)
	case strings.ContainsFunc(name, isUnseen) || strings.Trim(name, " \u200c\u200d") == "" && name != "":
		m.Add(field, "must not contain invisible characters or ones that turn the direction of writing")
	}
}

// isUnseen reports whether a character is invisible. It allows the two joiners of Indic and Persian scripts.
func isUnseen(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return false
	case utf8.RuneError, '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u2800', '\u3164', '\uffa0': // letters and marks that are blank
		return true
	}
	return r != ' ' && !unicode.IsPrint(r)
}

const (
	maxGreeting       = 60 // characters
	maxGreetingDigits = 2
)

// address matches text that can be opened: a scheme, a path, an email address, or a name with a dot such as
// example.org, in any script.
var address = regexp.MustCompile(`[:/\\@]|[\pL\pN]{2,}[.\x{3002}\x{ff0e}\x{ff61}]\pL{2,}`)

// Greetable returns the name if an email can use it as its recipient and in its first line. It returns an empty
// string if the name could be a message of its own: it is long, or contains an address, a telephone number or
// invisible characters.
func Greetable(name string) string {
	digits := 0
	for _, r := range name {
		if unicode.IsNumber(r) {
			digits++
		}
	}
	if utf8.RuneCountInString(name) > maxGreeting || digits > maxGreetingDigits || strings.ContainsFunc(name, isUnseen) || address.MatchString(name) {
		return ""
	}
	return name
}
