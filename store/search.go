package store

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// What the backends must do alike lest the same question be answered differently: how people are looked up, and what the cursor
// of a list is.

// SearchText is what a backend keeps of a patient for AppointmentFilter.Query to look in and for Erase to look people up by: one
// line each for the name, the address and the digits of the phone number. It is empty for the zero Patient.
func SearchText(p Patient) string {
	if p == (Patient{}) {
		return ""
	}
	return Fold(p.Name) + "\n" + Fold(p.Email) + "\n" + Digits(p.Phone)
}

// SearchTerms are what to look for in SearchText: either is enough. text is empty for a query of nothing; number is empty unless
// the query looks like a phone number, so that "0170 / 12" finds +49 (0)170 123.
func SearchTerms(query string) (text, number string) {
	text = Fold(query)
	if digits := Digits(text); len(digits) >= 3 && !strings.ContainsFunc(text, unicode.IsLetter) {
		number = digits
	}
	return text, number
}

// Fold makes two spellings of one name equal: case and runs of space do not matter, accents do.
func Fold(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }

// Digits is s without all else.
func Digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// Cursor names a row by what its list is ordered by: an instant, then the id.
func Cursor(at time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at.UnixMilli(), 10) + " " + id))
}

// ParseCursor reads a Cursor. ErrInvalid.
func ParseCursor(s string) (at time.Time, id string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	number, id, found := strings.Cut(string(text), " ")
	ms, numberErr := strconv.ParseInt(number, 10, 64)
	if cmp.Or(err, numberErr) != nil || !found {
		return time.Time{}, "", fmt.Errorf("%w: the cursor was not made by this list", ErrInvalid)
	}
	return time.UnixMilli(ms), id, nil
}
