package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"holdfast/store"
	"holdfast/store/postgres/postgrestest"
	"holdfast/store/storetest"
)

// server is the cluster of all tests here; nil, and absent says why, where there is no PostgreSQL.
var (
	cluster *postgrestest.Server
	absent  error
)

func TestMain(m *testing.M) {
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

func mustOpen(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
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
		d.urls[dir] = database(t)
	}
	return d.urls[dir]
}

func TestStore(t *testing.T) {
	var all databases
	storetest.Run(t, storetest.Harness{Open: func(t testing.TB, dir string) store.Store {
		return mustOpen(t, Options{URL: all.of(t, dir)})
	}})
}
