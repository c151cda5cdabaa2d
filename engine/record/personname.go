package record

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a visitor types as a name is read by others: at the desk, and at the head of mails to an address that need not be
// the visitor's own.

// MaxPublicName is how many characters the name in a booking of the public may have.
const MaxPublicName = 80

// CheckPublicName refuses a name that is long, or that shows something else than it says.
func CheckPublicName(m *Mistakes, field, name string) {
	switch {
	case utf8.RuneCountInString(name) > MaxPublicName:
		m.Add(field, "must be at most %d characters", MaxPublicName)
	case strings.ContainsFunc(name, isUnseen) || strings.Trim(name, " \u200c\u200d") == "" && name != "":
		m.Add(field, "must not contain invisible characters or ones that turn the direction of writing")
	}
}

// isUnseen reports whether a character has no look of its own. The two joiners of Indic and Persian writing are let pass.
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

// address is something to open: a scheme, a path, a mail address, or a name with a dot such as example.org, in any script.
var address = regexp.MustCompile(`[:/\\@]|[\pL\pN]{2,}[.\x{3002}\x{ff0e}\x{ff61}]\pL{2,}`)

// Greetable returns a name that may stand in front of a mail, as its recipient and in its first line; nothing for one that
// could be a message of its own: it is long, has an address or a telephone number, or characters that nobody sees.
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
