package node_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

// sweeps is a server with a Sweeper in virtual time. It records when the Sweeper sweeps and how many in-doubt holds it
// takes.
type sweeps struct {
	*node.Sweeper
	start time.Time

	mu      sync.Mutex
	at      []time.Duration
	doubts  []int
	next    time.Duration // the result of a sweep
	give    []string      // the in-doubt holds of the next sweep
	resolve func(string)
}

func newSweeps(t *testing.T) *sweeps {
	s := &sweeps{start: time.Now(), next: node.Nothing}
	s.Sweeper = node.NewSweeper(func(_ context.Context, doubts int) (time.Duration, []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.at, s.doubts = append(s.at, time.Since(s.start)), append(s.doubts, doubts)
		give := s.give
		s.give = nil
		return s.next, give
	}, func(_ context.Context, doubt string) { s.resolve(doubt) })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Sweep(ctx) })
	running.Go(func() { s.Resolve(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	synctest.Wait()
	return s
}

// answer sets the result of later sweeps.
func (s *sweeps) answer(next time.Duration, doubts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.give = next, doubts
}

// until advances the clock to a time after the start, and returns the times of the sweeps since the last call.
func (s *sweeps) until(at time.Duration) []time.Duration {
	time.Sleep(at - time.Since(s.start))
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.at
	s.at = nil
	return list
}

// TestSweepRunsAtDeadline: a node sweeps when a hold or selection that it knows from an event expires, and otherwise at
// least every 5 seconds.
func TestSweepRunsAtDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSweeps(t)
		want := func(at time.Duration, want ...time.Duration) {
			t.Helper()
			if got := s.until(at); !slices.Equal(got, want) {
				t.Errorf("until %s: sweeps at %v, want %v", at, got, want)
			}
		}
		want(11*time.Second, 0, 5*time.Second, 10*time.Second)
		server := time.Now().Add(time.Hour) // its clock is ahead
		s.Expect(&holds.Event{Kind: holds.EventHold, At: server, ExpiresAt: server.Add(2 * time.Second)})
		// later than the next sweep
		s.Expect(&holds.Event{Kind: holds.EventHold, At: server, ExpiresAt: server.Add(time.Minute)})
		s.Expect(&holds.Event{Kind: holds.EventRelease, At: server, ExpiresAt: server}) // nothing expires
		want(17*time.Second, 13*time.Second)
		s.Expect(&holds.Event{Kind: holds.EventSelect, At: server}) // holds.SelectionTTL is 10 s
		want(22*time.Second, 18*time.Second)
		s.answer(300 * time.Millisecond) // the server has a hold that expires, and this node received no event about it
		want(23500*time.Millisecond, 23*time.Second, 23300*time.Millisecond)
		s.answer(time.Minute)
		want(26*time.Second, 23600*time.Millisecond, 24600*time.Millisecond, 25600*time.Millisecond)
		s.answer(-1) // the response was lost
		want(28*time.Second, 26600*time.Millisecond, 27600*time.Millisecond)
	})
}

// TestSweepTakesNoDoubtsWhileAsking: a node that is still asking about an in-doubt hold leaves the others to other
// nodes. When it has finished, it sweeps immediately, because there may be more.
func TestSweepTakesNoDoubtsWhileAsking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSweeps(t)
		var asked []string
		answers := make(chan struct{})
		s.resolve = func(doubt string) {
			asked = append(asked, doubt)
			<-answers
		}
		s.answer(time.Second, "one", "two")
		s.until(5 * time.Second)
		if !s.Asking() || !slices.Equal(asked, []string{"one"}) {
			t.Fatalf("the sweep with asking %t returned %v, want the first doubtful hold", s.Asking(), asked)
		}
		s.until(7 * time.Second)
		answers <- struct{}{}
		answers <- struct{}{}
		if got := s.until(7100 * time.Millisecond); !slices.Equal(got, []time.Duration{7 * time.Second}) {
			t.Errorf("after the last answer: sweeps at %v, want the next one at 7s", got)
		}
		if s.Asking() || !slices.Equal(asked, []string{"one", "two"}) {
			t.Errorf("asking is %t, asked about %v", s.Asking(), asked)
		}
		if want := []int{node.SweepMost, node.SweepMost, 0, 0, node.SweepMost}; !slices.Equal(s.doubts, want) {
			t.Errorf("the sweeps handled up to %v doubtful holds, want %v", s.doubts, want)
		}
	})
}

// TestVerdictAsksForBooking: a pinned hold that expired was booked or not. If an in-doubt hold cannot be read, or the
// node cannot ask about it, the hold ends as expired.
func TestVerdictAsksForBooking(t *testing.T) {
	t.Parallel()
	doubt := `{"id":"h","appointmentTypeId":"checkup","specialistId":"ada","owner":"` + owner.String() +
		`","slotStart":1795424400000,` +
		`"slotEnd":1795426200000,"busyStart":1795423800000,"busyEnd":1795427100000,"seat":2,"resources":"room-1","expiresAt":1795424460000}`
	want := holds.Hold{ID: "h", Span: slot, Resources: "room-1", Owner: owner, ExpiresAt: nine.Add(time.Minute),
		Pinned: true}
	booked := func(is bool) func(holds.Hold) bool {
		return func(h holds.Hold) bool {
			if h != want {
				t.Errorf("asked about %+v\nwant %+v", h, want)
			}
			return is
		}
	}
	for _, c := range []struct {
		name, doubt string
		booked      func(holds.Hold) bool
		kind        holds.EventKind
		reason      holds.Reason
	}{
		{"booked", doubt, booked(true), holds.EventConfirm, ""},
		{"not booked", doubt, booked(false), holds.EventRelease, holds.ReasonExpired},
		{"without a database", doubt, nil, holds.EventRelease, holds.ReasonExpired},
		{"not readable", "{", booked(true), holds.EventRelease, holds.ReasonExpired},
	} {
		if kind, reason := node.Verdict(c.doubt, c.booked); kind != c.kind || reason != c.reason {
			t.Errorf("%s: got %s %q, want %s %q", c.name, kind, reason, c.kind, c.reason)
		}
	}
}
