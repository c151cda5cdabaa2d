package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurnsAreSpacedAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(0)
		if p.Spacing() != 10*time.Second {
			t.Fatalf("got a spacing of %v, want 10s", p.Spacing())
		}
		start := time.Now()
		var mu sync.Mutex
		var order []int
		var at []time.Duration
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if err := p.Wait(t.Context(), NoBound); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order, at = append(order, i), append(at, time.Since(start))
			})
			synctest.Wait()
		}
		wg.Wait()
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("got order %v, want %v", order, want)
		}
		if want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second,
			40 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("got turns at %v, want %v", at, want)
		}
		time.Sleep(time.Hour)
		before := time.Now()
		if err := p.Wait(t.Context(), 0); err != nil || !time.Now().Equal(before) {
			t.Errorf("after an hour without a write: got %v after %v, want an immediate turn", err, time.Since(before))
		}
	})
}

// TestLongLineIsReportedAtOnce: a caller with ten seconds left gets the error immediately if the line is longer.
func TestLongLineIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(10 * time.Second)
		if got := p.Line(); got != 0 {
			t.Errorf("without waiting callers: got a queue of %v, want 0", got)
		}
		_ = p.Wait(t.Context(), NoBound)
		time.Sleep(3 * time.Second)
		if got := p.Line(); got != 7*time.Second {
			t.Errorf("3 s after a turn: got a queue of %v, want 7s", got)
		}
		go func() { _ = p.Wait(t.Context(), NoBound) }()
		synctest.Wait()
		if got, n := p.Line(), p.Waiting(); got != 17*time.Second || n != 1 {
			t.Errorf("with one waiting: got a queue of %v and %d, want 17s and 1", got, n)
		}
		before := time.Now()
		var line *LineError
		if err := p.Wait(t.Context(), 10*time.Second); !errors.As(err, &line) || line.Wait != 17*time.Second ||
			!time.Now().Equal(before) {
			t.Errorf("got %v after %v, want a queue of 17s reported immediately", err, time.Since(before))
		}
		if line.Error() != "the wait for the upstream would be 17s" {
			t.Errorf("got %q", line)
		}
		if err := p.Wait(t.Context(), 17*time.Second); err != nil || time.Since(before) != 17*time.Second {
			t.Errorf("with just enough time: got %v after %v, want a turn after 17s", err, time.Since(before))
		}
	})
}

// TestRestart: the quick retry and the note are sent without a turn. A retry restarts the clock for all callers behind
// it, and callers that cannot wait that long get an error immediately.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := NewPacer(10*time.Second), time.Now()
		type end struct {
			name string
			at   time.Duration
			err  error
		}
		var mu sync.Mutex
		ends := map[string]end{}
		wait := func(name string, bound time.Duration) {
			go func() {
				err := p.Wait(t.Context(), bound)
				mu.Lock()
				defer mu.Unlock()
				ends[name] = end{name, time.Since(start), err}
			}()
			synctest.Wait()
		}
		wait("first", NoBound)
		wait("head, in a hurry", 12*time.Second)
		wait("second, patient", NoBound)
		wait("third, in a hurry", 33*time.Second)
		time.Sleep(5 * time.Second)
		p.Restart(time.Now()) // the first caller's retry, at 5 s: next turn at 15 s
		p.Restart(time.Now()) // one more call does no harm
		synctest.Wait()
		p.Restart(time.Now().Add(365 * 24 * time.Hour)) // a wrong clock counts as now
		p.Restart(start)                                // never brings the turn forward
		if got := p.Line(); got != 30*time.Second {
			t.Errorf("10 s before a turn and with two waiting: got a queue of %v, want 30s", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		want := map[string]time.Duration{
			"first": 0, "head, in a hurry": 5 * time.Second, // an error as soon as its turn is too late
			"second, patient": 15 * time.Second, "third, in a hurry": 25 * time.Second, // moved up
		}
		for name, at := range want {
			got, ok := ends[name]
			var line *LineError
			late := errors.As(got.err, &line)
			if !ok || got.at != at || late != (name == "head, in a hurry") {
				t.Errorf("%s: got %v, %v; want it to end at %v", name, got.at, got.err, at)
			}
		}
	})
}

// TestRestartFromTheLastRecordedAttempt: after a restart, the clock continues from the last recorded attempt.
func TestRestartFromTheLastRecordedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(10 * time.Second)
		p.Restart(time.UnixMilli(time.Now().Add(-4 * time.Second).UnixMilli()))
		before := time.Now()
		if err := p.Wait(t.Context(), NoBound); err != nil || time.Since(before) != 6*time.Second {
			t.Errorf("got %v after %v, want a turn after 6s", err, time.Since(before))
		}
	})
}

func TestLeaveQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := NewPacer(10*time.Second), time.Now()
		_ = p.Wait(t.Context(), NoBound)
		head, leaveHead := context.WithCancel(t.Context())
		middle, leaveMiddle := context.WithTimeout(t.Context(), 2*time.Second)
		defer leaveMiddle()
		errs := make(chan error, 2)
		go func() { errs <- p.Wait(head, NoBound) }()
		synctest.Wait()
		go func() { errs <- p.Wait(middle, NoBound) }()
		synctest.Wait()
		last := make(chan time.Duration, 1)
		go func() { _ = p.Wait(t.Context(), NoBound); last <- time.Since(start) }()
		time.Sleep(3 * time.Second)
		if err := <-errs; err != context.DeadlineExceeded {
			t.Errorf("the second caller's time limit ends: got %v, want %v", err, context.DeadlineExceeded)
		}
		leaveHead()
		if err := <-errs; err != context.Canceled {
			t.Errorf("the first caller is cancelled: got %v, want %v", err, context.Canceled)
		}
		if at := <-last; at != 10*time.Second {
			t.Errorf("the third caller: got its turn at %v, want 10s", at)
		}
		if err := p.Wait(head, NoBound); err != context.Canceled || p.Waiting() != 0 {
			t.Errorf("cancelled before the call: got %v and %d waiting, want %v and none", err, p.Waiting(), context.Canceled)
		}
	})
}

// TestPacerUnderLoad runs hundreds of callers, with and without a time limit. Some of them leave, and there are retries
// in between. No two turns are closer than the spacing, no caller overtakes another, every caller gets an outcome, and
// no caller with a limit waits longer than its limit.
func TestPacerUnderLoad(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			p := NewPacer(10 * time.Second)
			type turn struct {
				caller int
				at     time.Time
			}
			var mu sync.Mutex
			var turns []turn
			var restarted []time.Time
			var wg sync.WaitGroup
			ended := 0
			const callers = 200
			for i := range callers {
				time.Sleep(time.Duration(rng.IntN(15)) * time.Second)
				bound, life := NoBound, time.Hour
				switch rng.IntN(4) {
				case 0:
					bound = time.Duration(rng.IntN(40)) * time.Second
				case 1:
					life = time.Duration(1+rng.IntN(60)) * time.Second
				case 2:
					if rng.IntN(4) == 0 {
						restarted = append(restarted, time.Now())
						p.Restart(time.Now())
					}
				}
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), life)
					defer cancel()
					came := time.Now()
					err := p.Wait(ctx, bound)
					mu.Lock()
					defer mu.Unlock()
					ended++
					if waited := time.Since(came); waited > bound {
						t.Errorf("seed %d: waited %v with a time limit of %v", seed, waited, bound)
					}
					if err == nil {
						turns = append(turns, turn{i, time.Now()})
					}
				})
				synctest.Wait()
			}
			wg.Wait()
			if ended != callers || p.Waiting() != 0 || len(turns) < callers/4 {
				t.Fatalf("seed %d: %d of %d ended, %d waiting, %d turns", seed, ended, callers, p.Waiting(), len(turns))
			}
			for n := 1; n < len(turns); n++ {
				if gap := turns[n].at.Sub(turns[n-1].at); gap < 10*time.Second {
					t.Errorf("seed %d: turns are %v apart, want at least 10s", seed, gap)
				}
				if turns[n].caller < turns[n-1].caller {
					t.Errorf("seed %d: caller %d got its turn before %d", seed, turns[n-1].caller, turns[n].caller)
				}
			}
			for _, r := range restarted {
				for _, turn := range turns {
					if turn.at.After(r) && turn.at.Sub(r) < 10*time.Second {
						t.Errorf("seed %d: a turn %v after a restart, want at least 10s", seed, turn.at.Sub(r))
					}
				}
			}
		})
	}
}

// TestRepeatAfterOwnTurnIsCounted: the caller that had the last turn can write again immediately, and the next turn is
// counted from that write, unless another caller had a turn in between.
func TestRepeatAfterOwnTurnIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(10 * time.Second)
		wait := func() {
			t.Helper()
			if err := p.Wait(t.Context(), NoBound); err != nil {
				t.Fatal(err)
			}
		}
		wait()
		turn := p.Turn()
		time.Sleep(5 * time.Second)
		if !p.Again(t.Context(), turn) {
			t.Error("the last writer cannot write again")
		}
		if line := p.Line(); line != 10*time.Second {
			t.Errorf("after the second write, the queue is %s long, want 10s", line)
		}
		if p.Again(t.Context(), turn) {
			t.Error("one turn allows three writes")
		}
		turn = p.Turn()
		wait()
		if p.Again(t.Context(), turn) {
			t.Error("a second write follows immediately after another caller's turn")
		}
	})
}

// sharedLine is an in-memory line shared by several nodes.
type sharedLine struct {
	mu   sync.Mutex
	next time.Time
}

func (l *sharedLine) line() Line {
	return Line{
		Reserve: func(_ context.Context, spacing, most time.Duration) (time.Duration, int64, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			wait := max(0, time.Until(l.next))
			if wait > most {
				return wait, 0, &LineError{Wait: wait}
			}
			l.next = time.Now().Add(wait + spacing)
			return wait, l.next.UnixMilli(), nil
		},
		Return: func(_ context.Context, spacing time.Duration, turn int64) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.next.UnixMilli() == turn {
				l.next = l.next.Add(-spacing)
			}
		},
	}
}

// TestSharedLineRefusesAtOnce: a caller that cannot get a turn in time gets the error immediately, whichever nodes have
// the turns ahead of it. If a caller leaves, its turn passes to the next caller.
func TestSharedLineRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared sharedLine
		nodes := []*Pacer{NewPacer(10 * time.Second), NewPacer(10 * time.Second)}
		for _, p := range nodes {
			p.Share(shared.line())
		}
		began := time.Now()
		type end struct {
			after time.Duration
			err   error
		}
		ends := make([]chan end, 6)
		wait := func(caller, node int, ctx context.Context) {
			ends[caller] = make(chan end, 1)
			go func() {
				err := nodes[node].Wait(ctx, 11*time.Second)
				ends[caller] <- end{time.Since(began), err}
			}()
			synctest.Wait()
		}
		left, leave := context.WithCancel(t.Context())
		wait(0, 0, t.Context())
		wait(1, 1, left) // has the second turn, at 10 s
		wait(2, 0, t.Context())
		wait(3, 1, t.Context())
		for _, caller := range []int{0, 2, 3} {
			got := <-ends[caller]
			var line *LineError
			if refused := errors.As(got.err, &line); refused != (caller > 0) || got.after != 0 {
				t.Errorf("caller %d: got %v after %v; want the first turn, and the others refused immediately", caller,
					got.err, got.after)
			}
		}
		if n := nodes[1].Waiting(); n != 1 {
			t.Errorf("%d wait at the second node, want only the caller of the second turn", n)
		}
		leave()
		if got := <-ends[1]; !errors.Is(got.err, context.Canceled) {
			t.Errorf("the cancelled caller got %v", got.err)
		}
		wait(4, 0, t.Context())
		if got := <-ends[4]; got.err != nil || got.after != 10*time.Second {
			t.Errorf("got %v after %v, want the released turn, after 10s", got.err, got.after)
		}
	})
}
