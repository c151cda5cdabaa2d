package sheet

import (
	"strings"
	"testing"
)

func TestGuardMarksEveryFormula(t *testing.T) {
	for _, c := range []struct{ text, cell string }{
		{"", ""},
		{"Rosa Fischer", "Rosa Fischer"},
		{"9:00-9:30; see a=b", "9:00-9:30; see a=b"},
		{"=1+1", "'=1+1"},
		{"+49 30 77", "'+49 30 77"},
		{"-1", "'-1"},
		{"@SUM(A1)", "'@SUM(A1)"},
		{"＝1＋1", "'＝1＋1"},
		{"＋1", "'＋1"},
		{"－1", "'－1"},
		{"＠SUM(A1)", "'＠SUM(A1)"},
		{"Rosa;=1+1", "Rosa;'=1+1"},
		{"Rosa\t=1+1", "Rosa\t'=1+1"},
		{"Rosa\n=1+1", "Rosa\n'=1+1"},
		{"Rosa\r\n@A1", "Rosa\r\n'@A1"},
		{"Rosa;＠A1", "Rosa;'＠A1"},
		{"Rosa; =1+1", "Rosa; '=1+1"},
		{"Rosa;\"=1+1\"", "Rosa;\"'=1+1\""},
		{"=1;-1\n+1", "'=1;'-1\n'+1"},
		{"'=1", "''=1"},
		{"Rosa;'=1", "Rosa;''=1"},
		{"'Rosa'", "'Rosa'"},
	} {
		for _, separator := range ",;" {
			checkGuard(t, c.text, c.cell, separator)
		}
	}
	// a program that splits at commas, although semicolons separate the columns
	checkGuard(t, "Rosa, =1+1", "Rosa, '=1+1", ';')
	checkGuard(t, "Rosa,'=1", "Rosa,''=1", ';')
	checkGuard(t, "Rosa, =1+1", "Rosa, =1+1", ',')
	checkGuard(t, "Rosa,'=1", "Rosa,'=1", ',')
}

func checkGuard(t *testing.T, text, cell string, separator rune) {
	t.Helper()
	if got := Guarded(text, separator); got != cell {
		t.Errorf("the cell of %q is %q in a file with %q; want %q", text, got, separator, cell)
	}
	if got := plain(cell, separator); got != text {
		t.Errorf("the text of the cell %q is read as %q in a file with %q; want %q", cell, got, separator, text)
	}
}

// FuzzGuard checks that every text is read back unchanged, and looks for formulas with its own cell parser, which
// splits at each separator.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{"=1+1", "a;=1", "a\t=1", "a\r\n=1", "＝1", "a;＠1", "'=1", "a; \"=1\"", ";;\n=",
		"'';''-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.TrimSpace(text)
		for separator, starts := range map[rune]string{',': ";\t\r\n", ';': ",;\t\r\n"} {
			cell := Guarded(text, separator)
			if got := plain(cell, separator); got != text {
				t.Errorf("%q is read as %q from the cell %q", text, got, cell)
			}
			isStart := func(r rune) bool { return strings.ContainsRune(starts, r) }
			for _, part := range strings.FieldsFunc(cell, isStart) {
				part = strings.TrimLeft(part, " \"")
				if part != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(part)[0]) {
					t.Errorf("the cell %q of %q starts a formula at %q", cell, text, part)
				}
			}
		}
	})
}
