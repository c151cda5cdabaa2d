package redis

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/redis/redistest"
)

// What several nodes on one Redis see of each other.

var (
	amal = holds.ClientID("client-amal-7c1f0a52d9").Owner()
	bela = holds.ClientID("client-bela-03be8842a6").Owner()
	noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
)

// wish is a claim of half an hour from noon on, for a minute.
func wish(specialistID string, owner holds.Owner) holds.Claim {
	end := noon.Add(30 * time.Minute)
	return holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID, SlotStart: noon, SlotEnd: end,
			BusyStart: noon, BusyEnd: end},
		Owner: owner, Seats: []int{0}, TTL: time.Minute, MaxLife: time.Minute,
	}
}

// each runs a test against every server that is installed.
func each(t *testing.T, test func(t *testing.T, s *redistest.Server)) {
	for _, program := range redistest.Programs(t) {
		t.Run(program, func(t *testing.T) { test(t, redistest.Start(t, program)) })
	}
}

func watch(t *testing.T, b holds.Backend) holds.Watch {
	t.Helper()
	w, err := b.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// cut waits until a watch is told that it may have missed something.
func cut(t *testing.T, w holds.Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if got, err := w.Next(ctx, nil); !errors.Is(err, holds.ErrSlow) {
		t.Fatalf("got %d events, %v, want ErrSlow: events may have been lost", len(got), err)
	}
}

// next returns the next n events of a watch.
func next(t *testing.T, w holds.Watch, n int) (got []holds.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for len(got) < n {
		batch, err := w.Next(ctx, nil)
		if err != nil {
			t.Fatalf("got %d events and %v, want %d", len(got), err, n)
		}
		got = append(got, batch...)
	}
	return got
}

func TestAHoldOfOneNodeIsInTheWayOnAnother(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		a, b := open(t, s, Options{}), open(t, s, Options{})
		w := watch(t, b)
		h, err := a.Claim(t.Context(), wish("ada", amal))
		if err != nil {
			t.Fatal(err)
		}
		var held *holds.HeldError
		if _, err := b.Claim(t.Context(), wish("ada", bela)); !errors.As(err, &held) || !held.Until.Equal(h.ExpiresAt) {
			t.Errorf("got %v, want held until %v", err, h.ExpiresAt)
		}
		if e := next(t, w, 1)[0]; e.Kind != holds.EventHold || e.HoldID != h.ID || e.Span != h.Span || !e.Owner.Is(amal) {
			t.Errorf("got %+v, want the hold %+v", e, h)
		}
		if list, err := b.List(t.Context()); err != nil || !slices.Equal(list, []holds.Hold{h}) {
			t.Errorf("got %+v, %v, want the hold", list, err)
		}
		again, err := b.Claim(t.Context(), wish("ada", amal))
		if err != nil || again.ID != h.ID {
			t.Errorf("its own client on another node: got %s, %v, want %s renewed", again.ID, err, h.ID)
		}
		if ok, err := b.Release(t.Context(), h.ID, amal, holds.ReasonReleased); !ok || err != nil {
			t.Errorf("released on another node: got %v, %v", ok, err)
		}
	})
}

func TestOfRacersOnTwoNodesOneHasTheSlot(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		nodes := []*Backend{open(t, s, Options{}), open(t, s, Options{})}
		var won atomic.Int32
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				_, err := nodes[i%2].Claim(t.Context(), wish("ada", holds.ClientID(fmt.Sprintf("client-number-%04d", i)).Owner()))
				var held *holds.HeldError
				switch {
				case err == nil:
					won.Add(1)
				case !errors.As(err, &held):
					t.Errorf("got %v, want a hold or a HeldError", err)
				}
			})
		}
		all.Wait()
		if n := won.Load(); n != 1 {
			t.Errorf("got %d winners, want 1", n)
		}
	})
}

// TestALapseIsPublishedOnceHoweverManyNodesSweep has every node count what it hears.
func TestALapseIsPublishedOnceHoweverManyNodesSweep(t *testing.T) {
	const nodes, count = 4, 200
	each(t, func(t *testing.T, s *redistest.Server) {
		var all []*Backend
		var watches []holds.Watch
		for range nodes {
			b := open(t, s, Options{})
			all, watches = append(all, b), append(watches, watch(t, b))
		}
		for i := range count {
			c := wish(fmt.Sprintf("specialist-%d", i), amal)
			c.TTL = 300 * time.Millisecond
			if _, err := all[i%nodes].Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		last := wish("zoe", bela) // published after every lapse, and on every node
		for n, w := range watches {
			released := map[string]int{}
			for _, e := range next(t, w, 2*count) {
				if e.Kind == holds.EventRelease {
					released[e.HoldID]++
				}
			}
			if len(released) != count {
				t.Errorf("node %d heard of %d lapses, want %d", n, len(released), count)
			}
		}
		if _, err := all[0].Claim(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		for n, w := range watches {
			if e := next(t, w, 1)[0]; e.SpecialistID != "zoe" {
				t.Errorf("node %d heard %s of %s after the last lapse, want each lapse once", n, e.Kind, e.SpecialistID)
			}
		}
	})
}

// TestADoubtPassesToAnotherNode: a pinned hold lapses, and the node that was given to ask about it hangs. Another one asks,
// and what the first says in the end is not published as well.
func TestADoubtPassesToAnotherNode(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		asked, answer := make(chan struct{}), make(chan struct{})
		resume := sync.OnceFunc(func() { close(answer) })
		a := open(t, s, Options{Booked: func(holds.Hold) bool {
			close(asked)
			<-answer
			return false
		}})
		c := wish("ada", amal)
		c.TTL = 100 * time.Millisecond
		h, err := a.Claim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Pin(t.Context(), h.ID, amal, 200*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		defer resume() // or its backend could not be closed
		<-asked
		b := open(t, s, Options{Booked: func(h holds.Hold) bool { return h.Pinned && h.Owner == amal }})
		w := watch(t, b)
		if e := next(t, w, 1)[0]; e.Kind != holds.EventConfirm || e.HoldID != h.ID {
			t.Errorf("got %+v, want the booking confirmed by another node", e)
		}
		resume()
		for a.sweeper.Asking() { // until what it has to say is said
			runtime.Gosched()
		}
		if err := b.Publish(t.Context(), holds.Event{Kind: holds.EventPresence}); err != nil {
			t.Fatal(err)
		}
		if e := next(t, w, 1)[0]; e.Kind != holds.EventPresence {
			t.Errorf("got %s besides, want the end of the hold once", e.Kind)
		}
	})
}

func TestPresenceAndBusyTimeAreShared(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		a, b := open(t, s, Options{}), open(t, s, Options{})
		ctx := t.Context()
		if changed, err := a.Online(ctx, "ada", 2); !changed || err != nil {
			t.Fatal(changed, err)
		}
		if changed, err := b.Online(ctx, "ada", 2); changed || err != nil {
			t.Errorf("on another node: got changed %v, %v, want not", changed, err)
		}
		if n, err := b.Load(ctx, "ada", 1); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if p, err := a.Present(ctx, "ada"); err != nil || !p.Online || p.Load != 1 || p.Max != 2 {
			t.Errorf("got %+v, %v, want ada online with a load of 1 of 2", p, err)
		}
		if err := a.MarkBusy(ctx, "ada", noon, noon.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if busy, err := b.IsBusy(ctx, "ada", noon, noon.Add(5*time.Minute)); !busy || err != nil {
			t.Errorf("got %v, %v, want busy", busy, err)
		}
		if _, err := a.Select(ctx, amal, wish("ada", amal).Span); err != nil {
			t.Fatal(err)
		}
		if list, err := b.Selected(ctx, noon, noon.Add(time.Hour), "ada"); err != nil || len(list) != 1 || list[0].Owner != amal {
			t.Errorf("got %+v, %v, want amal's selection", list, err)
		}
	})
}

// TestNothingSecretIsInRedis reads every key and value: a client is only there as its owner.
func TestNothingSecretIsInRedis(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		const secret = holds.ClientID("client-canary-5d0c88aa41")
		b := open(t, s, Options{})
		ctx := t.Context()
		if _, err := b.Claim(ctx, wish("ada", secret.Owner())); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Select(ctx, secret.Owner(), wish("bob", amal).Span); err != nil {
			t.Fatal(err)
		}
		keys, err := b.client.Keys(ctx, "*").Result()
		if err != nil || len(keys) < 8 {
			t.Fatal(keys, err)
		}
		for _, key := range keys {
			value, err := b.client.Dump(ctx, key).Result()
			if err != nil || strings.Contains(key+value, string(secret)) {
				t.Errorf("%s: the client is in it, or %v", key, err)
			}
			left, err := b.client.PTTL(ctx, key).Result()
			lapses := strings.HasPrefix(key, "hold:") || strings.HasPrefix(key, "hold-id:") || strings.HasSuffix(key, ":selection")
			if err != nil || lapses && left <= 0 {
				t.Errorf("%s: lives for %v, %v, want it to lapse by itself", key, left, err)
			}
		}
		if !slices.Contains(keys, "hold:checkup:2030-05-06T12:00:00Z:ada") || !slices.Contains(keys, "selection:2030-05-06:bob:12:00") {
			t.Errorf("got keys %q, want those of the manual", keys)
		}
	})
}

// TestWhatComesFromTheFeedStaysOnItsNode: every node follows the feed, so a watcher would hear of it once for each.
func TestWhatComesFromTheFeedStaysOnItsNode(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		a, b := open(t, s, Options{}), open(t, s, Options{})
		here, there := watch(t, a), watch(t, b)
		for _, kind := range []holds.EventKind{holds.EventAppointment, holds.EventCancel, holds.EventConfirm} {
			if err := a.Publish(t.Context(), holds.Event{Kind: kind}); err != nil {
				t.Fatal(err)
			}
		}
		if got := next(t, here, 3); got[0].Kind != holds.EventAppointment || got[1].Kind != holds.EventCancel {
			t.Errorf("got %+v, want all three", got)
		}
		if e := next(t, there, 1)[0]; e.Kind != holds.EventConfirm {
			t.Errorf("got %s on the other node, want only the confirmation", e.Kind)
		}
	})
}

func TestTheServerSaysHowItIs(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		b := open(t, s, Options{})
		for _, owner := range []holds.Owner{amal, bela} { // the second finds the first's key
			_, _ = b.Claim(t.Context(), wish("ada", owner))
		}
		if _, err := b.client.Get(t.Context(), deadlinesKey+"?").Result(); err == nil { // a miss
			t.Fatal("got a key that nobody wrote")
		}
		got, err := b.Server(t.Context())
		if err != nil || got.UsedMemory < 100_000 || got.ConnectedClients < 2 || got.HitRate <= 0 || got.HitRate >= 1 {
			t.Errorf("got %+v, %v, want some memory, at least two connections, hits and misses", got, err)
		}
	})
}
