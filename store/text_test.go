package store_test

import (
	"testing"
	"unicode/utf8"

	"holdfast/store"
)

func TestTextIsValidUTF8WithoutNUL(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "Zoë Müller 🦷": "Zoë Müller 🦷", "a\x00b": "a\uFFFDb", "a\xffb": "a\uFFFDb", "M\xc3": "M\uFFFD",
		"\xed\xa0\x80": "\uFFFD", "\uFFFD": "\uFFFD",
	} {
		if got := store.Text(text); got != want {
			t.Errorf("%q is stored as %q, want %q", text, got, want)
		}
	}
}

func TestCutTextKeepsCharactersWhole(t *testing.T) {
	const text = "aü€🦷"
	for limit, want := range []string{"", "a", "a", "aü", "aü", "aü", "aü€", "aü€", "aü€", "aü€", text, text} {
		if got := store.CutText(text, limit); got != want || !utf8.ValidString(got) {
			t.Errorf("%d bytes of %q: got %q, want %q", limit, text, got, want)
		}
	}
}
