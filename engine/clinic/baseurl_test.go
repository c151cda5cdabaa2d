package clinic_test

import (
	"testing"

	"holdfast/engine/clinic"
)

func TestParseBaseURL(t *testing.T) {
	for given, want := range map[string]string{
		"": "", " https://book.example.org/ ": "https://book.example.org",
		"HTTPS://Book.Example.org": "https://book.example.org",
		"http://192.168.1.5:8788":  "http://192.168.1.5:8788", "http://[fd00::5]:8788": "http://[fd00::5]:8788",
		"https://book.example.org:443": "https://book.example.org",
		"http://book.example.org:80":   "http://book.example.org",
		"http://clinic:443":            "http://clinic:443",
	} {
		if got, err := clinic.ParseBaseURL(given); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", given, got, err, want)
		}
	}
	for _, bad := range []string{
		"book.example.org", "ftp://x", "https://", "https://x/path", "://", "https://me:secret@x", "https://x?",
		"https://x?a=b", "https://x#y",
		"https://x:0", "https://x y", "https://x\r\nBcc: a@example.org", "https://*.example.org", "javascript:alert(1)",
	} {
		if got, err := clinic.ParseBaseURL(bad); err == nil {
			t.Errorf("%q was accepted as %q", bad, got)
		}
	}
}
