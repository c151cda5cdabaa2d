package message

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzCalendarText: whatever people typed stays within its own line of a calendar object, and a line within its 75 octets.
func FuzzCalendarText(f *testing.F) {
	for _, seed := range []string{"", "Harbour Clinic", "a\r\nMETHOD:CANCEL", `say "hello"`, "Zoë; Müller, \\ 💉", "a@b.example?subject=x&bcc=c", "\x00\x7f\u2028", strings.Repeat("ü", 80)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		if !utf8.ValidString(typed) {
			return
		}
		var b calendarText
		b.line("ORGANIZER"+calendarParam("CN", typed), calendarAddress(typed))
		b.line("SUMMARY", calendarEscape(typed))
		for line := range strings.SplitSeq(string(b), "\r\n") {
			if len(line) > 75 {
				t.Errorf("a line of %d octets: %q", len(line), line)
			}
			if strings.ContainsAny(line, "\r\n\x00\x7f") {
				t.Errorf("a control character in %q", line)
			}
		}
		lines := strings.Split(strings.ReplaceAll(string(b), "\r\n ", ""), "\r\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[0], "ORGANIZER") || !strings.HasPrefix(lines[1], "SUMMARY:") {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		if n := strings.Count(lines[0], `"`); n != 0 && n != 2 {
			t.Errorf("%d quotes in %q", n, lines[0])
		}
		if _, address, _ := strings.Cut(lines[0], ":mailto:"); strings.ContainsAny(address, "?&, ") && !strings.Contains(typed, ":mailto:") {
			t.Errorf("the address has parts of its own: %q", lines[0])
		}
	})
}
