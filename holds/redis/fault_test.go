package redis

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/node/nodetest"
	"holdfast/holds/redis/redistest"
)

// These tests cover failures between a node and Redis, and in Redis.

// TestLostAnswerIsNotRepeated loses the response to each call that changes a hold. The call finds out that it was
// executed, and it was executed only once.
func TestLostAnswerIsNotRepeated(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		proxy := s.Proxy(t)
		b := open(t, s, Options{URL: proxy.URL(), Timeout: 2 * time.Second})
		w := watch(t, open(t, s, Options{}))
		ctx := t.Context()
		// the server has already loaded the script, so the call is one request
		warm := func(specialist string) holds.Hold {
			t.Helper()
			h, err := b.Claim(ctx, wish(specialist, amal))
			if err != nil {
				t.Fatal(err)
			}
			next(t, w, 1)
			return h
		}
		only := func(kind holds.EventKind) {
			t.Helper()
			if e := next(t, w, 1)[0]; e.Kind != kind {
				t.Errorf("got %s, want %s", e.Kind, kind)
			}
			if err := b.Publish(ctx, holds.Event{Kind: holds.EventPresence}); err != nil {
				t.Fatal(err)
			}
			if e := next(t, w, 1)[0]; e.Kind != holds.EventPresence {
				t.Errorf("got another %s, want one %s", e.Kind, kind)
			}
		}
		known := warm("ada")
		for _, load := range []func() error{
			func() error { _, err := b.Extend(ctx, "none", amal, time.Minute, false); return err },
			func() error { _, err := b.Pin(ctx, "none", amal, time.Minute); return err },
			func() error { _, err := b.Release(ctx, "none", amal, holds.ReasonReleased); return err },
		} {
			if err := load(); err != nil && !errors.Is(err, holds.ErrNotFound) {
				t.Fatal(err)
			}
		}

		proxy.LoseReplyTo(b.script(claimScript).Hash())
		h, err := b.Claim(ctx, wish("bob", bela))
		if err != nil || h.Owner != bela {
			t.Errorf("Claim: got %+v, %v, want the claimed hold", h, err)
		}
		only(holds.EventHold)

		proxy.LoseReplyTo(b.script(extendScript).Hash())
		known, err = b.Extend(ctx, known.ID, amal, 2*time.Minute, true)
		if err != nil || known.Restarts != 1 {
			t.Errorf("Extend: got %+v, %v, want one restart", known, err)
		}
		only(holds.EventHeartbeat)

		proxy.LoseReplyTo(b.script(pinScript).Hash())
		if known, err = b.Pin(ctx, known.ID, amal, 3*time.Minute); err != nil || !known.Pinned {
			t.Errorf("Pin: got %+v, %v, want true", known, err)
		}
		proxy.LoseReplyTo(b.script(pinScript).Hash())
		if known, err = b.Unpin(ctx, known.ID, amal, time.Minute); err != nil || known.Pinned {
			t.Errorf("Unpin: got %+v, %v, want false", known, err)
		}

		proxy.LoseReplyTo(b.script(finishScript).Hash())
		if ok, err := b.Release(ctx, known.ID, amal, holds.ReasonReleased); !ok || err != nil {
			t.Errorf("Release: got %v, %v, want true", ok, err)
		}
		only(holds.EventRelease)
		proxy.LoseReplyTo(b.script(finishScript).Hash())
		if ok, err := b.Release(ctx, known.ID, amal, holds.ReasonReleased); ok || err != nil {
			t.Errorf("Release of an ended hold: got %v, %v, want false", ok, err)
		}
		proxy.LoseReplyTo(b.script(finishScript).Hash())
		if ok, err := b.Confirm(ctx, h.ID, bela); !ok || err != nil {
			t.Errorf("Confirm: got %v, %v, want true", ok, err)
		}
		only(holds.EventConfirm)
		if n := proxy.Lost(); n != 7 {
			t.Errorf("%d answers were lost, want 7: the test proves nothing", n)
		}
	})
}

func TestRefusedConnectionIsUnavailable(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		proxy := s.Proxy(t)
		b := open(t, s, Options{URL: proxy.URL(), Timeout: time.Second})
		ctx := t.Context()
		h, err := b.Claim(ctx, wish("ada", amal))
		if err != nil {
			t.Fatal(err)
		}
		proxy.LoseRequest(b.script(claimScript).Hash())
		if _, err := b.Claim(ctx, wish("bob", bela)); !errors.Is(err, holds.ErrUnavailable) {
			t.Errorf("Claim: got %v, want ErrUnavailable", err)
		}
		proxy.LoseRequest(b.script(extendScript).Hash())
		if _, err := b.Extend(ctx, h.ID, amal, time.Hour, false); !errors.Is(err, holds.ErrUnavailable) {
			t.Errorf("Extend: got %v, want ErrUnavailable", err)
		}
		proxy.LoseRequest(b.script(finishScript).Hash())
		if _, err := b.Release(ctx, h.ID, amal, holds.ReasonReleased); !errors.Is(err, holds.ErrUnavailable) {
			t.Errorf("Release: got %v, want ErrUnavailable", err)
		}
		if list, err := b.List(ctx); err != nil || len(list) != 1 || list[0] != h {
			t.Errorf("got %+v, %v, want ada's hold unchanged", list, err)
		}
	})
}

// calls lists every backend call that is sent to Redis.
func calls(b *Backend) map[string]func(ctx context.Context) error {
	span := wish("ada", amal).Span
	return map[string]func(ctx context.Context) error{
		"Claim":      func(ctx context.Context) error { _, err := b.Claim(ctx, wish("ada", amal)); return err },
		"Extend":     func(ctx context.Context) error { _, err := b.Extend(ctx, "x", amal, 1, false); return err },
		"Pin":        func(ctx context.Context) error { _, err := b.Pin(ctx, "x", amal, 1); return err },
		"Unpin":      func(ctx context.Context) error { _, err := b.Unpin(ctx, "x", amal, 1); return err },
		"Confirm":    func(ctx context.Context) error { _, err := b.Confirm(ctx, "x", amal); return err },
		"Release":    func(ctx context.Context) error { _, err := b.Release(ctx, "x", amal, ""); return err },
		"Hold":       func(ctx context.Context) error { _, err := b.Hold(ctx, "x"); return err },
		"List":       func(ctx context.Context) error { _, err := b.List(ctx); return err },
		"Publish":    func(ctx context.Context) error { return b.Publish(ctx, holds.Event{Kind: holds.EventConfirm}) },
		"Select":     func(ctx context.Context) error { _, err := b.Select(ctx, amal, span); return err },
		"Deselect":   func(ctx context.Context) error { _, err := b.Deselect(ctx, amal); return err },
		"Renew":      func(ctx context.Context) error { _, err := b.Renew(ctx, amal); return err },
		"Selected":   func(ctx context.Context) error { _, err := b.Selected(ctx, noon, noon); return err },
		"Online":     func(ctx context.Context) error { _, err := b.Online(ctx, "ada", 1); return err },
		"Offline":    func(ctx context.Context) error { _, err := b.Offline(ctx, "ada"); return err },
		"Deactivate": func(ctx context.Context) error { _, err := b.Deactivate(ctx, "ada"); return err },
		"Activate":   func(ctx context.Context) error { _, err := b.Activate(ctx, "ada"); return err },
		"Beat":       func(ctx context.Context) error { return b.Beat(ctx, "ada") },
		"SetMax":     func(ctx context.Context) error { return b.SetMax(ctx, "ada", 1) },
		"Load":       func(ctx context.Context) error { _, err := b.Load(ctx, "ada", 1); return err },
		"SetLoads":   func(ctx context.Context) error { return b.SetLoads(ctx, nil) },
		"Present":    func(ctx context.Context) error { _, err := b.Present(ctx, "ada"); return err },
		"Available":  func(ctx context.Context) error { _, err := b.Available(ctx, 0, 0); return err },
		"Everyone":   func(ctx context.Context) error { _, err := b.Everyone(ctx); return err },
		"Count":      func(ctx context.Context) error { _, err := b.Count(ctx, 0); return err },
		"Seed":       func(ctx context.Context) error { return b.Seed(ctx, nil) },
		"Ping":       b.Ping,
		"Stats":      func(ctx context.Context) error { _, err := b.Stats(ctx); return err },
	}
}

// TestDeadServerDelaysNoCall freezes the server and kills it: every call ends within its deadline.
func TestDeadServerDelaysNoCall(t *testing.T) {
	const bound = 500 * time.Millisecond // twice the time limit of a call: the machine may be busy
	for name, strike := range map[string]func(*redistest.Server){
		"frozen": (*redistest.Server).Freeze, "killed": (*redistest.Server).Kill} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *redistest.Server) {
				b := open(t, s, Options{Timeout: defaultTimeout})
				if err := b.Ping(t.Context()); err != nil {
					t.Fatal(err)
				}
				strike(s)
				for name, call := range calls(b) {
					var err error
					if took := nodetest.Took(func() {
						err = call(t.Context())
					}); !errors.Is(err, holds.ErrUnavailable) || took > bound {
						t.Errorf("%s: got %v after %v, want ErrUnavailable within %v", name, err, took, bound)
					}
				}
			})
		})
	}
}

// TestEmptyServerIsSeeded: holds can be lost, but the watchers are notified.
func TestEmptyServerIsSeeded(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		b := open(t, s, Options{})
		ctx := t.Context()
		w, epoch := watch(t, b), b.Epoch()
		if _, err := b.Claim(ctx, wish("ada", amal)); err != nil {
			t.Fatal(err)
		}
		next(t, w, 1)
		s.Restart()
		cut(t, w)
		if b.Epoch() == epoch {
			t.Error("got the same epoch, want another")
		}
		w = watch(t, b) // waits until events are received again
		h, err := b.Claim(ctx, wish("ada", bela))
		if err != nil {
			t.Fatalf("got %v, want the hold: the new server has no other", err)
		}
		if e := next(t, w, 1)[0]; e.HoldID != h.ID {
			t.Errorf("got %+v, want the hold %s", e, h.ID)
		}
	})
}

// TestEventsOfThawedServerArrive: the watchers receive the late events, or an error that says events are missing.
func TestEventsOfThawedServerArrive(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		b := open(t, s, Options{Timeout: time.Second})
		ctx := t.Context()
		w := watch(t, b)
		s.Freeze()
		if _, err := b.Claim(ctx, wish("ada", amal)); !errors.Is(err, holds.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		cut(t, w)
		s.Thaw()
		var again holds.Watch
		for again == nil {
			again, _ = b.Watch(ctx)
		}
		defer again.Close()
		// The claim was waiting in the server. It is the client's own, so the client does not get an error saying that
		// the slot is taken.
		if _, err := b.Claim(ctx, wish("ada", amal)); err != nil {
			t.Errorf("got %v, want the client's own hold", err)
		}
	})
}

func TestURLErrorHidesPassword(t *testing.T) {
	for _, url := range []string{"http://user:s3cret@host", "redis://user:s3cret@host/x", "%zz:s3cret"} {
		b, err := Open(Options{URL: url})
		if err == nil {
			b.Close()
			t.Errorf("%s: got a backend, want an error", url)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %q, which shows the password", err)
		}
	}
}

// TestManyFailuresAreOneError: if many calls of a copy fail together, the reason in the log is one of them. The caller
// must recognize that another node has taken over, whichever call noticed it.
func TestManyFailuresAreOneError(t *testing.T) {
	t.Parallel()
	late := errors.New("i/o timeout")
	for name, c := range map[string]struct{ second, want error }{
		"all late":          {late, late},
		"one was overtaken": {holds.ErrMoved, holds.ErrMoved},
	} {
		var together sync.WaitGroup
		together.Add(fillers)
		err := atOnce(fillers, func(i int) error {
			together.Done()
			together.Wait()
			if i == 1 {
				return c.second
			}
			return late
		})
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %q, want only %q", name, err, c.want)
		}
	}
}
