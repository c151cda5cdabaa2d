// Prove runs the tests that prove the guarantees of docs/proof.md and prints one table: name, count, requested count,
// failures, whether the row finds its bug, and duration. To check whether a row finds its bug, prove runs it again with
// the bug built in; the row must fail with the expected sentence. prove exits with 1 if any row failed, and with 2 if
// no row matches.
//
//	make prove                 a few minutes
//	make prove LONG=1          hours: every row until it has the requested count
//	make prove LONG=1 MOST=5m  the same, but no row starts another run after five minutes
//	make prove ROWS='stream'   the rows whose name matches
//	make prove LONG=1 RESUME=proof.json  hours in parts: the next run continues where this one ended, even after Ctrl-C
//	make prove LONG=1 JOBS=4   the same, with four runs of a row with a seed at the same time
//	make prove RECORD=1        writes the results into docs/proof.md
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// options holds the values of the flags.
type options struct {
	long   bool
	rows   string
	seed   uint64
	most   time.Duration // no row starts another run after this time; 0 means no limit
	fuzz   time.Duration // how long each fuzz target runs; 0 means only the known inputs, and 10 min in the long form
	record string        // the page that receives the results; empty means none
	jobs   int           // how many runs of a row take place at the same time in the long form
	resume string        // the file that stores the progress of the long form; empty means none
}

func main() { os.Exit(run(os.Args[1:], rows, os.Stdout, os.Stderr)) }

// run runs the program with these arguments and returns its exit code.
func run(args []string, table []row, out, problems io.Writer) int {
	var o options
	flags := flag.NewFlagSet("prove", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.BoolVar(&o.long, "long", false, "the long form")
	flags.StringVar(&o.rows, "rows", ".", "the rows whose name matches")
	flags.Uint64Var(&o.seed, "seed", 1, "the first seed of the rows that have one; each further run takes the next")
	flags.DurationVar(&o.most, "most", 0,
		"in the long form no row begins another run after this time; 0: until it has its count")
	flags.DurationVar(&o.fuzz, "fuzz", 0,
		"how long each fuzz target runs; 0: only the known inputs, and 10 min in the long form")
	flags.IntVar(&o.jobs, "jobs", 1, "in the long form, how many runs of a row of tests take place at the same time")
	flags.StringVar(&o.record, "record", "", "the page whose table is told what was seen")
	flags.StringVar(&o.resume, "resume", "", "in the long form, the file that keeps the progress for the next run")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if !o.long {
		o.resume = ""
	}
	done, err := openProgress(o.resume)
	if err != nil {
		fmt.Fprintln(problems, err)
		return 2
	}
	wanted, err := regexp.Compile(o.rows)
	if err != nil {
		fmt.Fprintln(problems, err)
		return 2
	}
	var chosen []row
	left := 0
	for _, r := range table {
		switch {
		case !wanted.MatchString(r.name):
		case r.onlyLong && !o.long:
			left++
		default:
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		fmt.Fprintf(problems, "no row to run: of %d rows none of this form has a name that matches %q, and %d of the "+
			"long form do (LONG=1)\n", len(table), o.rows, left)
		return 2
	}
	dir, err := os.MkdirTemp("", "holdfast-prove-*")
	if err != nil {
		fmt.Fprintln(problems, err)
		return 2
	}
	defer os.RemoveAll(dir)
	return proveAll(&prover{options: o, dir: dir, built: map[string]string{}, done: done, problems: problems}, chosen,
		out, problems)
}

// proveAll runs the rows, and prints and records each one when it has finished.
func proveAll(p *prover, chosen []row, out, problems io.Writer) (code int) {
	form, seen := "short", commit()
	if p.long {
		form = "long"
	}
	fmt.Fprintf(out, "%s form, seed %d, %s\n\n%s\n", form, p.seed, seen, tableHead)
	bad, began := 0, time.Now()
	for i := range chosen {
		x := p.prove(&chosen[i], seen)
		line := chosen[i].line(&x, p.seed, seen)
		fmt.Fprintln(out, line)
		if bad += x.bad; x.bad > 0 {
			fmt.Fprintln(problems, excerpt(x.output))
		}
		if p.record == "" {
			continue
		}
		if err := record(p.record, form, line); err != nil {
			fmt.Fprintln(problems, err)
			return 1
		}
	}
	fmt.Fprintf(out, "\n%d rows, %d bad, %s\n", len(chosen), bad, time.Since(began).Round(time.Second))
	if bad > 0 {
		return 1
	}
	return 0
}

// commit returns today's date, and the hash of the last commit that changed the program itself, not only tests or this
// table.
func commit() string {
	program := []string{"--", "*.go", "go.mod", ":!*_test.go", ":!bench", ":!*test/*"}
	day := time.Now().Format(time.DateOnly)
	last, err := exec.Command("git", append([]string{"log", "-1", "--format=%h"}, program...)...).Output()
	if err != nil || len(last) == 0 {
		return day + " unknown"
	}
	changed, err := exec.Command("git", append([]string{"status", "--porcelain"}, program...)...).Output()
	if err != nil || len(changed) > 0 {
		return day + " " + strings.TrimSpace(string(last)) + "-dirty"
	}
	return day + " " + strings.TrimSpace(string(last))
}
