package redis

import (
	"flag"
	"os"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/holdstest"
	"holdfast/holds/redis/redistest"
)

// TestBackend runs the whole contract against every installed server, each guarantee on an empty one.
func TestBackend(t *testing.T) {
	for _, program := range redistest.Programs(t) {
		t.Run(program, func(t *testing.T) {
			holdstest.Run(t, holdstest.Harness{
				Queue: 1024, Second: 500 * time.Millisecond, Late: 900 * time.Millisecond, Parallel: true,
				Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
					return open(t, redistest.Start(t, program), Options{Booked: booked, WatchQueue: 1024})
				},
			})
		})
	}
}

// patience is the timeout of calls in tests that are not about timeouts: the machine may be busy.
const patience = 10 * time.Minute

// open opens a backend on a server and closes it at the end of the test.
func open(t testing.TB, s *redistest.Server, o Options) *Backend {
	t.Helper()
	if o.URL == "" {
		o.URL = s.URL()
	}
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
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
