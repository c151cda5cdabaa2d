package engine_test

import (
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/presence"
	"holdfast/holds"
	"holdfast/store"
)

// TestSweepRunsOnOneNode: a specialist without heartbeats goes offline once, whichever node sweeps. A specialist who
// sends heartbeats to one node stays online on all nodes.
func TestSweepRunsOnOneNode(t *testing.T) {
	c := newNodes(t, 3, func(c *nodes) {
		c.options = func(o *engine.Options) {
			o.Presence = presence.Options{StaleAfter: 5 * time.Second, Sweep: 20 * time.Millisecond,
				Mirror: 50 * time.Millisecond, Reconcile: time.Hour}
		}
	})
	c.clinic("ada", "bob")
	first, second := c.all[0], c.all[1]
	watch, err := second.Booking.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	for _, id := range []string{"ada", "bob"} {
		if _, err := first.Presence.GoOnline(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	online := func() (ids []string) {
		for _, p := range enginetest.Must(first.Presence.Online(t.Context())) {
			ids = append(ids, p.SpecialistID)
		}
		return ids
	}
	beat := func() {
		if err := second.Presence.Beat(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
	}
	c.until(time.Minute, "ada is taken offline", func() bool { beat(); return !slices.Contains(online(), "ada") })
	began := time.Now()
	c.until(time.Minute, "some more sweeps", func() bool { beat(); return time.Since(began) > 300*time.Millisecond })
	if got := online(); !slices.Equal(got, []string{"bob"}) {
		t.Errorf("online: got %v, want bob, whose heartbeats reach the other node", got)
	}
	var log []store.PresenceChange
	c.until(time.Minute, "the log has ada's end", func() bool { // the node that swept writes the entry after the sweep
		beat()
		log, err = first.store.PresenceLog(t.Context(), "ada", 10)
		return err != nil || len(log) > 1
	})
	if err != nil || len(log) != 2 || log[0].Change != "auto_offline" || log[1].Change != "online" {
		t.Errorf("the log says %+v, %v; want online, then auto_offline once", log, err)
	}
	told := 0
	for events := []holds.Event(nil); ; {
		if events, err = watch.Next(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		end := false
		for i := range events {
			e := &events[i]
			if e.Kind == holds.EventPresence && e.SpecialistID == "ada" && e.Reason == "offline" {
				told++
			}
			end = end || e.Kind == holds.EventPresence && e.SpecialistID == "bob" && e.Reason == "offline"
		}
		if end {
			break
		}
		if told == 1 && !end { // this was the last expected event
			if _, err := first.Presence.GoOffline(t.Context(), "bob"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if told != 1 {
		t.Errorf("%d events that ada went offline, want one", told)
	}
}

// TestOfflineAtOneNodeIsOfflineAtAll: a node caches the public count for 10 s, or until another node takes a specialist
// online or offline. If the count reflects both changes within 9 s, the other node's changes updated it, not the expiry
// of the cache. If the machine is too busy for that, the test tries again, because a slow attempt proves nothing.
func TestOfflineAtOneNodeIsOfflineAtAll(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada")
	first, second := c.all[0], c.all[1]
	if _, err := first.Clinic.UpdateSpecialist(t.Context(), "system", "ada", func(p *store.Specialist) {
		p.MaxSessions = 4
	}); err != nil {
		t.Fatal(err)
	}
	c.agree()
	count := func() int {
		n, err := first.Presence.Beacon(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for attempt := 1; ; attempt++ {
		began := time.Now()
		if _, err := second.Presence.GoOnline(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		c.until(time.Minute, "the other node counts ada", func() bool { return count() == 1 })
		if _, err := second.Presence.GoOffline(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		c.until(time.Minute, "the other node does not count ada", func() bool { return count() == 0 })
		took := time.Since(began)
		if took < 9*time.Second {
			return
		}
		if attempt == 6 {
			t.Fatalf("attempt %d: the other node counted both changes after %v, want before its cached count expires",
				attempt, took)
		}
	}
}
