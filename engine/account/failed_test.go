package account

import (
	"fmt"
	"testing"
	"time"
)

// TestFailedSignInsDoNotFillTheLog: an attacker on thousands of networks causes a bounded number of log lines per hour,
// and bounded memory use.
func TestFailedSignInsDoNotFillTheLog(t *testing.T) {
	var f failedSignIns
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	lines, more := 0, 0
	count := func(network string) (entry failedJSON) {
		entry, write := f.count("user:unknown", network, now)
		if write {
			lines++
		}
		if entry.More {
			more++
		}
		return entry
	}
	for range 999 {
		count("192.0.2.1")
	}
	if lines != 3 {
		t.Errorf("999 failures from one network have %d log lines, want 3: the first, the tenth and the hundredth", lines)
	}
	if got := count("192.0.2.1"); got.Failures != 1000 || got.Network != "192.0.2.1" {
		t.Errorf("the thousandth: got %+v", got)
	}
	for n := range 100_000 {
		count(fmt.Sprint("network ", n))
	}
	if lines != maxFailedEntries+1 || more != 1 || len(f.counts) > maxFailedEntries+1 {
		t.Errorf("got %d lines (%d mention that there are more) and %d counts, want %d, and the mention in the last one", lines,
			more, len(f.counts), maxFailedEntries+1)
	}
	now = now.Add(time.Hour)
	if got := count("192.0.2.1"); got.Failures != 1 {
		t.Errorf("in the next hour: got %+v, want a new count", got)
	}
}
