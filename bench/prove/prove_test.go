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

// TestSeedsRunSideBySide: several runs of a row at the same time take consecutive seeds, and all of them count. A run
// after them takes the next seed. The output is that of the run that failed.
func TestSeedsRunSideBySide(t *testing.T) {
	script := filepath.Join(t.TempDir(), "tests")
	// The seed is the last argument. Each run waits until another one has started.
	if err := os.WriteFile(script, []byte(`#!/bin/sh
for seed; do :; done
touch "$(dirname "$0")/started-$seed"
turns=0
until [ "$(ls "$(dirname "$0")" | grep -c started)" -gt 1 ]; do
  turns=$((turns + 1))
  [ $turns -lt 5000 ] || exit 1
done
echo "$seed checks"
[ "$seed" != 4 ] || echo "--- FAIL: TestX"
`), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &row{name: "checks", asked: 100, counted: `(\d+) checks`, args: []string{"{seed}"}}
	p := &prover{options: options{long: true, jobs: 2, seed: 1}, built: map[string]string{"": script}}
	if x := p.prove(r, "today a1"); x.count != 1+2+3+4 || x.bad != 1 || !strings.Contains(x.output, "4 checks") {
		t.Errorf("got %+v, want four runs with the seeds 1 to 4, of which the last failed", x)
	}
}

// TestPassesRunSideBySide: a row without a seed runs several times at the same time too, but not more often than it has
// to.
func TestPassesRunSideBySide(t *testing.T) {
	script := filepath.Join(t.TempDir(), "tests")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho '--- PASS: TestX'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &prover{options: options{long: true, jobs: 4}, built: map[string]string{"": script}}
	if x := p.prove(&row{name: "passes", asked: 6}, "today a1"); x.count != 6 || x.bad != 0 {
		t.Errorf("got %+v, want 6 passes", x)
	}
}

// TestExcerptKeepsMessages: the message of a failed test is printed, although the test logged a lot after it.
func TestExcerptKeepsMessages(t *testing.T) {
	const said, end = "    x_test.go:7: a client was refused\n", "--- FAIL: TestX\n"
	got := excerpt("=== RUN TestX\n" + said + strings.Repeat("    level=INFO msg=moved\n", 1000) + end)
	if !strings.HasPrefix(got, said+"…\n") || !strings.HasSuffix(got, end) {
		t.Errorf("got %.100q … %q", got, got[max(0, len(got)-40):])
	}
	if short := excerpt(end); short != end {
		t.Errorf("a short output is printed as %q", short)
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
	if got := open().done.of(r, "tomorrow a1"); got.Seen != "tomorrow a1" || got.Count != 20 {
		t.Errorf("the next day: got %+v, want it to continue after 20 histories", got)
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
