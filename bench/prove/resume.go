package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// progress holds the accumulated results of a row, from all runs of prove that share a file.
type progress struct {
	Seen    string  // the day of the last run and the tested version; results of other versions do not count
	Runs    uint64  // the number of runs; the next run takes the next seed
	Count   int     // the sum of their counts
	Seconds float64 // their total duration
	Sees    string  // yes once the row has found its bug
}

// progresses holds the progress of all rows, by name, and the file that stores it. Without a file, the progress is lost
// when prove ends.
type progresses struct {
	file string
	rows map[string]progress
}

// openProgress reads the file with the progress. A missing file means that there is no progress yet.
func openProgress(file string) (progresses, error) {
	d := progresses{file: file, rows: map[string]progress{}}
	if file == "" {
		return d, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &d.rows)
	}
	if err != nil {
		return d, fmt.Errorf("the progress in %s: %w", file, err)
	}
	return d, nil
}

// of returns the progress of a row with this version of the program.
func (d progresses) of(r *row, seen string) progress {
	at := d.rows[r.name]
	_, before, _ := strings.Cut(at.Seen, " ") // without the day
	if _, now, _ := strings.Cut(seen, " "); before == now && d.file != "" {
		at.Seen = seen
		return at
	}
	return progress{Seen: seen}
}

// keep stores the progress of a row, and prints it with an estimate of the remaining time.
func (p *prover) keep(r *row, at progress) {
	if p.done.file == "" {
		return
	}
	p.done.rows[r.name] = at
	text, err := json.MarshalIndent(p.done.rows, "", "\t")
	if err == nil {
		err = os.WriteFile(p.done.file, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(p.problems, err)
	}
	if at.Count < r.asked {
		rest := at.Seconds / float64(max(at.Count, 1)) * float64(r.asked-at.Count)
		fmt.Fprintf(p.problems, "%s: %d of %d %s, about %v left\n", r.name, at.Count, r.asked, r.unit,
			time.Duration(rest*float64(time.Second)).Round(time.Second))
	}
}
