package record

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"holdfast/store"
)

func TestCheckPublicNameRefusesLongAndInvisible(t *testing.T) {
	for name, want := range map[string]bool{
		"Lena Vogt": true, "Ngô Thị Bích": true, "محمد علی\u200cزاده": true, "श्री\u200d राम": true,
		"Æthelred J. O'Neill-Müller (jun.)": true, "李": true, "葛\U000e0100城": true, strings.Repeat("ü", 80): true,
		strings.Repeat("ü", 81): false, "Lena\u202eVogt": false, "Lena\u2066Vogt": false, "\u200fLena": false,
		"Lena\u200bVogt": false, "Lena\x00": false, "Lena\x1b[31m": false, "Lena\u00adVogt": false, "\u3164": false,
		"\u2800": false, "\u200d": false, "\ue000": false, "Lena\ufeff": false, "Lena\ufffd": false,
		"\u115f\u1160": false, "Lena\U000e0041": false, "Lena\u061c": false, "Lena\u2028Vogt": false,
	} {
		var m Mistakes
		CheckPublicName(&m, "patient.name", name)
		if got := m.Err() == nil; got != want {
			t.Errorf("%q: accepted %v, want %v", name, got, want)
		}
	}
}

// A long name breaks the limit of all names and the lower one of public bookings. The patient gets only the lower one.
func TestCheckPublicNameReplacesOtherLimit(t *testing.T) {
	p := store.Patient{Name: strings.Repeat("x", 201)}
	var m Mistakes
	NormalizePatient(&m, &p, []string{"email"}, time.Now())
	CheckPublicName(&m, "patient.name", p.Name)
	want := Mistakes{{"patient.email", "this clinic requires it"}, {"patient.name", "must be at most 80 characters"}}
	if !slices.Equal(m, want) {
		t.Errorf("got %v, want %v", m, want)
	}
}

func TestGreetableRefusesMessages(t *testing.T) {
	for name, want := range map[string]bool{
		"Lena Vogt": true, "J.R.R. Tolkien": true, "Ngô Thị Bích": true, "Henry 8": true,
		"Dr. med. Ada Okoye-Lindqvist": true, "علی\u200cزاده": true,
		"your account is locked, verify at https://evil.example": false, "see evil.example": false, "EVIL.COM": false,
		"www.evil.de": false, "evil。com": false,
		"mail lena@evil.example": false, "evil．com": false, "a\\b": false, "call +49 900 123456": false,
		"ring ٠٩٠٠١٢": false, "//evil": false, "Lena\u202emoc.live": false, "Lena\nBcc": false, "Lena\u200b": false,
		strings.Repeat("very ", 13) + "long": false,
	} {
		if got := Greetable(name) != ""; got != want {
			t.Errorf("%q: greeted %v, want %v", name, got, want)
		}
	}
}

// TestCheckBirthDateAcceptsToday: the calendar in the clinic's zone decides which dates are in the future.
func TestCheckBirthDateAcceptsToday(t *testing.T) {
	now := time.Date(2026, 11, 23, 22, 30, 0, 0, time.UTC)
	east := time.FixedZone("", 2*60*60) // the 24th
	for _, c := range []struct {
		born string
		now  time.Time
		want bool
	}{
		{"2026-11-23", now, true}, {"2026-11-24", now, false}, {"2026-11-24", now.In(east), true},
		{"2026-11-25", now.In(east), false}, {"1880-01-01", now, true}, {"1879-12-31", now, false},
		{"2023-02-29", now, false}, {"1980-3-31", now, false}, {"1980-03-31T00:00:00Z", now, false},
		{"31.03.1980", now, false},
	} {
		var m Mistakes
		CheckBirthDate(&m, "patient.birthDate", c.born, c.now)
		if got := m == nil; got != c.want {
			t.Errorf("%s on %s: accepted %v, want %v", c.born, c.now, got, c.want)
		}
	}
}

func TestClipEndsAtACharacter(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", 64)} {
		if got := Clip(s); got != s {
			t.Errorf("Clip(%q) = %q, want it unchanged", s, got)
		}
	}
	for _, s := range []string{strings.Repeat("x", 65), strings.Repeat("ü", 40), "x" + strings.Repeat("ü", 40)} {
		if got := Clip(s); !utf8.ValidString(got) || !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) ||
			len(got) > 67 || len(got) < 66 {
			t.Errorf("Clip(%q) = %q, want its first 63 or 64 bytes and an ellipsis", s, got)
		}
	}
}
