package outbound

import (
	"sync"
	"time"

	"holdfast/store"
)

// Rest is the back-off for calls to an unreachable server. It grows with each failure. The zero value is ready for use.
// It is safe for concurrent use.
type Rest struct {
	mu       sync.Mutex
	until    time.Time
	failures int
}

// Until returns the earliest instant of the next attempt. It is in the past if the server is working.
func (r *Rest) Until() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until
}

// Begin starts a rest and reports whether the server was working until now. Each rest is longer than the one before,
// until End is called. Several calls that fail during one rest count once. base is the same as in store.Backoff.
func (r *Rest) Begin(now time.Time, base time.Duration) (worked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until.After(now) {
		return false
	}
	r.failures++
	r.until = now.Add(store.Backoff(base, r.failures))
	return r.failures == 1
}

// End allows the next attempt immediately and reports whether a rest was in progress.
func (r *Rest) End() (rested bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rested = r.failures > 0
	r.failures, r.until = 0, time.Time{}
	return rested
}
