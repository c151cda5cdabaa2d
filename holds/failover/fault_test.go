package failover

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/node/nodetest"
	"holdfast/holds/redis"
	"holdfast/holds/redis/redistest"
)

// These tests cover the effects on two processes with one Redis when Redis becomes unavailable and returns.

var (
	amal = holds.ClientID("client-amal-7c1f0a52d9").Owner()
	bela = holds.ClientID("client-bela-03be8842a6").Owner()
	noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
)

func wish(specialistID string, owner holds.Owner) holds.Claim {
	end := noon.Add(30 * time.Minute)
	return holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID, SlotStart: noon, SlotEnd: end,
			BusyStart: noon, BusyEnd: end},
		Owner: owner, Seats: []int{0}, TTL: 10 * time.Minute, MaxLife: time.Hour, // longer than a test
	}
}

// node opens the backend of one process. In these tests a lost server refuses connections, so the timeout is longer
// than a call on a busy machine.
func node(t *testing.T, url string) *Backend {
	t.Helper()
	primary, err := redis.Open(redis.Options{URL: url, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, primary, nil)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	mode(t, b, "redis")
	return b
}

func each(t *testing.T, test func(t *testing.T, s *redistest.Server)) {
	for _, program := range redistest.Programs(t) {
		t.Run(program, func(t *testing.T) { test(t, redistest.Start(t, program)) })
	}
}

// mode waits until the backend is in a mode.
func mode(t *testing.T, b *Backend, want string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); b.Mode() != want; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("got mode %q, want %q", b.Mode(), want)
		}
	}
}

func claim(t *testing.T, b *Backend, c holds.Claim) holds.Hold {
	t.Helper()
	h, err := b.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// told contains the events that a process sends to its watchers.
type told struct {
	t       *testing.T
	watch   holds.Watch
	pending []holds.Event
}

func watch(t *testing.T, b *Backend) *told {
	t.Helper()
	w, err := b.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return &told{t: t, watch: w}
}

// next waits for the next event of a kind, or of any kind if kind is empty, and skips the events before it.
func (w *told) next(kind holds.EventKind) (e holds.Event) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		for len(w.pending) == 0 {
			var err error
			if w.pending, err = w.watch.Next(ctx, nil); err != nil {
				w.t.Fatalf("got %v, want a %s", err, kind)
			}
		}
		e, w.pending = w.pending[0], w.pending[1:]
		if e.Kind == kind || kind == "" {
			return e
		}
	}
}

// TestHoldsOutliveTheirServer kills the server and starts it empty. On a busy machine, the remaining time of a hold may
// change by some seconds when the hold moves to the other backend.
func TestHoldsOutliveTheirServer(t *testing.T) {
	const carried = 30 * time.Second
	each(t, func(t *testing.T, s *redistest.Server) {
		a, b := node(t, s.URL()), node(t, s.URL())
		ctx := t.Context()
		w := watch(t, b)
		h := claim(t, a, wish("ada", amal))
		w.next(holds.EventHold) // b has received it
		s.Kill()
		var held *holds.HeldError
		if _, err := b.Claim(ctx, wish("ada", bela)); !errors.As(err, &held) {
			t.Errorf("on the other node, without a server: got %v, want a HeldError", err)
		}
		longer, err := a.Extend(ctx, h.ID, amal, 20*time.Minute, false)
		if err != nil || longer.ID != h.ID || !longer.ExpiresAt.After(h.ExpiresAt) {
			t.Errorf("without a server: got %+v, %v, want %s extended", longer, err, h.ID)
		}
		if a.Mode() != "fallback" || b.Mode() != "fallback" {
			t.Errorf("got modes %s and %s, want fallback", a.Mode(), b.Mode())
		}
		other := claim(t, a, wish("bob", bela))
		s.Restart()
		mode(t, a, "redis")
		mode(t, b, "redis")
		for _, n := range []*Backend{a, b} {
			got, err := n.Hold(ctx, h.ID)
			if err != nil || got.ExpiresAt.Sub(longer.ExpiresAt).Abs() > carried ||
				got.MaxExpiresAt.Sub(h.MaxExpiresAt).Abs() > carried {
				t.Errorf("after the server returned empty: got %+v, %v, want %+v", got, err, longer)
			}
			if _, err := n.Claim(ctx, wish("bob", amal)); !errors.As(err, &held) {
				t.Errorf("a time that was claimed in the meantime: got %v, want a HeldError", err)
			}
		}
		if ok, err := b.Release(ctx, other.ID, bela, holds.ReasonReleased); !ok || err != nil {
			t.Errorf("on the other node: got %v, %v, want it released", ok, err)
		}
	})
}

// TestLoserIsNotified cuts one node off. Then two clients, one on each node, claim the same slot.
func TestLoserIsNotified(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		proxy := s.Proxy(t)
		a, b := node(t, proxy.URL()), node(t, s.URL())
		ctx := t.Context()
		gone := claim(t, a, wish("cora", amal))
		proxy.Away(true)
		mode(t, a, "fallback")
		lost, kept := claim(t, a, wish("ada", amal)), claim(t, a, wish("bob", amal))
		won := claim(t, b, wish("ada", bela))
		w := watch(t, a)
		if ok, err := a.Release(ctx, gone.ID, amal, holds.ReasonReleased); !ok || err != nil {
			t.Errorf("got %v, %v, want it released", ok, err)
		}
		if e := w.next(holds.EventRelease); e.HoldID != gone.ID {
			t.Errorf("got %+v, want the release of %s", e, gone.ID)
		}
		proxy.Away(false)
		if e := w.next(holds.EventRelease); e.HoldID != lost.ID || e.Reason != holds.ReasonDisplaced ||
			!e.Owner.Is(amal) {
			t.Errorf("got %+v, want %s displaced", e, lost.ID)
		}
		if e := w.next(holds.EventHold); e.HoldID != won.ID {
			t.Errorf("got %+v, want the hold %s of the other client", e, won.ID)
		}
		mode(t, a, "redis")
		if _, err := a.Hold(ctx, lost.ID); !errors.Is(err, holds.ErrNotFound) {
			t.Errorf("got %v, want it released", err)
		}
		for _, n := range []*Backend{a, b} {
			list, err := n.List(ctx)
			if err != nil || len(list) != 2 || list[0].ID != won.ID || list[1].ID != kept.ID {
				t.Errorf("got %+v, %v, want %s and %s", list, err, won.ID, kept.ID)
			}
		}
	})
}

// TestFrozenServerIsLeftAtOnce: the call that detects the fault gets its result from the fallback, and no later call
// waits.
func TestFrozenServerIsLeftAtOnce(t *testing.T) {
	const once, then = 500 * time.Millisecond, 100 * time.Millisecond
	each(t, func(t *testing.T, s *redistest.Server) {
		primary, err := redis.Open(redis.Options{URL: s.URL()})
		if err != nil {
			t.Fatal(err)
		}
		b := open(t, primary, nil)
		defer b.Close()
		mode(t, b, "redis")
		s.Freeze()
		var h holds.Hold
		first := nodetest.Took(func() { h = claim(t, b, wish("ada", amal)) })
		second := nodetest.Took(func() {
			if _, err := b.Extend(t.Context(), h.ID, amal, time.Minute, false); err != nil {
				t.Error(err)
			}
		})
		t.Logf("the first call took %v, the next %v", first, second)
		if first > once || second > then || b.Mode() != "fallback" {
			t.Errorf("got %v, then %v, in mode %s; want at most %v and %v", first, second, b.Mode(), once, then)
		}
		s.Thaw()
		mode(t, b, "redis")
		if got := claim(t, b, wish("ada", amal)); got.ID != h.ID {
			t.Errorf("its own client: got %s, want %s: a late write of the server is discarded", got.ID, h.ID)
		}
	})
}

// TestPresenceContinuesAfterFault: specialists who were online stay online, and changes during the fault reach Redis
// afterwards.
func TestPresenceContinuesAfterFault(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		proxy := s.Proxy(t)
		a, b := node(t, proxy.URL()), node(t, s.URL())
		ctx := t.Context()
		for _, id := range []string{"ada", "bob"} {
			if _, err := a.Online(ctx, id, 3); err != nil {
				t.Fatal(err)
			}
		}
		proxy.Away(true)
		mode(t, a, "fallback")
		if n, err := a.Load(ctx, "ada", 2); n != 2 || err != nil {
			t.Errorf("got %d, %v, want 2", n, err)
		}
		if changed, err := a.Offline(ctx, "bob"); !changed || err != nil {
			t.Errorf("got %v, %v, want a change", changed, err)
		}
		if list, err := a.Everyone(ctx); err != nil || len(list) != 1 {
			t.Errorf("got %+v, %v, want ada", list, err)
		}
		proxy.Away(false)
		mode(t, a, "redis")
		if list, err := b.Everyone(ctx); err != nil || len(list) != 1 || list[0].SpecialistID != "ada" ||
			list[0].Load != 2 {
			t.Errorf("on the other node: got %+v, %v, want ada with a load of 2", list, err)
		}
	})
}
