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

	"holdfast/store"
	"holdfast/store/postgres/postgrestest"
	"holdfast/store/storetest"
)

// server is the cluster of all tests here; nil, and absent says why, where there is no PostgreSQL.
var (
	cluster *postgrestest.Server
	absent  error
)

// TestMain lets more tests wait beside each other than there are processors: waiting is most of what those do that are parallel.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
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

// database is the URL of a new, empty database.
func database(t testing.TB) string {
	t.Helper()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	return cluster.Create(t)
}

// migrated is the URL of a new database that has been opened once.
func migrated(t testing.TB) string {
	t.Helper()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	return cluster.CreatePrepared(t, func(url string) error { return mustOpen(t, Options{URL: url}).Close() })
}

// patience is how long a test waits for what has to come, and a call of a test that is not about its timeout: the machine may be busy.
const patience = time.Minute

// mustOpen opens a node. One whose timeout is short for the sake of a test may not be let in at once.
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
		if !errors.Is(err, store.ErrUnavailable) || time.Since(began) > patience {
			t.Fatalf("Open: %v", err)
		}
	}
}

// databases gives every directory of the suite one database.
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
	var all databases
	storetest.Run(t, storetest.Harness{Open: func(t testing.TB, dir string) store.Store {
		return mustOpen(t, Options{URL: all.of(t, dir)})
	}})
}
