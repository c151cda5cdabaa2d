package simulation

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"holdfast/store"
)

var errPower = errors.New("the power was cut")

// faults injects failures into durable storage and outbound calls. Each commit and each change to the queue is a step.
// The power can be cut before or after any step; later steps then have no effect. The disk can be full, and external
// systems can be unreachable.
type faults struct {
	mu      sync.Mutex
	armed   bool
	after   bool // the step still takes effect, but its caller gets no response
	left    int  // remaining steps until the cut
	off     bool
	offAt   time.Time
	full    int // how many of the next writes fail because the disk is full
	unsaved int // how many of the next outcomes the queue cannot store because the disk is full
	failed  int // number of failed writes
	cut     time.Time
	dead    time.Time // until then, external systems accept calls and respond to none
}

// arm cuts the power at the n-th step from now, counted from 1.
func (f *faults) arm(n int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.left, f.after = true, n, after
}

func (f *faults) isOff() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.off
}

// isArmed reports whether a power cut is planned and has not happened yet.
func (f *faults) isArmed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.armed && !f.off
}

// turnOff cuts the power now.
func (f *faults) turnOff() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.off {
		f.off, f.offAt = true, time.Now()
	}
}

func (f *faults) setFull(writes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full, f.unsaved = writes, writes
}

// isFull reports whether the current write fails because the disk is full. It counts the write.
func (f *faults) isFull() bool { return f.uses(&f.full) }

// isQueueFull does the same for the outcomes that the queue stores.
func (f *faults) isQueueFull() bool { return f.uses(&f.unsaved) }

func (f *faults) uses(left *int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	*left--
	return *left >= 0
}

// failedWrites returns the number of writes that have failed.
func (f *faults) failedWrites() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *faults) step(effect func() error) error {
	f.mu.Lock()
	if f.off {
		f.mu.Unlock()
		return errPower
	}
	last := false
	if f.armed {
		f.left--
		last = f.left == 0
	}
	if last && !f.after {
		f.off, f.offAt = true, time.Now()
		f.mu.Unlock()
		return errPower
	}
	f.mu.Unlock()
	err := effect()
	if last {
		f.turnOff()
		return errPower
	}
	return err
}

// faultyStore is the real store on a disk that can be full, in a machine whose power can be cut.
type faultyStore struct {
	store.Store
	*faults
}

func (s faultyStore) Write(ctx context.Context, fn func(store.Tx) error) error {
	err := s.step(func() error {
		full := s.isFull()
		return s.Store.Write(ctx, func(tx store.Tx) error {
			err := fn(tx)
			if err == nil && full {
				return store.ErrFull // at the end of the transaction, which is rolled back
			}
			return err
		})
	})
	if err != nil {
		s.mu.Lock()
		s.failed++
		s.mu.Unlock()
	}
	return err
}

type faultyQueue struct {
	store.Queue
	*faults
}

func (q faultyQueue) Add(ctx context.Context, ops ...store.Operation) error {
	return q.step(func() error { return q.Queue.Add(ctx, ops...) })
}

func (q faultyQueue) Take(ctx context.Context, now time.Time,
	kinds ...store.OperationKind) (op store.Operation, err error) {
	err = q.step(func() error {
		op, err = q.Queue.Take(ctx, now, kinds...)
		return err
	})
	return op, err
}

func (q faultyQueue) Change(ctx context.Context, op store.Operation, event, detail string) error {
	return q.step(func() error {
		if q.isQueueFull() {
			return store.ErrFull
		}
		return q.Queue.Change(ctx, op, event, detail)
	})
}

// line is the connection to the practice-management system. If it is cut, nothing is sent. If it is dead, no response
// comes back. A call that was sent before a power cut still arrives.
type line struct {
	to http.RoundTripper
	*faults
}

func (l line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	off, cut, dead := l.off, time.Now().Before(l.cut), time.Now().Before(l.dead)
	l.mu.Unlock()
	switch {
	case off, cut:
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	case dead:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return l.to.RoundTrip(r)
}
