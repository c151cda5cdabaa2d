package outbound

import (
	"sync"
	"time"

	"holdfast/store"
)

// Rest is the back-off for calls to a server that is unreachable. It grows with each failure. The zero value is ready
// for use. It is safe for concurrent use.
type Rest struct {
	mu       sync.Mutex
	until    time.Time
	failures int
}

// Until returns the instant of the next attempt. It is in the past if the server works.
func (r *Rest) Until() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until
}

// Begin starts a rest, longer each time until End, and reports whether the server worked until now. Several calls
// that fail during one rest count once. base is that of store.Backoff.
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

// End allows the next attempt immediately, and reports whether there was a rest.
func (r *Rest) End() (rested bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rested = r.failures > 0
	r.failures, r.until = 0, time.Time{}
	return rested
}
