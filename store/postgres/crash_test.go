package postgres

import (
	"errors"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/postgres/postgrestest"
)

// TestServerCrashKeepsAcknowledged crashes and restarts PostgreSQL while two nodes book. Each acknowledged appointment
// must exist once, and an appointment for which nothing was written must not exist. The nodes must recover without
// intervention.
func TestServerCrashKeepsAcknowledged(t *testing.T) {
	t.Parallel()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	server, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	all := nodes(t, 2, Options{URL: server.Create(t), Timeout: 2 * time.Second})
	c := call(t, all)
	for crash := range 3 {
		for before, began := c.known(), time.Now(); c.known() < before+50; {
			if time.Since(began) > patience {
				t.Fatalf("crash %d: bookings no longer succeed", crash)
			}
			if err := all[0].Ping(t.Context()); err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("Ping: %v", err)
			}
		}
		server.Crash()
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
	}
	for before, began := c.known(), time.Now(); c.known() < before+50 && time.Since(began) < patience; {
		_ = all[1].Ping(t.Context())
	}
	c.end(t) // before the server stops
}

// TestCrashReusesTransactionNumbers checks that after a crash, PostgreSQL gives the number of an unwritten transaction
// to another one. The status of that number then says nothing about the first transaction.
func TestCrashReusesTransactionNumbers(t *testing.T) {
	t.Parallel()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	server, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	s := mustOpen(t, Options{URL: server.Create(t), Timeout: 5 * time.Second})
	defer s.Close()
	c, err := s.server.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	before := timelineOf(t.Context(), c)
	if err := c.script(t.Context(), `BEGIN`); err != nil {
		t.Fatal(err)
	}
	xid, err := oneOn(t.Context(), c, (*row).Text, `SELECT pg_current_xact_id()::text`)
	if err != nil {
		t.Fatal(err)
	}
	server.Crash()
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.SQL("postgres", `DO $$ BEGIN FOR i IN 1..50 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`); err != nil {
		t.Fatal(err)
	}
	if err := s.server.resolve(xid, before, s.log, errors.New("the answer was lost")); err == nil || !isUnknown(err) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
}
