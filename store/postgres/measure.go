package postgres

import (
	"context"
	"sync"
	"time"

	"holdfast/store"
)

var _ store.Measured = (*Store)(nil)

// Measurements implements store.Measured. The log is the server's, for all of its databases, and is not known here.
func (s *Store) Measurements() store.Measurements {
	return store.Measurements{Writes: s.writes.Counts(), Commits: s.writer.commits.Counts(), Bytes: s.size.last()}
}

// sizeInterval is how often the server is asked how large the database is.
const sizeInterval = time.Minute

// databaseSize is the last answer, so that a caller of Measurements does not wait for a server.
type databaseSize struct {
	mu    sync.Mutex
	bytes int64
	asked time.Time
}

func (d *databaseSize) last() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bytes
}

// refresh asks again if the answer is old. Where it fails the old one stays.
func (d *databaseSize) refresh(ctx context.Context, r reads) {
	d.mu.Lock()
	due := time.Since(d.asked) >= sizeInterval
	if due {
		d.asked = time.Now()
	}
	d.mu.Unlock()
	if !due {
		return
	}
	bytes, err := one(ctx, r, (*row).Int64, `SELECT pg_database_size(current_database())`)
	if err == nil {
		d.mu.Lock()
		d.bytes = bytes
		d.mu.Unlock()
	}
}
