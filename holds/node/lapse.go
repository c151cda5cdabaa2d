package node

import (
	"context"
	"sync"
	"time"

	"holdfast/holds"
)

const (
	sweepEvery = time.Second // without any event, for holds whose events this node did not receive
	// the same while nothing on the server can expire, so that an idle node stays idle
	sweepRest = 5 * time.Second
	sweepGap  = 2 * time.Millisecond // the minimum time between two sweeps

	// SweepMost is the maximum number of holds, selections or in-doubt holds in one sweep. The server serves no other
	// call during a sweep.
	SweepMost = 256
	// Nothing is the result of a sweep if nothing on the server can expire. It is longer than any deadline.
	Nothing = time.Duration(1<<63 - 1)
	// DoubtLease is the time that a node has to find out whether an in-doubt hold was booked, before another node asks.
	DoubtLease = 5 * time.Second
)

// Sweeper ends holds and selections that expire, whichever node created them. It sweeps at each deadline that this node
// has received in an event, and also once a second, or every five seconds while nothing on the server can expire. If
// several nodes sweep at the same time, only the first finds the expired holds, so each end is published once.
//
// A pinned hold that has expired is in doubt: a node has to ask whether it was booked. That can take a long time, so
// the node asks in a separate goroutine.
type Sweeper struct {
	sweep   func(ctx context.Context, doubts int) (next time.Duration, taken []string)
	resolve func(ctx context.Context, doubt string)

	mu     sync.Mutex
	at     time.Time // of the next sweep
	signal chan struct{}

	doubts []string
	asking bool
	given  chan struct{}
}

// NewSweeper returns a Sweeper that calls sweep and resolve. sweep ends expired holds and selections and returns the
// time until the next expiry: less than 0 if it is unknown, Nothing if nothing can expire. It takes at most the given
// number of in-doubt holds. resolve asks about one of them and publishes how the hold ended.
func NewSweeper(sweep func(ctx context.Context, doubts int) (time.Duration, []string),
	resolve func(context.Context, string)) *Sweeper {
	return &Sweeper{sweep: sweep, resolve: resolve, signal: make(chan struct{}, 1), given: make(chan struct{}, 1)}
}

// NotLater schedules a sweep at t or earlier.
func (s *Sweeper) NotLater(t time.Time) {
	s.mu.Lock()
	earlier := t.Before(s.at)
	if earlier {
		s.at = t
	}
	s.mu.Unlock()
	if earlier {
		tell(s.signal)
	}
}

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Expect schedules a sweep for the time at which the hold or selection in an event expires. It uses durations, because
// the server's clock and this node's clock may differ.
func (s *Sweeper) Expect(e *holds.Event) {
	switch e.Kind {
	case holds.EventHold, holds.EventHeartbeat:
		s.NotLater(time.Now().Add(e.ExpiresAt.Sub(e.At)))
	case holds.EventSelect:
		s.NotLater(time.Now().Add(holds.SelectionTTL))
	}
}

// Sweep ends expired holds and selections until ctx is done.
func (s *Sweeper) Sweep(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.signal:
		case <-timer.C:
		}
		if left := s.left(); left > 0 {
			timer.Reset(left)
			continue
		}
		// Events received from here on schedule their own sweep; this sweep covers everything before that.
		s.set(time.Now().Add(sweepRest))
		take := SweepMost
		// An in-doubt hold that is slow to resolve must be available to another node after its lease has expired.
		if s.Asking() {
			take = 0
		}
		next, taken := s.sweep(ctx, take)
		s.add(taken)
		switch {
		case next < 0:
			s.NotLater(time.Now().Add(sweepEvery))
		case next != Nothing:
			s.NotLater(time.Now().Add(min(max(next, sweepGap), sweepEvery)))
		}
		timer.Reset(s.left())
	}
}

// set schedules the next sweep at t.
func (s *Sweeper) set(t time.Time) {
	s.mu.Lock()
	s.at = t
	s.mu.Unlock()
}

func (s *Sweeper) left() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.at)
}

// Asking reports whether this node is still asking about in-doubt holds. While it is, it takes no more of them.
func (s *Sweeper) Asking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking
}

func (s *Sweeper) add(doubts []string) {
	if len(doubts) == 0 {
		return
	}
	s.mu.Lock()
	s.asking = true
	s.doubts = append(s.doubts, doubts...)
	s.mu.Unlock()
	tell(s.given)
}

func (s *Sweeper) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.doubts
	s.doubts = nil
	return list
}

func (s *Sweeper) asked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = len(s.doubts) > 0
}

// Resolve asks about in-doubt holds until ctx is done.
func (s *Sweeper) Resolve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.given:
		}
		for _, doubt := range s.take() {
			if ctx.Err() != nil {
				return
			}
			s.resolve(ctx, doubt)
		}
		s.asked()
		s.NotLater(time.Now()) // there may be more
	}
}

// Verdict reads an in-doubt hold and returns how the hold ended. booked reports whether the hold was booked; nil means
// that it was not.
func Verdict(doubt string, booked func(holds.Hold) bool) (holds.EventKind, holds.Reason) {
	h, err := readDoubt(doubt)
	if err == nil && booked != nil && booked(h) {
		return holds.EventConfirm, ""
	}
	return holds.EventRelease, holds.ReasonExpired
}
