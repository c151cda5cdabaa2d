package postgres

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/postgres/postgrestest"
	"holdfast/store/storetest"
)

// These tests check the nodes when a standby takes over.

// withStandby starts a server and its standby. either is the URL of a database on the one that accepts writes.
func withStandby(t *testing.T, sync bool) (primary, standby *postgrestest.Server, either string) {
	t.Helper()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	primary, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(primary.Stop)
	name, err := url.Parse(primary.Create(t))
	if err != nil {
		t.Fatal(err)
	}
	if standby, err = primary.Standby(sync); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.Stop)
	return primary, standby, primary.Either(standby, strings.TrimPrefix(name.Path, "/"))
}

// opened opens a node that is closed before the servers of the test stop.
func opened(t *testing.T, o Options) *Store {
	t.Helper()
	s := mustOpen(t, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestFailoverKeepsAcknowledged kills the server while two nodes book, and promotes a synchronous standby. Acknowledged
// appointments must exist once, refused ones must not exist, and the nodes must recover without intervention.
func TestFailoverKeepsAcknowledged(t *testing.T) {
	t.Parallel()
	primary, standby, either := withStandby(t, true)
	all := []*Store{opened(t, Options{URL: either, Timeout: 2 * time.Second}), opened(t, Options{URL: either, Timeout: 2 * time.Second})}
	mustWrite(t, all[0], clinic)
	c := call(t, all)
	more := func(what string) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for before, began := c.known(), time.Now(); c.known() < before+50; <-tick.C {
			if time.Since(began) > patience {
				t.Fatalf("%s nothing is booked", what)
			}
		}
	}
	more("before the failover")
	primary.Crash()
	died := time.Now()
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	promoted := time.Now()
	more("after the failover")
	t.Logf("the standby took %v to be promoted, and 50 more were booked %v after that", promoted.Sub(died), time.Since(promoted))
	c.end(t)
}

// TestCommitWaitsForStandby commits on a server that waits for its standby. After its timeout, the node looks up the
// outcome. The booking is committed on that server but not on the standby, so the outcome stays unknown.
func TestCommitWaitsForStandby(t *testing.T) {
	t.Parallel()
	_, standby, either := withStandby(t, true)
	s := opened(t, Options{URL: either, Timeout: 1500 * time.Millisecond})
	mustWrite(t, s, clinic)
	standby.Crash()
	a := booking("s0", 0, 30)
	if err := insert(s, a); !errors.Is(err, store.ErrUnavailable) || !isUnknown(err) {
		t.Errorf("without the synchronous standby: got %v, want an unknown outcome", err)
	}
	if err := standby.Run(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n, began := 1, time.Now(); insert(s, booking("s1", n*30, n*30+30)) != nil; n++ {
		if <-tick.C; time.Since(began) > patience {
			t.Fatal("bookings fail although the standby is back")
		}
	}
	if !has(t, s, a.ID) {
		t.Error("the committed booking is missing")
	}
	storetest.Verify(t, s)
}

// TestRepeatedRequestWaitsForStandby: a commit that has not reached the standby is not acknowledged when the client
// repeats its request at another node either.
func TestRepeatedRequestWaitsForStandby(t *testing.T) {
	t.Parallel()
	_, standby, either := withStandby(t, true)
	s := opened(t, Options{URL: either, Timeout: 1500 * time.Millisecond})
	other := opened(t, Options{URL: either, Timeout: 1500 * time.Millisecond})
	mustWrite(t, s, clinic)
	standby.Crash()
	err := s.Write(t.Context(), func(tx store.Tx) error {
		return tx.Remember(t.Context(), store.IdempotencyRecord{Scope: "s", Key: "k", Status: 201,
			CreatedAt: time.Now().UTC()})
	})
	if !errors.Is(err, store.ErrUnavailable) || !isUnknown(err) {
		t.Fatalf("without the synchronous standby: got %v, want an unknown outcome", err)
	}
	if found, err := other.Recall(t.Context(), "s", "k", time.Time{}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("repeated without the standby: got %+v, %v; want ErrUnavailable", found, err)
	}
	again := func() error {
		return other.Write(t.Context(), func(tx store.Tx) error {
			_, err := tx.Recall(t.Context(), "s", "k", time.Time{})
			return err
		})
	}
	if err := again(); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write that finds the commit without the standby: got %v, want ErrUnavailable", err)
	}
	if _, err := other.Recall(t.Context(), "s", "unknown", time.Time{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another request without the standby: got %v, want ErrNotFound", err)
	}
	if err := standby.Run(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		found, err := other.Recall(t.Context(), "s", "k", time.Time{})
		if err == nil && found.Status == 201 {
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("repeated with the standby: got %+v, %v", found, err)
		}
	}
	if err := again(); err != nil {
		t.Errorf("a write that finds the commit with the standby: got %v", err)
	}
	storetest.Verify(t, other)
}

// TestPromotedStandbyIsNotAskedForOutcome loses a commit with its server. The promoted standby has given the number of
// that transaction to a different one, so the node must not use its status.
func TestPromotedStandbyIsNotAskedForOutcome(t *testing.T) {
	t.Parallel()
	primary, standby, either := withStandby(t, true)
	s := opened(t, Options{URL: either, Timeout: 4 * time.Second})
	mustWrite(t, s, clinic)
	standby.Crash()
	a := booking("s0", 0, 30)
	answered := make(chan error, 1)
	go func() { answered <- insert(s, a) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	waits := func() bool {
		n, err := primary.SQL("postgres", `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
		return err == nil && n != "0"
	}
	for began := time.Now(); !waits(); <-tick.C {
		if time.Since(began) > patience {
			t.Fatal("the commit did not wait for the standby")
		}
	}
	primary.Crash()
	if err := standby.Run(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	if _, err := standby.SQL("postgres", `DO $$ BEGIN FOR i IN 1..50 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`); err != nil {
		t.Fatal(err)
	}
	err := <-answered
	there := has(t, s, a.ID)
	if err == nil && !there || err != nil && !isUnknown(err) {
		t.Errorf("got %v for an appointment that is in the database: %v; want an unknown outcome", err, there)
	}
	if err := insert(s, booking("s1", 0, 30)); err != nil {
		t.Errorf("a booking at the promoted standby: got %v", err)
	}
	storetest.Verify(t, s)
}

// TestNodeAheadOfPromotedStandbyMustRestart loses a change, because commits do not wait for the standby. A node that
// has the change in memory must not continue.
func TestNodeAheadOfPromotedStandbyMustRestart(t *testing.T) {
	t.Parallel()
	primary, standby, either := withStandby(t, false)
	fatal := make(chan error, 1)
	s := opened(t, Options{URL: either, Timeout: 2 * time.Second, OnFatal: func(err error) { fatal <- err }})
	mustWrite(t, s, clinic)
	if err := insert(s, booking("s0", 0, 30)); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		if has, err := primary.SQL("postgres", `SELECT flush_lsn >= pg_current_wal_lsn() FROM pg_stat_replication`); err == nil && has == "t" {
			break
		}
		if time.Since(began) > patience {
			t.Fatal("the standby does not catch up")
		}
	}
	standby.Crash()
	lost := booking("s0", 30, 60)
	if err := insert(s, lost); err != nil {
		t.Fatal(err)
	}
	primary.Crash()
	if err := standby.Run(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-fatal:
		if !errors.Is(err, errRewound) {
			t.Errorf("got %v, want %v", err, errRewound)
		}
	case <-time.After(patience):
		t.Error("the node keeps changes that the standby lost")
	}
	if err := insert(s, booking("s0", 60, 90)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a booking at the node that must restart: got %v, want ErrUnavailable", err)
	}
	again := opened(t, Options{URL: either, Timeout: patience})
	if err := insert(again, booking("s0", 30, 60)); err != nil || has(t, again, lost.ID) {
		t.Errorf("at the restarted node: got %v, want the lost booking's time free", err)
	}
}

// TestSilentHostLeavesTimeForNext connects to two hosts. The first one does not respond, like a machine that was turned
// off.
func TestSilentHostLeavesTimeForNext(t *testing.T) {
	t.Parallel()
	direct, err := url.Parse(database(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	silent, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432")) // no program accepts its connections
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	q := direct.Query()
	q.Set("host", dir+","+q.Get("host"))
	q.Set("target_session_attrs", "read-write")
	direct.RawQuery = q.Encode()
	s := opened(t, Options{URL: direct.String(), Timeout: 4 * time.Second})
	mustWrite(t, s, clinic)
	if err := insert(s, booking("s0", 0, 30)); err != nil {
		t.Error(err)
	}
	storetest.Verify(t, s)
}
