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

// This file contains the rules that all backends share, so that every backend returns the same results: how a search
// finds people, and the format of a list's cursor.

// SearchText returns the text of a patient that AppointmentFilter.Query and Erase search: one line each for the name,
// the email address and the digits of the phone number. It is empty for the zero Patient.
func SearchText(p Patient) string {
	if p == (Patient{}) {
		return ""
	}
	return Fold(p.Name) + "\n" + Fold(p.Email) + "\n" + Digits(p.Phone)
}

// SearchTerms returns the terms to search for in SearchText; a match of either is enough. text is empty for an empty
// query. number is empty unless the query looks like a phone number, so that "0170 / 12" finds +49 (0)170 123.
func SearchTerms(query string) (text, number string) {
	text = Fold(query)
	if digits := Digits(text); len(digits) >= 3 && !strings.ContainsFunc(text, unicode.IsLetter) {
		number = digits
	}
	return text, number
}

// Fold returns s in lower case and with single spaces, so that two spellings of one name are equal. It does not change
// accents.
func Fold(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }

// Digits returns the digits of s.
func Digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// Cursor returns the cursor of a row: the instant and the id that its list is ordered by.
func Cursor(at time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at.UnixMilli(), 10) + " " + id))
}

// ParseCursor reads a Cursor. Errors: ErrInvalid.
func ParseCursor(s string) (at time.Time, id string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	number, id, found := strings.Cut(string(text), " ")
	ms, numberErr := strconv.ParseInt(number, 10, 64)
	if cmp.Or(err, numberErr) != nil || !found {
		return time.Time{}, "", fmt.Errorf("%w: the cursor does not belong to this list", ErrInvalid)
	}
	return time.UnixMilli(ms), id, nil
}
