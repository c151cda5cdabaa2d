package failover

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/holdstest"
	"holdfast/holds/memory"
	"holdfast/holds/node/nodetest"
	"holdfast/holds/postgres"
	"holdfast/holds/redis"
	"holdfast/holds/redis/redistest"
	"holdfast/store/postgres/postgrestest"
)

// What becomes of processes that share their fallback as well, in PostgreSQL.

// cluster is the PostgreSQL of all tests here; nil, and absent says why, where there is none.
var (
	cluster *postgrestest.Server
	absent  error
)

func database(t testing.TB) string {
	t.Helper()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	return cluster.CreatePrepared(t, func(url string) error {
		b, err := postgres.Open(context.Background(), postgres.Options{URL: url, Timeout: patience})
		if err != nil {
			return err
		}
		return b.Close()
	})
}

// openShared opens a backend of this primary and a PostgreSQL.
func openShared(t testing.TB, primary holds.Backend, url string, booked func(holds.Hold) bool) *Backend {
	t.Helper()
	fallback, err := postgres.Open(t.Context(), postgres.Options{URL: url, Booked: booked, WatchQueue: 4096, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	local := memory.New(memory.Options{Booked: booked, WatchQueue: 4096})
	return New(t.Context(), Options{Primary: primary, Fallback: fallback, Local: local, Booked: booked, WatchQueue: 1024, Probe: patience})
}

// TestSharedPrimaryUp is the whole contract with a real Redis, and a real PostgreSQL to fall back on.
func TestSharedPrimaryUp(t *testing.T) {
	t.Parallel()
	holdstest.Run(t, holdstest.Harness{
		Queue: 1024, Second: 500 * time.Millisecond, Late: 900 * time.Millisecond, Parallel: true,
		Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
			primary, err := redis.Open(redis.Options{URL: redistest.Start(t, redistest.Programs(t)[0]).URL(), Booked: booked, Timeout: patience})
			if err != nil {
				t.Fatal(err)
			}
			return openShared(t, primary, database(t), booked)
		},
	})
}

// TestSharedPrimaryDown is the whole contract in PostgreSQL, while the primary has never been there.
func TestSharedPrimaryDown(t *testing.T) {
	t.Parallel()
	holdstest.Run(t, holdstest.Harness{
		Queue: 1024, Second: 500 * time.Millisecond, Late: 900 * time.Millisecond, Parallel: true,
		Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
			primary := newFlaky(booked)
			primary.strike(true)
			return openShared(t, primary, database(t), booked)
		},
	})
}

// TestNodes is what the nodes of every shared backend see of each other, with a Redis and without.
func TestNodes(t *testing.T) {
	t.Parallel()
	t.Run("primary up", func(t *testing.T) {
		t.Parallel()
		holdstest.RunNodes(t, holdstest.Nodes{Server: func(t testing.TB) func(func(holds.Hold) bool) holds.Backend {
			url, s := database(t), redistest.Start(t, redistest.Programs(t)[0])
			return func(booked func(holds.Hold) bool) holds.Backend {
				primary, err := redis.Open(redis.Options{URL: s.URL(), Booked: booked, Timeout: patience})
				if err != nil {
					t.Fatal(err)
				}
				return openShared(t, primary, url, booked)
			}
		}})
	})
	t.Run("primary down", func(t *testing.T) {
		t.Parallel()
		holdstest.RunNodes(t, holdstest.Nodes{PresenceOwn: true, Server: func(t testing.TB) func(func(holds.Hold) bool) holds.Backend {
			url := database(t)
			return func(booked func(holds.Hold) bool) holds.Backend {
				primary := newFlaky(booked)
				primary.strike(true)
				return openShared(t, primary, url, booked)
			}
		}})
	})
}

// pair is two processes, each with a line of its own to one Redis, and one PostgreSQL.
func pair(t *testing.T) (nodes [2]*Backend, away [2]func(bool), s *redistest.Server) {
	t.Helper()
	url := database(t)
	s = redistest.Start(t, redistest.Programs(t)[0])
	for i, proxy := range []*redistest.Proxy{s.Proxy(t), s.Proxy(t)} {
		primary, err := redis.Open(redis.Options{URL: proxy.URL(), Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		b := openShared(t, primary, url, nil)
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		mode(t, b, "redis")
		nodes[i], away[i] = b, proxy.Away
	}
	return nodes, away, s
}

// TestWithoutRedisNodesShareWhatIsHeld kills Redis under two nodes and starts it empty.
func TestWithoutRedisNodesShareWhatIsHeld(t *testing.T) {
	nodes, _, s := pair(t)
	a, b := nodes[0], nodes[1]
	ctx := t.Context()
	w := watch(t, b)
	before := claim(t, a, wish("ada", amal))
	w.next(holds.EventHold) // b knows of it
	s.Kill()
	mode(t, a, "fallback")
	mode(t, b, "fallback")
	var held *holds.HeldError
	during := claim(t, a, wish("bob", amal))
	if e := w.next(holds.EventHold); e.HoldID != during.ID {
		t.Errorf("got %+v on the other node, want the hold %s", e, during.ID)
	}
	for _, specialist := range []string{"ada", "bob"} {
		if _, err := b.Claim(ctx, wish(specialist, bela)); !errors.As(err, &held) {
			t.Errorf("%s on the other node, without Redis: got %v, want it held", specialist, err)
		}
		if got, err := b.Claim(ctx, wish(specialist, amal)); err != nil || got.ID != before.ID && got.ID != during.ID {
			t.Errorf("%s for its own client on the other node: got %s, %v, want what it has", specialist, got.ID, err)
		}
	}
	gone := claim(t, b, wish("cora", bela))
	if ok, err := a.Release(ctx, gone.ID, bela, holds.ReasonReleased); !ok || err != nil {
		t.Errorf("on the other node: got %v, %v, want it released", ok, err)
	}
	if e := w.next(holds.EventRelease); e.HoldID != gone.ID {
		t.Errorf("got %+v, want the release of %s", e, gone.ID)
	}
	s.Restart()
	mode(t, a, "redis")
	mode(t, b, "redis")
	for _, n := range nodes {
		list, err := n.List(ctx)
		if err != nil || len(list) != 2 || list[0].ID != before.ID || list[1].ID != during.ID {
			t.Errorf("in the Redis that came back empty: got %+v, %v, want %s and %s", list, err, before.ID, during.ID)
		}
	}
}

// TestNodesComeBackOneAfterTheOther: what the first brings to Redis stays held for the second, which serves from PostgreSQL still,
// and what ends there ends here.
func TestNodesComeBackOneAfterTheOther(t *testing.T) {
	nodes, away, _ := pair(t)
	a, b := nodes[0], nodes[1]
	ctx := t.Context()
	away[0](true)
	away[1](true)
	mode(t, a, "fallback")
	mode(t, b, "fallback")
	mine, others := claim(t, a, wish("ada", amal)), claim(t, b, wish("bob", bela))
	w := watch(t, b)
	away[0](false)
	mode(t, a, "redis")
	var held *holds.HeldError
	if _, err := b.Claim(ctx, wish("ada", bela)); !errors.As(err, &held) {
		t.Errorf("in PostgreSQL: got %v, want the hold that is in Redis to be in the way", err)
	}
	if _, err := a.Claim(ctx, wish("bob", amal)); !errors.As(err, &held) {
		t.Errorf("in Redis: got %v, want the hold of the node that is not back to be in the way", err)
	}
	if ok, err := a.Release(ctx, mine.ID, amal, holds.ReasonReleased); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if e := w.next(holds.EventRelease); e.HoldID != mine.ID || e.Reason != holds.ReasonReleased {
		t.Errorf("got %+v, want the release of %s", e, mine.ID)
	}
	away[1](false)
	mode(t, b, "redis")
	for i, n := range nodes {
		if list, err := n.List(ctx); err != nil || len(list) != 1 || list[0].ID != others.ID {
			t.Errorf("node %d: got %+v, %v, want %s", i, list, err, others.ID)
		}
	}
}

// TestANodeThatStartsWithoutRedisTakesUpWhatIsThere, and tells its watchers when that ends.
func TestANodeThatStartsWithoutRedisTakesUpWhatIsThere(t *testing.T) {
	url := database(t)
	start := func() *Backend {
		primary := newFlaky(nil)
		primary.strike(true)
		b := openShared(t, primary, url, nil)
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	a := start()
	h := claim(t, a, wish("ada", amal))
	b := start()
	w := watch(t, b)
	if list, err := b.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != h.ID {
		t.Errorf("got %+v, %v, want %s", list, err, h.ID)
	}
	if ok, err := a.Release(t.Context(), h.ID, amal, holds.ReasonReleased); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if e := w.next(holds.EventRelease); e.HoldID != h.ID {
		t.Errorf("got %+v, want the release of %s", e, h.ID)
	}
}

// TestManyHoldsAreTakenOverWhileNobodyWaitsLong gives Redis up under fifty holds, and under five hundred.
func TestManyHoldsAreTakenOverWhileNobodyWaitsLong(t *testing.T) {
	for _, many := range []int{50, 500} {
		nodes, away, _ := pair(t)
		a := nodes[0]
		for i := range many {
			claim(t, a, wish(fmt.Sprintf("specialist-%d", i), holds.ClientID(fmt.Sprintf("a-client-with-number-%d", i)).Owner()))
		}
		away[0](true)
		took := nodetest.Took(func() { claim(t, a, wish("zoe", bela)) })
		list, err := a.List(t.Context())
		t.Logf("the switch with %d holds took %v", many, took)
		if a.Mode() != "fallback" || err != nil || len(list) != many+1 || took > 2*time.Second {
			t.Errorf("got mode %s, %d holds, %v, after %v; want all %d in the fallback", a.Mode(), len(list), err, took, many+1)
		}
	}
}

// TestWhatAFallbackDidNotTellIsMadeUpFor cuts one of two nodes off from the fallback that they serve from: what began and what
// ended meanwhile is told when it is back.
func TestWhatAFallbackDidNotTellIsMadeUpFor(t *testing.T) {
	direct := database(t)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	proxy := nodetest.Start(t, filepath.Join(dir, ".s.PGSQL.5432"), cluster.Socket())
	q := u.Query()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	start := func(url string) *Backend {
		primary := newFlaky(nil)
		primary.strike(true)
		b := openShared(t, primary, url, nil)
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	a, b := start(direct), start(u.String())
	w := watch(t, b)
	gone := claim(t, a, wish("ada", amal))
	w.next(holds.EventHold)
	proxy.Away(true)
	if ok, err := a.Release(t.Context(), gone.ID, amal, holds.ReasonReleased); !ok || err != nil {
		t.Fatal(ok, err)
	}
	made := claim(t, a, wish("bob", amal))
	proxy.Away(false)
	if e := w.next(holds.EventRelease); e.HoldID != gone.ID {
		t.Errorf("got %+v, want the end of %s", e, gone.ID)
	}
	if e := w.next(holds.EventHold); e.HoldID != made.ID {
		t.Errorf("got %+v, want the hold %s", e, made.ID)
	}
}
