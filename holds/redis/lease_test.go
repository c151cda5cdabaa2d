package redis

import (
	"errors"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/node/nodetest"
	"holdfast/holds/redis/redistest"
)

// TestRedisBelongsToOneDatabase: a node with a different database is refused until the first node has left.
func TestRedisBelongsToOneDatabase(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		ctx := t.Context()
		first, second := open(t, s, Options{Lease: "one"}), open(t, s, Options{Lease: "two"})
		shared := open(t, s, Options{})
		for range 2 {
			if err := first.Ping(ctx); err != nil {
				t.Fatal(err)
			}
		}
		var taken *LeaseError
		err := second.Ping(ctx)
		if !errors.As(err, &taken) || taken.Holder != "one" || taken.Left <= 0 || taken.Left > leaseTime ||
			!errors.Is(err, holds.ErrUnavailable) {
			t.Errorf("got %v, want a LeaseError of one lease, within %v", err, leaseTime)
		}
		if err := shared.Ping(ctx); err != nil {
			t.Errorf("a node whose database is shared: got %v", err)
		}
		again := open(t, s, Options{Lease: "one"}) // the same node, restarted after a crash
		if err := again.Ping(ctx); err != nil {
			t.Errorf("the same node: got %v", err)
		}
		if left, err := first.client.PTTL(ctx, leaseKey).Result(); err != nil || left <= 0 || left > 30*time.Second {
			t.Errorf("the lease ends in %v, %v, want within 30 s", left, err)
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		if err := second.Ping(ctx); err != nil {
			t.Errorf("after the first node has left: got %v", err)
		}
	})
}

// TestClinicsOnOneRedisHearOnlyThemselves: all databases in a Redis share its channels.
func TestClinicsOnOneRedisHearOnlyThemselves(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		one, other := open(t, s, Options{Lease: "one"}), open(t,
			s, Options{URL: s.URL() + "?db=1", Lease: "other node"})
		var watches [2]holds.Watch
		for i, b := range []*Backend{one, other} {
			w, err := b.Watch(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			watches[i] = w
		}
		mine, err := one.Claim(t.Context(), wish("ada", amal))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := other.Claim(t.Context(), wish("bob", amal))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{mine.ID, theirs.ID} {
			events, err := watches[i].Next(t.Context(), nil)
			if err != nil || len(events) != 1 || events[0].HoldID != want {
				t.Errorf("clinic %d: got %+v, %v, want only the hold %s", i, events, err, want)
			}
		}
	})
}

// TestOutageIsOneLineInTheLog: every attempt to receive events again fails, and only the first one is
// logged.
func TestOutageIsOneLineInTheLog(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		var log nodetest.Log
		open(t, s, Options{Logger: log.Logger()})
		log.Await(t, "Redis event subscription started", 1)
		for outages := 1; outages <= 2; outages++ {
			s.Kill()
			log.Await(t, "Redis event subscription interrupted", outages)
			attempts := time.NewTimer(5 * earRetry)
			<-attempts.C
			s.Restart()
			log.Await(t, "Redis event subscription started", outages+1)
			if n := log.Count("Redis event subscription interrupted"); n != outages {
				t.Errorf("after %d outages: got %d lines, want one for each", outages, n)
			}
		}
	})
}
