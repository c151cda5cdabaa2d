package failover

import (
	"context"
	"flag"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/holdstest"
	"holdfast/holds/memory"
	"holdfast/holds/redis"
	"holdfast/holds/redis/redistest"
)

// TestPrimaryUp runs the whole contract with no failures.
func TestPrimaryUp(t *testing.T) {
	holdstest.Run(t, holdstest.Harness{Virtual: true, Queue: 1024,
		Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
			return open(t, newFlaky(booked), booked)
		}})
}

// TestPrimaryDown runs the whole contract with a primary that has never been reachable.
func TestPrimaryDown(t *testing.T) {
	holdstest.Run(t, holdstest.Harness{Virtual: true, Queue: 1024,
		Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
			primary := newFlaky(booked)
			primary.strike(true)
			return open(t, primary, booked)
		}})
}

// TestThroughSwitches runs the whole contract while the primary repeatedly becomes unavailable and returns.
func TestThroughSwitches(t *testing.T) {
	var switches atomic.Uint64
	holdstest.Run(t, holdstest.Harness{Virtual: true, Queue: 1024,
		Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
			booked = once(booked)
			primary := newFlaky(booked)
			return restless(open(t, primary, booked), primary, &switches)
		}})
	if n := switches.Load(); n < 1000 {
		t.Errorf("got %d switches, want many more: the test proves nothing", n)
	}
}

// TestSuiteOnRedis runs the whole contract with a real Redis as the primary.
func TestSuiteOnRedis(t *testing.T) {
	for _, program := range redistest.Programs(t) {
		t.Run(program, func(t *testing.T) {
			holdstest.Run(t, holdstest.Harness{
				Queue: 1024, Second: 500 * time.Millisecond, Late: 900 * time.Millisecond, Parallel: true,
				Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
					primary, err := redis.Open(redis.Options{URL: redistest.Start(t, program).URL(), Booked: booked,
						Timeout: patience})
					if err != nil {
						t.Fatal(err)
					}
					return open(t, primary, booked)
				},
			})
		})
	}
}

// patience is the timeout for calls that must get a response, so that a primary that is merely slow, like everything on
// a busy machine, is not abandoned. In tests of abandonment, the primary's own timeout ends the wait.
const patience = 10 * time.Minute

func open(t testing.TB, primary holds.Backend, booked func(holds.Hold) bool) *Backend {
	local := memory.New(memory.Options{Booked: booked, WatchQueue: 4096})
	b := New(t.Context(), Options{Primary: primary, Fallback: local, Booked: booked, WatchQueue: 1024, Probe: patience})
	return b
}

// once calls booked only once for each hold, because in these tests a hold that is in both backends expires in both.
func once(booked func(holds.Hold) bool) func(holds.Hold) bool {
	if booked == nil {
		return nil
	}
	var known sync.Map
	return func(h holds.Hold) bool {
		type key struct {
			holds.Span
			holds.Owner
		}
		answer, _ := known.LoadOrStore(key{h.Span, h.Owner}, sync.OnceValue(func() bool { return booked(h) }))
		return answer.(func() bool)()
	}
}

// restless is a backend whose primary repeatedly becomes unavailable and returns while the backend is open.
func restless(b *Backend, primary *flaky, switches *atomic.Uint64) holds.Backend {
	ctx, stop := context.WithCancel(context.Background())
	var moving sync.WaitGroup
	moving.Go(func() {
		for down := true; ; down = !down {
			wait := 2300 * time.Millisecond // for two thirds of this time, the primary serves
			if !down {
				wait = 700 * time.Millisecond
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			primary.strike(down)
		}
	})
	return &moved{b, func() {
		stop()
		moving.Wait()
		b.mu.RLock()
		switches.Add(b.term)
		b.mu.RUnlock()
	}}
}

type moved struct {
	*Backend
	stop func()
}

func (m *moved) Close() error {
	m.stop()
	return m.Backend.Close()
}

// TestMain allows more waiting tests at once than there are processors, because the tests spend most of their time
// waiting.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
