package record

import (
	"strings"
	"testing"
)

func TestNamesOfThePublicAreVisibleAndShort(t *testing.T) {
	for name, want := range map[string]bool{
		"Lena Vogt": true, "Ngô Thị Bích": true, "محمد علی\u200cزاده": true, "श्री\u200d राम": true, "Æthelred J. O'Neill-Müller (jun.)": true, "李": true, "葛\U000e0100城": true,
		strings.Repeat("ü", 80): true,
		strings.Repeat("ü", 81): false, "Lena\u202eVogt": false, "Lena\u2066Vogt": false, "\u200fLena": false, "Lena\u200bVogt": false, "Lena\x00": false, "Lena\x1b[31m": false,
		"Lena\u00adVogt": false, "\u3164": false, "\u2800": false, "\u200d": false, "\ue000": false, "Lena\ufeff": false, "Lena\ufffd": false, "\u115f\u1160": false,
		"Lena\U000e0041": false, "Lena\u061c": false, "Lena\u2028Vogt": false,
	} {
		var m Mistakes
		CheckPublicName(&m, "patient.name", name)
		if got := m.Err() == nil; got != want {
			t.Errorf("%q: accepted %v, want %v", name, got, want)
		}
	}
}

func TestAMailGreetsNobodyByAMessage(t *testing.T) {
	for name, want := range map[string]bool{
		"Lena Vogt": true, "J.R.R. Tolkien": true, "Ngô Thị Bích": true, "Henry 8": true, "Dr. med. Ada Okoye-Lindqvist": true, "علی\u200cزاده": true,
		"your account is locked, verify at https://evil.example": false, "see evil.example": false, "EVIL.COM": false, "www.evil.de": false, "evil。com": false,
		"mail lena@evil.example": false, "evil．com": false, "a\\b": false, "call +49 900 123456": false, "ring ٠٩٠٠١٢": false, "//evil": false,
		"Lena\u202emoc.live": false, "Lena\nBcc": false, "Lena\u200b": false, strings.Repeat("very ", 13) + "long": false,
	} {
		if got := Greetable(name) != ""; got != want {
			t.Errorf("%q: greeted %v, want %v", name, got, want)
		}
	}
}
