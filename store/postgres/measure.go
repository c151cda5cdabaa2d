package postgres

import (
	"context"
	"sync"
	"time"

	"holdfast/store"
)

var _ store.Measured = (*Store)(nil)

// Measurements implements store.Measured. All databases of the server share one log, so LogBytes stays 0.
func (s *Store) Measurements() store.Measurements {
	return store.Measurements{Writes: s.writes.Counts(), Commits: s.writer.commits.Counts(), Bytes: s.size.last()}
}

// sizeInterval is how often the node reads the size of the database from the server.
const sizeInterval = time.Minute

// databaseSize stores the last size, so that Measurements does not wait for a server.
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

// refresh reads the size if sizeInterval has passed since the last attempt. If the read fails, it keeps the old size.
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
