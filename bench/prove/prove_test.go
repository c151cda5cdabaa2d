package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestProveNeedsRows: a misspelled name proves nothing, and prove reports an error.
func TestProveNeedsRows(t *testing.T) {
	table := []row{{name: "histories"}, {name: "an hour of faults", onlyLong: true}}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-rows", "histroies"}, `matches "histroies", and 0 of the long form do`},
		{[]string{"-rows", "hour"}, `matches "hour", and 1 of the long form do (LONG=1)`},
		{[]string{"-rows", "("}, "missing closing )"},
		{[]string{"-lang"}, "flag provided but not defined"},
	} {
		var out, problems strings.Builder
		if code := run(tt.args, table, &out, &problems); code != 2 || !strings.Contains(problems.String(), tt.want) {
			t.Errorf("%q: got %d and %q, want 2 and %q", tt.args, code, problems.String(), tt.want)
		}
	}
}

// TestPlantedBugIsFoundBySentence: a bug counts as found only if the failing test prints the bug's sentence.
func TestPlantedBugIsFoundBySentence(t *testing.T) {
	b := &bug{says: `(?s)got .*want`}
	for _, tt := range []struct {
		name, output string
		hasFailed    bool
		isSeen       bool
	}{
		{"its sentence", "--- FAIL: TestX\n got 3\nwant 2", true, true},
		{"another failure", "--- FAIL: TestX\n the database does not start", true, false},
		{"a panic", "panic: index out of range", true, false},
		{"nothing", "--- PASS: TestX", false, false},
		{"its sentence in the log of a test that passed", "got 3, want 2\n--- PASS: TestX", false, false},
	} {
		if err := b.isSeen(tt.output, tt.hasFailed); (err == nil) != tt.isSeen {
			t.Errorf("%s: got %v, want seen %v", tt.name, err, tt.isSeen)
		}
	}
}

// TestRowsNameExistingTests keeps the table correct while the code changes: it checks each test and fuzz target that
// the table names, and each line of its bugs.
func TestRowsNameExistingTests(t *testing.T) {
	for i := range rows {
		r := &rows[i]
		if r.bug != nil {
			if _, err := r.bug.applied("../.."); err != nil {
				t.Errorf("%s: %v", r.name, err)
			}
			regexp.MustCompile(r.bug.says)
		}
		if r.program != nil {
			continue
		}
		files, err := filepath.Glob(filepath.Join("../..", r.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var source strings.Builder
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(b)
		}
		for _, name := range regexp.MustCompile(`\b(Test|Fuzz)\w+`).FindAllString(r.run+" "+r.fuzz, -1) {
			if !strings.Contains(source.String(), "func "+name+"(") {
				t.Errorf("%s: %s has no %s", r.name, r.pkg, name)
			}
		}
	}
}

// TestRecordReplacesRow: if a row is run again, its new result replaces the old one, and the other rows and the other
// form do not change.
func TestRecordReplacesRow(t *testing.T) {
	page := filepath.Join(t.TempDir(), "proof.md")
	text := "# Proof\n<!-- make prove, short form -->\n\n" + tableHead +
		"\n| a | 1 |\n| a and b | 2 |\n\n<!-- until here -->\nmore\n<!-- make prove, long form -->\n\n" + tableHead +
		"\n\n<!-- until here -->\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ form, line string }{{"short", "| a | 3 |"}, {"short", "| c | 4 |"},
		{"long", "| a | 5 |"}} {
		if err := record(page, step.form, step.line); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Replace(text, "| a | 1 |\n| a and b | 2 |\n", "| a | 3 |\n| a and b | 2 |\n| c | 4 |\n", 1)
	want = strings.Replace(want, "long form -->\n\n"+tableHead, "long form -->\n\n"+tableHead+"\n| a | 5 |", 1)
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	if err := record(page, "middle", "| a | 6 |"); err == nil {
		t.Error("a form without a table was accepted")
	}
}

// TestLongRunResumes: a long run that ends early keeps its count, and the next run continues with the following seeds.
// A run of a different version starts from the beginning.
func TestLongRunResumes(t *testing.T) {
	var problems strings.Builder
	file := filepath.Join(t.TempDir(), "proof.json")
	r := &row{name: "histories", unit: "histories", asked: 100}
	open := func() *prover {
		done, err := openProgress(file)
		if err != nil {
			t.Fatal(err)
		}
		return &prover{done: done, problems: &problems}
	}
	p := open()
	p.keep(r, progress{Seen: "today a1", Runs: 2, Count: 20, Seconds: 10})
	if want := "histories: 20 of 100 histories, about 40s left\n"; problems.String() != want {
		t.Errorf("got %q, want %q", problems.String(), want)
	}
	if got := open().done.of(r, "today a1"); got.Runs != 2 || got.Count != 20 {
		t.Errorf("the next run: got %+v, want it to continue after 2 runs and 20 histories", got)
	}
	if got := open().done.of(r, "today b2"); got != (progress{Seen: "today b2"}) {
		t.Errorf("another version: got %+v, want a start from zero", got)
	}
	p = open()
	p.long = true
	p.keep(r, progress{Seen: "today a1", Runs: 5, Count: 100, Seconds: 50})
	if x := p.prove(r, "today a1"); x.count != 100 || x.bad != 0 || x.took != 50*time.Second {
		t.Errorf("a row that has its count: got %+v, want it unchanged, without another run", x)
	}
}
