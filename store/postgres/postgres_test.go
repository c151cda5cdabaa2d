package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"holdfast/cli/clitest"
	"holdfast/store"
	"holdfast/store/postgres/postgrestest"
	"holdfast/store/storetest"
)

// cluster is the server that all tests of this package share. If there is no PostgreSQL, cluster is nil and absent is
// the reason.
var (
	cluster *postgrestest.Server
	absent  error
)

// TestMain raises -parallel above the number of processors, because the parallel tests mostly wait. Outside the long
// run, rapid checks a property of the suites with 25 random sequences here, and with 100 in the embedded backends.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	if !clitest.IsLong() && os.Getenv("RAPID_CHECKS") == "" {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	cluster, absent = postgrestest.Start()
	if absent != nil && !errors.Is(absent, postgrestest.ErrAbsent) {
		fmt.Fprintln(os.Stderr, absent)
		os.Exit(1)
	}
	if absent != nil {
		fmt.Fprintln(os.Stderr, "!!! SKIPPED: store/postgres:", absent)
	}
	code := m.Run()
	if cluster != nil {
		cluster.Stop()
	}
	os.Exit(code)
}

// database returns the URL of a new, empty database. Use it in a test of the migrations; other tests use migrated.
func database(t testing.TB) string {
	t.Helper()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	return cluster.Create(t)
}

// migrated returns the URL of a copy of a database that a node has opened once.
func migrated(t testing.TB) string {
	t.Helper()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	return cluster.CreatePrepared(t, func(url string) error { return mustOpen(t, Options{URL: url}).Close() })
}

// patience is how long a test waits for an expected event, and the timeout of a call in a test that is not about
// timeouts: the machine may be busy.
const patience = 10 * time.Minute

// mustOpen opens a node, and retries until patience has passed. With the short timeout of some tests, a busy server may
// not admit a node the first time, or may not have released the locks of a stopped node yet.
func mustOpen(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	for began := time.Now(); ; {
		s, err := Open(context.Background(), o)
		if err == nil {
			return s
		}
		if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, ErrInUse) || time.Since(began) > patience {
			t.Fatalf("Open: %v", err)
		}
	}
}

// tryOpen opens a node that a test expects to be refused. Its timeout is short, because a node waits that long for the
// locks of other nodes before it is refused. A busy server may need longer for a single statement. That proves nothing,
// so tryOpen retries.
func tryOpen(t testing.TB, o Options) (*Store, error) {
	t.Helper()
	o.Timeout = time.Second
	for began := time.Now(); ; {
		s, err := Open(context.Background(), o)
		if !errors.Is(err, store.ErrUnavailable) || time.Since(began) > patience {
			return s, err
		}
	}
}

// databases maps each directory of the suite to one database.
type databases struct {
	mu   sync.Mutex
	urls map[string]string
}

func (d *databases) of(t testing.TB, dir string) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.urls == nil {
		d.urls = map[string]string{}
	}
	if d.urls[dir] == "" {
		d.urls[dir] = migrated(t)
	}
	return d.urls[dir]
}

func TestStore(t *testing.T) {
	t.Parallel()
	clitest.Long(t, "TestTwoNodesPassStoreSuite runs the same suite on two nodes")
	var all databases
	storetest.Run(t, storetest.Harness{Open: func(t testing.TB, dir string) store.Store {
		return mustOpen(t, Options{URL: all.of(t, dir)})
	}})
}
