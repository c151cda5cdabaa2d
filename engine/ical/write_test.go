package ical

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzWriter: typed text never escapes from its own content line, and no line is longer than 75 octets.
func FuzzWriter(f *testing.F) {
	for _, seed := range []string{"", "Harbour Clinic", "a\r\nMETHOD:CANCEL", `say "hello"`, "Zoë; Müller, \\ 💉",
		"a@b.example?subject=x&bcc=c", "\x00\x7f\u2028", strings.Repeat("ü", 80)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		if !utf8.ValidString(typed) {
			return
		}
		var w Writer
		w.line("ORGANIZER"+parameter("CN", typed), address(typed))
		w.line("SUMMARY", escape(typed))
		for line := range strings.SplitSeq(string(w.text), "\r\n") {
			if len(line) > 75 {
				t.Errorf("a line of %d octets: %q", len(line), line)
			}
			if strings.ContainsAny(line, "\r\n\x00\x7f") {
				t.Errorf("a control character in %q", line)
			}
		}
		lines := strings.Split(strings.ReplaceAll(string(w.text), "\r\n ", ""), "\r\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[0], "ORGANIZER") || !strings.HasPrefix(lines[1], "SUMMARY:") {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		if n := strings.Count(lines[0], `"`); n != 0 && n != 2 {
			t.Errorf("%d quotes in %q", n, lines[0])
		}
		if _, address, _ := strings.Cut(lines[0], ":mailto:"); strings.ContainsAny(address, "?&, ") &&
			!strings.Contains(typed, ":mailto:") {
			t.Errorf("the address adds parameters of its own: %q", lines[0])
		}
	})
}
