package store

import (
	"errors"
	"testing"
	"time"
)

// TestSearchTerms checks that a query that looks like a phone number also yields its digits, and that an empty query
// yields no terms.
func TestSearchTerms(t *testing.T) {
	for query, want := range map[string][2]string{
		"":               {"", ""},
		"  \t ":          {"", ""},
		" Anna  SCHÄFER": {"anna schäfer", ""},
		"0170 / 12":      {"0170 / 12", "017012"},
		"12":             {"12", ""},
		"room 101":       {"room 101", ""},
	} {
		if text, number := SearchTerms(query); text != want[0] || number != want[1] {
			t.Errorf("%q: got %q and %q, want %q and %q", query, text, number, want[0], want[1])
		}
	}
}

// FuzzParseCursor checks that ParseCursor returns the values that a cursor was created from. It must refuse any other
// string, or return values that can be parsed again.
func FuzzParseCursor(f *testing.F) {
	f.Add(Cursor(time.UnixMilli(1795234600003), "a-1"))
	f.Add("MTIz")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		at, id, err := ParseCursor(s)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("got %v, want ErrInvalid", err)
			}
			return
		}
		again, sameID, err := ParseCursor(Cursor(at, id))
		if err != nil || !again.Equal(at) || sameID != id {
			t.Errorf("%q gives %v %q, and a second time %v %q, %v", s, at, id, again, sameID, err)
		}
	})
}
