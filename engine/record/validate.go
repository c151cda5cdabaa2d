package record

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/holds"
	"holdfast/store"
)

// These checks of single values are shared by several packages. Each adds at most one mistake, whose message says how
// to fix it.

// CheckID refuses an id that is missing or that ValidID refuses.
func CheckID(m *Mistakes, field, id string) {
	switch {
	case id == "":
		m.Add(field, "is missing")
	case !ValidID(id):
		m.Add(field, "must be 1 to 64 characters of A-Z a-z 0-9 _ -")
	}
}

// ValidID reports whether s is 1 to 64 characters of [A-Za-z0-9_-].
func ValidID(s string) bool {
	if len(s) < 1 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// CheckClient refuses a client id that is too short to be secret, too long, or not printable ASCII.
func CheckClient(m *Mistakes, c holds.ClientID) {
	if len(c) < 16 || len(c) > 128 {
		m.Add("clientId", "must be a random string of 16 to 128 characters that the client generates and keeps secret")
		return
	}
	for i := range len(c) {
		if c[i] <= ' ' || c[i] > '~' {
			m.Add("clientId", "must be printable ASCII without spaces")
			return
		}
	}
}

// CheckStart refuses a start that is missing or outside the years 2000 to 2200.
func CheckStart(m *Mistakes, start time.Time) {
	switch {
	case start.IsZero():
		m.Add("slotStartDate", "must be a time such as 2026-11-23T09:00:00Z")
	case start.Year() < 2000 || start.Year() > 2200:
		m.Add("slotStartDate", "must be between the years 2000 and 2200")
	}
}

// CheckText refuses a string that is too long or contains control characters. Multiline text can contain line breaks
// and tabs.
func CheckText(m *Mistakes, field, s string, max int, multiline bool) {
	if !utf8.ValidString(s) {
		m.Add(field, "must be valid UTF-8")
		return
	}
	if utf8.RuneCountInString(s) > max {
		m.Add(field, "must be at most %d characters", max)
		return
	}
	for _, r := range s {
		if unicode.IsControl(r) && !(multiline && (r == '\n' || r == '\t' || r == '\r')) {
			m.Add(field, "must not contain control characters")
			return
		}
	}
}

// Clip shortens a value of the request to 64 bytes before an error message repeats it.
func Clip(s string) string {
	if len(s) <= 64 {
		return s
	}
	return strings.ToValidUTF8(s[:64], "") + "…"
}

// CheckLocale refuses a string that is not a language tag. An empty string is valid: it means the clinic's language.
func CheckLocale(m *Mistakes, s string) {
	if s != "" && !ValidLocale(s) {
		m.Add("locale", "must be a language tag like en, de or pt-BR")
	}
}

// ValidLocale reports whether s has the form of a BCP 47 tag: groups of 1 to 8 letters or digits, joined by hyphens.
// The first group has only letters, and at least two.
func ValidLocale(s string) bool {
	groups := strings.Split(s, "-")
	if len(s) > 35 || len(groups[0]) < 2 {
		return false
	}
	for i, g := range groups {
		if len(g) < 1 || len(g) > 8 {
			return false
		}
		for _, r := range g {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
			if !letter && !(i > 0 && r >= '0' && r <= '9') {
				return false
			}
		}
	}
	return true
}

// NormalizePatient trims the patient's fields and checks them. required lists the fields that the clinic requires; a
// name is always required. now is in the clinic's zone, for the date of birth.
func NormalizePatient(m *Mistakes, p *store.Patient, required []string, now time.Time) {
	p.Name = strings.Join(strings.Fields(p.Name), " ")
	p.Email, p.Phone, p.Notes = strings.TrimSpace(p.Email), strings.TrimSpace(p.Phone), strings.TrimSpace(p.Notes)
	p.BirthDate = strings.TrimSpace(p.BirthDate)
	if p.Name == "" {
		m.Add("patient.name", "enter the patient's full name")
	}
	CheckText(m, "patient.name", p.Name, 200, false)
	CheckText(m, "patient.notes", p.Notes, 2000, true)
	if p.Email != "" {
		CheckEmail(m, "patient.email", p.Email)
	}
	if p.Phone != "" {
		CheckPhone(m, "patient.phone", p.Phone)
	}
	if p.BirthDate != "" {
		CheckBirthDate(m, "patient.birthDate", p.BirthDate, now)
	}
	for _, field := range required {
		missing := false
		switch field {
		case "email":
			missing = p.Email == ""
		case "phone":
			missing = p.Phone == ""
		case "contact":
			missing = p.Email == "" && p.Phone == ""
		case "birthDate":
			missing = p.BirthDate == ""
		}
		if missing && field == "contact" {
			m.Add("patient.email", "enter an email or a phone number")
		} else if missing {
			m.Add("patient."+field, "this clinic requires it")
		}
	}
}

// CheckEmail accepts the addresses that mail servers accept in practice: a local part, an @, and a host with or without
// a dot. It refuses invisible characters, and characters that have a meaning in a header or in a mailto: link (quotes,
// brackets, ? and %).
func CheckEmail(m *Mistakes, field, s string) {
	local, host, _ := strings.Cut(s, "@")
	if len(s) > 254 || !dotted(local, "!$&'*+-/=^_`{|}~") || !dotted(host, "-") || strings.HasPrefix(host, "-") ||
		strings.Contains(host, ".-") {
		m.Add(field, "must be an email address like name@example.org")
	}
}

// dotted reports whether s consists of words joined by single dots. The words consist of letters, digits and the given
// signs.
func dotted(s, signs string) bool {
	for word := range strings.SplitSeq(s, ".") {
		if word == "" {
			return false
		}
		for _, r := range word {
			if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) &&
				!strings.ContainsRune(signs, r) {
				return false
			}
		}
	}
	return true
}

// CheckBirthDate accepts dates from the year 1880 to today. Today is the date in the zone of now.
func CheckBirthDate(m *Mistakes, field, s string, now time.Time) {
	born, err := time.Parse(time.DateOnly, s)
	if err != nil || born.Year() < 1880 || s > now.Format(time.DateOnly) {
		m.Add(field, "must be a date of birth like 1980-03-31")
	}
}

// CheckPhone accepts at most 40 bytes: at least three digits, and the characters that people write between digits.
func CheckPhone(m *Mistakes, field, s string) {
	digits := 0
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case !strings.ContainsRune("+-./() ", r):
			digits = -100
		}
	}
	if digits < 3 || len(s) > 40 {
		m.Add(field, "must be a telephone number of digits, spaces and + - . / ( )")
	}
}

// The name that a visitor enters is read by other people: at the desk, and at the start of emails, which may go to an
// address that is not the visitor's own.

// MaxPublicName is the maximum length of the name in a public booking, in characters.
const MaxPublicName = 80

// CheckPublicName refuses a name that is too long, or that contains characters that are invisible or change the
// direction of writing. Its mistake replaces the other mistakes of the field: the limit of all names is higher.
func CheckPublicName(m *Mistakes, field, name string) {
	var mistake Mistakes
	switch {
	case utf8.RuneCountInString(name) > MaxPublicName:
		mistake.Add(field, "must be at most %d characters", MaxPublicName)
	case strings.ContainsFunc(name, isUnseen) || strings.Trim(name, " \u200c\u200d") == "" && name != "":
		mistake.Add(field, "must not contain invisible characters or characters that change the text direction")
	default:
		return
	}
	*m = append(slices.DeleteFunc(*m, func(x FieldError) bool { return x.Field == field }), mistake...)
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

// address matches text that can be opened as a link: a scheme, a path, an email address, or a name with a dot such as
// example.org, in any script.
var address = regexp.MustCompile(`[:/\\@]|[\pL\pN]{2,}[.\x{3002}\x{ff0e}\x{ff61}]\pL{2,}`)

// Greetable returns the name if an email can use it for its recipient and in its greeting. It returns an empty string
// if the name could be a message in itself: if it is long, or if it contains an address, a telephone number or
// invisible characters.
func Greetable(name string) string {
	digits := 0
	for _, r := range name {
		if unicode.IsNumber(r) {
			digits++
		}
	}
	if utf8.RuneCountInString(name) > maxGreeting || digits > maxGreetingDigits ||
		strings.ContainsFunc(name, isUnseen) || address.MatchString(name) {
		return ""
	}
	return name
}
