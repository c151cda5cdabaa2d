package node

import (
	"context"
	"sync"
	"time"

	"holdfast/holds"
)

const (
	sweepEvery = time.Second          // without any event, for what was never heard of
	sweepGap   = 2 * time.Millisecond // the least time between two sweeps

	// SweepMost is how many holds, selections or doubts one sweep takes; the server serves nobody else meanwhile.
	SweepMost = 256
	// DoubtLease is how long a node may take to ask whether a hold was booked, before another node does.
	DoubtLease = 5 * time.Second
)

// Sweeper has what lapses ended, whichever node it was made on: at each deadline that this node has heard of, and once a second
// besides. Of nodes that sweep at once the first finds what has lapsed, so each end is published once.
//
// A pinned hold that lapsed is a doubt: whether it was booked has to be asked. That may take long, so it is done apart.
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

// NewSweeper returns one that sweep and resolve do the work of. sweep ends what has lapsed and says how long the next is away,
// less than 0 if nobody knows; it takes as many doubts as it is told, at most. resolve asks about one and publishes the end.
func NewSweeper(sweep func(ctx context.Context, doubts int) (time.Duration, []string), resolve func(context.Context, string)) *Sweeper {
	return &Sweeper{sweep: sweep, resolve: resolve, signal: make(chan struct{}, 1), given: make(chan struct{}, 1)}
}

// NotLater sees that a sweep comes at t or before.
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

// Expect sees that a sweep comes when what an event tells of lapses. It reckons with durations, since the clocks of the server
// and of this node may differ.
func (s *Sweeper) Expect(e *holds.Event) {
	switch e.Kind {
	case holds.EventHold, holds.EventHeartbeat:
		s.NotLater(time.Now().Add(e.ExpiresAt.Sub(e.At)))
	case holds.EventSelect:
		s.NotLater(time.Now().Add(holds.SelectionTTL))
	}
}

// Sweep ends what lapses until ctx ends.
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
		// What is heard of from here on sets the wake-up itself; what was before is found by the sweep.
		s.set(time.Now().Add(sweepEvery))
		take := SweepMost
		if s.Asking() { // one whose answer takes long must be free for another node when its lease is over
			take = 0
		}
		next, taken := s.sweep(ctx, take)
		s.add(taken)
		if next >= 0 {
			s.NotLater(time.Now().Add(max(next, sweepGap)))
		}
		timer.Reset(s.left())
	}
}

// set begins a wait until t.
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

// Asking reports whether this node has doubts in hand. It takes no more until it has asked about all of them.
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

// Resolve asks about doubts until ctx ends.
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

// Verdict reads a doubt and says how it ended: booked answers for it, and nil means that nothing was booked.
func Verdict(doubt string, booked func(holds.Hold) bool) (holds.EventKind, holds.Reason) {
	h, err := readDoubt(doubt)
	if err == nil && booked != nil && booked(h) {
		return holds.EventConfirm, ""
	}
	return holds.EventRelease, holds.ReasonExpired
}
