package store

import (
	"testing"
	"time"
)

// TestDurationsCountByBound checks that a duration counts at the smallest bound that is not less than it, and at every
// larger bound.
func TestDurationsCountByBound(t *testing.T) {
	var d Durations
	for _, took := range []time.Duration{0, 500 * time.Microsecond, 501 * time.Microsecond, 10 * time.Second,
		time.Minute} {
		d.Observe(took)
	}
	c := d.Counts()
	if c.Count != 5 || c.Sum != 70*time.Second+1001*time.Microsecond {
		t.Errorf("got %d with a total of %v, want 5 with 1m10.001001s", c.Count, c.Sum)
	}
	for i, want := range []uint64{2, 3, 3} {
		if c.Within[i] != want {
			t.Errorf("at most %v: got %d, want %d", DurationBounds[i], c.Within[i], want)
		}
	}
	if last := c.Within[len(c.Within)-1]; last != 4 {
		t.Errorf("at most %v: got %d, want 4", DurationBounds[len(DurationBounds)-1], last)
	}
}
