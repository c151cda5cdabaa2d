package home

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
		Owner: owner, Seats: []int{0}, TTL: 10 * time.Minute, MaxLife: time.Hour, // longer than a test on a busy machine
	}
}

// awaitMode waits until a node is in a mode.
func awaitMode(t testing.TB, b *Backend, want string) {
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

// answered repeats a call until it succeeds, because on a busy machine a node's lease may briefly expire.
func answered[T any](t *testing.T, ask func() (T, error)) (T, error) {
	t.Helper()
	for began := time.Now(); ; {
		x, err := ask()
		if !errors.Is(err, holds.ErrUnavailable) || time.Since(began) > patience {
			return x, err
		}
	}
}

func claim(t *testing.T, b *Backend, c holds.Claim) holds.Hold {
	t.Helper()
	h, err := answered(t, func() (holds.Hold, error) { return b.Claim(t.Context(), c) })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// refused makes a claim that must be refused.
func refused(t *testing.T, b *Backend, c holds.Claim) {
	t.Helper()
	h, err := answered(t, func() (holds.Hold, error) { return b.Claim(t.Context(), c) })
	var held *holds.HeldError
	if !errors.As(err, &held) {
		t.Errorf("%s: got %s, %v; want a HeldError of another client's hold", c.SpecialistID, h.ID, err)
	}
}

// release releases a hold.
func release(t *testing.T, b *Backend, h holds.Hold) {
	t.Helper()
	ok, err := answered(t, func() (bool, error) { return b.Release(t.Context(), h.ID, h.Owner, holds.ReasonReleased) })
	if !ok || err != nil {
		t.Errorf("got %v, %v, want %s released", ok, err, h.SpecialistID)
	}
}

// watcher receives the events that a node sends to its watchers.
type watcher struct {
	t       *testing.T
	watch   holds.Watch
	pending []holds.Event
}

func watch(t *testing.T, b *Backend) *watcher {
	t.Helper()
	w, err := b.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return &watcher{t: t, watch: w}
}

// next waits for the next event of a kind, or of any kind if kind is empty, and skips the events before it.
func (w *watcher) next(kind holds.EventKind) (e holds.Event) {
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

// nodes is a set of nodes with one PostgreSQL and one Redis. Each node has its own link to Redis.
type nodes struct {
	of    []*Backend
	links []*redistest.Proxy
	redis *redistest.Server
	url   string
}

// start starts n nodes. A call to Redis can take a second; the link decides whether Redis is reachable.
func start(t *testing.T, n int) *nodes {
	t.Helper()
	x := &nodes{url: database(t), redis: redistest.Start(t, redistest.Programs(t)[0])}
	for i := range n {
		link, log := x.redis.Proxy(t), new(nodetest.Log)
		b := openWith(t, link.URL(), x.url, redis.Options{Timeout: time.Second},
			Options{Probe: time.Second, Logger: log.Logger()})
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("node %d:\n%s", i, log)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		x.of, x.links = append(x.of, b), append(x.links, link)
	}
	for _, b := range x.of {
		awaitMode(t, b, "redis")
	}
	return x
}
