package outbound

import (
	"sync"
	"time"

	"holdfast/store"
)

// Rest is how long something that is not there is left alone: longer each time it was not reached. The zero value works. It is
// safe for concurrent use.
type Rest struct {
	mu       sync.Mutex
	until    time.Time
	failures int
}

// Until is the instant at which it may be tried again; a past one if it works.
func (r *Rest) Until() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until
}

// Begin leaves it alone from now on, longer each time until End, and reports whether it worked until now. Several who find
// nobody at once count once. base is that of store.Backoff.
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

// End has it tried again at once, and reports whether it rested.
func (r *Rest) End() (rested bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rested = r.failures > 0
	r.failures, r.until = 0, time.Time{}
	return rested
}
