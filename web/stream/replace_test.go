package stream

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/holds"
)

// announced makes a hub announce its streams to the other hubs.
func announced(source *Source, s **streams) {
	source.Announce = func(ctx context.Context, owner holds.Owner, connectionID string) error {
		return (*s).engine.Booking.AnnounceStream(ctx, owner, connectionID)
	}
}

// twoHubs returns the hubs of two nodes that share one live state.
func twoHubs(t *testing.T) (a, b *streams) {
	t.Helper()
	a = newStreams(t, Options{}, func(source *Source) { announced(source, &a) })
	source := sourceOf(a.engine)
	announced(&source, &a)
	other := *a
	b = &other
	b.hub = New(source, slog.New(slog.DiscardHandler), Options{})
	running, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { b.hub.Run(running) })
	t.Cleanup(func() {
		stop()
		ended.Wait()
	})
	return a, b
}

// TestStreamIsReplacedFromOtherNode: a client's new stream on one node ends the client's earlier stream on the other
// node, and the new stream stays open.
func TestStreamIsReplacedFromOtherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoHubs(t)
		const client = "a-client-of-two-nodes"
		first := a.listen("checkup", client, 0)
		first.upTo("connected")
		other := a.listen("checkup", "somebody-else-entirely", 0)
		other.upTo("connected")
		second := b.listen("checkup", client, 0)
		second.upTo("connected")
		if end := first.upTo("end"); end.Reason != string(endReplaced) {
			t.Errorf("the stream at the first node ended with %q, want %q", end.Reason, endReplaced)
		}
		third := a.listen("checkup", client, 0)
		third.upTo("connected")
		if end := second.upTo("end"); end.Reason != string(endReplaced) {
			t.Errorf("the stream at the second node ended with %q, want %q", end.Reason, endReplaced)
		}
		time.Sleep(16 * time.Second)
		third.upTo("ping")
		other.upTo("ping")
		if n, m := a.hub.Count(), b.hub.Count(); n != 2 || m != 0 {
			t.Errorf("%d and %d streams are open, want two at the first node", n, m)
		}
	})
}

// TestConcurrentStreamsLeaveOne: if a client opens streams on two nodes at the same time, exactly one of them stays
// open.
func TestConcurrentStreamsLeaveOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoHubs(t)
		for range 20 {
			var both sync.WaitGroup
			for _, s := range []*streams{a, b} {
				both.Go(func() {
					r := s.listen("checkup", "a-client-of-two-nodes", 0)
					go func() {
						for {
							if _, err := r.next(); err != nil {
								return
							}
						}
					}()
				})
			}
			both.Wait()
			synctest.Wait()
			if n := a.hub.Count() + b.hub.Count(); n != 1 {
				t.Fatalf("%d streams of one client are open, want one", n)
			}
		}
	})
}
