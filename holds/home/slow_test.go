package home

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/node/nodetest"
	"holdfast/holds/redis"
	"holdfast/holds/redis/redistest"
)

// These tests cover the effects on two processes when Redis is running, but its responses are lost or late.

// slowPair starts two processes with the program's timeouts, each with its own connection to one Redis, and one
// PostgreSQL.
func slowPair(t *testing.T) (nodes []*Backend, lines []*redistest.Proxy, direct holds.Backend) {
	t.Helper()
	url := database(t)
	s := redistest.Start(t, redistest.Programs(t)[0])
	for range 2 {
		line := s.Proxy(t)
		b := openWith(t, line.URL(), url, redis.Options{Timeout: 150 * time.Millisecond}, Options{})
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		awaitMode(t, b, "redis")
		nodes, lines = append(nodes, b), append(lines, line)
	}
	direct, err := redis.Open(redis.Options{URL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = direct.Close() })
	return nodes, lines, direct
}

// TestSlowRedisIsLeft delays every response by half a second, or loses it even though the call is executed. A caller
// waits for at most half a second, no client is refused its own holds, watchers receive all events, and the nodes
// recover without intervention.
func TestSlowRedisIsLeft(t *testing.T) {
	const most = 500 * time.Millisecond
	for name, strike := range map[string]func(line *redistest.Proxy, on bool){
		"late": func(line *redistest.Proxy, on bool) {
			if line.Delay(500 * time.Millisecond); !on {
				line.Delay(0)
			}
		},
		"lost": func(line *redistest.Proxy, on bool) { line.Mute(on) },
	} {
		t.Run(name, func(t *testing.T) {
			nodes, lines, direct := slowPair(t)
			a, b := nodes[0], nodes[1]
			ctx := t.Context()
			w := watch(t, b)
			before := claim(t, a, wish("before", amal))
			w.next(holds.EventHold)
			for _, line := range lines {
				strike(line, true)
			}
			var mu sync.Mutex
			var waited []time.Duration
			// bounded repeats a call that a node refused because its lease had expired, as busy machines let it do. Such a
			// call counts as one that took too long.
			bounded := func(what string, call func() error) {
				t.Helper()
				var times []time.Duration
				_, err := answered(t, func() (_ struct{}, err error) {
					took := nodetest.Took(func() { err = call() })
					if errors.Is(err, holds.ErrUnavailable) {
						took = max(took, most+1)
					}
					if times = append(times, took); took > 6*most { // the machine may be busy
						t.Errorf("%s: got %v after %v, want an answer within %v", what, err, took, most)
					}
					return struct{}{}, err
				})
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				mu.Lock()
				defer mu.Unlock()
				waited = append(waited, times...)
			}
			// The first call to notice is a claim that Redis executes, on the existing connection. Then several calls
			// notice together.
			var all sync.WaitGroup
			made := make([]holds.Hold, 6)
			take := func(i int) {
				bounded(fmt.Sprint("claim ", i), func() (err error) {
					made[i], err = nodes[i%2].Claim(ctx, wish(fmt.Sprintf("specialist-%d", i), amal))
					return err
				})
			}
			take(0)
			if list, err := direct.List(ctx); err != nil || !slices.ContainsFunc(list, func(h holds.Hold) bool {
				return h.SpecialistID == "specialist-0"
			}) {
				t.Errorf("got %+v, %v in Redis, want the hold of the unanswered claim", list, err)
			}
			for i := 1; i < len(made); i++ {
				all.Go(func() { take(i) })
			}
			all.Go(func() {
				bounded("extend", func() error {
					_, err := a.Extend(ctx, before.ID, amal, 10*time.Minute, false)
					return err
				})
			})
			all.Wait()
			for i, h := range made {
				for n, b := range nodes {
					var held *holds.HeldError
					bounded("again", func() error {
						got, err := b.Claim(ctx, wish(h.SpecialistID, amal))
						if err == nil && got.ID != h.ID {
							t.Errorf("hold %d claimed again at node %d: got %s, want %s", i, n, got.ID, h.ID)
						}
						return err
					})
					bounded("another's", func() error {
						if _, err := b.Claim(ctx, wish(h.SpecialistID, bela)); !errors.As(err, &held) {
							return fmt.Errorf("got %w, want a HeldError", err)
						}
						return nil
					})
				}
			}
			awaitMode(t, a, "fallback")
			awaitMode(t, b, "fallback")
			gone := made[0]
			bounded("release", func() error {
				ok, err := b.Release(ctx, gone.ID, amal, holds.ReasonReleased)
				if err == nil && !ok {
					t.Error("the released hold did not exist")
				}
				return err
			})
			slices.Sort(waited)
			t.Logf("the longest waits were %v", waited[len(waited)-6:])
			if got := waited[len(waited)-6]; got > most {
				t.Errorf("six of %d calls took %v or more, want at most %v", len(waited), got, most)
			}
			for _, line := range lines {
				strike(line, false)
			}
			awaitMode(t, a, "redis")
			awaitMode(t, b, "redis")
			for n, b := range nodes {
				list, err := b.List(ctx)
				if err != nil || len(list) != len(made) { // the earlier hold, and all but the released one of these
					t.Errorf("node %d afterwards: got %d holds, %v, want %d", n, len(list), err, len(made))
				}
				for _, h := range append(made[1:], before) {
					if got, err := b.Claim(ctx, wish(h.SpecialistID, amal)); err != nil || got.ID != h.ID {
						t.Errorf("node %d afterwards: its own client got %s, %v, want %s", n, got.ID, err, h.ID)
					}
				}
			}
			// The sum of the events equals the live holds: each hold's start and end was sent once.
			after := claim(t, a, wish("after", bela))
			live, over := map[string]bool{before.ID: true}, map[string]bool{}
			for e := (holds.Event{}); e.HoldID != after.ID; {
				switch e = w.next(""); e.Kind {
				case holds.EventHold:
					if live[e.HoldID] || over[e.HoldID] {
						t.Errorf("hold %s started twice", e.HoldID)
					}
					live[e.HoldID] = true
				case holds.EventRelease:
					if !live[e.HoldID] {
						t.Errorf("hold %s ended before it started", e.HoldID)
					}
					delete(live, e.HoldID)
					over[e.HoldID] = true
				}
			}
			for _, h := range append(made[1:], before, after) {
				if !live[h.ID] {
					t.Errorf("a watcher misses the hold of %s", h.SpecialistID)
				}
				delete(live, h.ID)
			}
			if len(live) > 0 || !over[gone.ID] {
				t.Errorf("a watcher has %d holds that do not exist; %s ended: %v", len(live), gone.ID,
					over[gone.ID])
			}
		})
	}
}
