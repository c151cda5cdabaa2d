package record

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/holds"
	"holdfast/store"
)

// The checks of single values that several packages share. Each adds at most one mistake, whose message says how to
// fix it.

func CheckID(m *Mistakes, field, id string) {
	switch {
	case id == "":
		m.Add(field, "is missing")
	case !ValidID(id):
		m.Add(field, "must be 1 to 64 characters of A-Z a-z 0-9 _ -")
	}
}

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

func CheckStart(m *Mistakes, start time.Time) {
	switch {
	case start.IsZero():
		m.Add("slotStartDate", "must be an instant like 2026-11-23T09:00:00Z")
	case start.Year() < 2000 || start.Year() > 2200:
		m.Add("slotStartDate", "must lie between the years 2000 and 2200")
	}
}

// CheckText refuses text that is too long or contains control characters. Multiline text can contain line breaks and
// tabs.
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

// NormalizePatient trims the patient's fields and checks them. required are the fields that the clinic asks for; a
// name is always required.
func NormalizePatient(m *Mistakes, p *store.Patient, required []string, today store.Date) {
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
		if d, err := store.ParseDate(p.BirthDate); err != nil || d.Year < 1880 || today.Before(d) {
			m.Add("patient.birthDate", "must be a date of birth like 1980-03-31")
		}
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
			m.Add("patient."+field, "this clinic needs it")
		}
	}
}

// CheckEmail accepts the addresses that mail servers accept in practice: a local part, an @, and a host with or
// without a dot. It refuses invisible characters, and characters with a meaning in a header or in a mailto: link
// (quotes, brackets, ? and %).
func CheckEmail(m *Mistakes, field, s string) {
	local, host, _ := strings.Cut(s, "@")
	if len(s) > 254 || !dotted(local, "!$&'*+-/=^_`{|}~") || !dotted(host, "-") || strings.HasPrefix(host, "-") || strings.Contains(host, ".-") {
		m.Add(field, "must be an email address like name@example.org")
	}
}

// dotted reports whether s consists of words joined by single dots. The words have letters, digits and the given
// signs.
func dotted(s, signs string) bool {
	for word := range strings.SplitSeq(s, ".") {
		if word == "" {
			return false
		}
		for _, r := range word {
			if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune(signs, r) {
				return false
			}
		}
	}
	return true
}

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
