package postgres

import (
	"testing"
	"time"

	"holdfast/holds/node"
)

// TestSweepOfNothingHasNoDeadline: a sweep that finds no hold reports no deadline. If it reported 0, an idle node would
// sweep without a pause.
func TestSweepOfNothingHasNoDeadline(t *testing.T) {
	t.Parallel()
	b := open(t, migrated(t), Options{})
	if next := sweepAlone(t, b); next != node.Nothing {
		t.Errorf("without a hold, the next sweep is due in %s, want no deadline", next)
	}
	claim := wish("ada", amal)
	claim.TTL, claim.MaxLife = time.Hour, time.Hour
	if _, err := b.Claim(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if next := sweepAlone(t, b); next <= time.Minute || next > time.Hour {
		t.Errorf("with a hold of one hour, the next sweep is due in %s", next)
	}
}

// sweepAlone repeats the sweep until it runs alone. If another sweep is running, a sweep only reports when to try
// again.
func sweepAlone(t *testing.T, b *Backend) time.Duration {
	t.Helper()
	for {
		next, _ := b.sweep(t.Context(), 1)
		if next != 5*time.Millisecond {
			return next
		}
	}
}
