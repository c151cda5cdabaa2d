package postgres

import (
	"testing"
	"time"
)

// TestStoreReportsMeasurements checks that every write and commit is counted, and that Measurements returns the size of
// the database without a query.
func TestStoreReportsMeasurements(t *testing.T) {
	t.Parallel()
	s := nodes(t, 1, Options{})[0]
	before := s.Measurements()
	if err := insert(s, booking("s0", 0, 30)); err != nil {
		t.Fatal(err)
	}
	after := s.Measurements()
	if after.Writes.Count != before.Writes.Count+1 || after.Commits.Count != before.Commits.Count+1 || after.Writes.Sum < after.Commits.Sum {
		t.Errorf("before the booking %+v, after it %+v", before, after)
	}
	for began := time.Now(); s.Measurements().Bytes == 0; {
		if time.Since(began) > 10*time.Minute {
			t.Fatal("the size of the database is unknown")
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
