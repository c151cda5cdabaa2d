package bolt

import (
	"context"
	"time"

	"go.etcd.io/bbolt"
)

// Verify reads a closed file in this process; the tests trust it not to crash.
func Verify(path string) error {
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: time.Second, PreLoadFreelist: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return verify(db)
}

// WithoutSync spares a test the waiting for the disk, where the machine it imagines does not lose power.
func WithoutSync(q *Queue) *Queue {
	q.db.NoSync, q.db.NoGrowSync = true, true
	return q
}

// CheckWithin is Check with a bound of the test's choosing.
func CheckWithin(ctx context.Context, path string, bound time.Duration) error {
	return checkWithin(ctx, path, bound)
}
