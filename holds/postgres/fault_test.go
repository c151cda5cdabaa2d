package postgres

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/node/nodetest"
	"holdfast/store/postgres/postgrestest"
)

// These tests cover failures between a node and PostgreSQL, and in PostgreSQL.

// through returns the URL of a database behind a proxy.
func through(t *testing.T, database string) (string, *nodetest.Proxy) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	proxy := nodetest.Start(t, filepath.Join(dir, ".s.PGSQL.5432"), cluster.Socket())
	q := u.Query()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return u.String(), proxy
}

// TestLostAnswerIsNotRepeated loses the response to each call that changes a hold. The call finds out that it was
// executed, and it was executed only once.
func TestLostAnswerIsNotRepeated(t *testing.T) {
	direct := database(t)
	behind, proxy := through(t, direct)
	b := open(t, behind, Options{Timeout: 2 * time.Second})
	w := watch(t, open(t, direct, Options{}))
	ctx := t.Context()
	only := func(kind holds.EventKind) {
		t.Helper()
		if e := next(t, w, 1)[0]; e.Kind != kind {
			t.Errorf("got %s, want %s", e.Kind, kind)
		}
		if err := b.Publish(ctx, holds.Event{Kind: holds.EventPresence}); err != nil {
			t.Fatal(err)
		}
		if e := next(t, w, 1)[0]; e.Kind != holds.EventPresence {
			t.Errorf("got another %s, want one %s", e.Kind, kind)
		}
	}
	known, err := b.Claim(ctx, wish("ada", amal))
	if err != nil {
		t.Fatal(err)
	}
	only(holds.EventHold)

	proxy.LoseReplyTo("specialist-bob")
	h, err := b.Claim(ctx, wish("specialist-bob", bela))
	if err != nil || h.Owner != bela {
		t.Errorf("Claim: got %+v, %v, want the claimed hold", h, err)
	}
	only(holds.EventHold)

	proxy.LoseReplyTo(known.ID)
	known, err = b.Extend(ctx, known.ID, amal, 2*time.Minute, true)
	if err != nil || known.Restarts != 1 {
		t.Errorf("Extend: got %+v, %v, want one restart", known, err)
	}
	only(holds.EventHeartbeat)

	proxy.LoseReplyTo(known.ID)
	if known, err = b.Pin(ctx, known.ID, amal, 3*time.Minute); err != nil || !known.Pinned {
		t.Errorf("Pin: got %+v, %v, want true", known, err)
	}
	proxy.LoseReplyTo(known.ID)
	if known, err = b.Unpin(ctx, known.ID, amal, time.Minute); err != nil || known.Pinned {
		t.Errorf("Unpin: got %+v, %v, want false", known, err)
	}

	proxy.LoseReplyTo(known.ID)
	if ok, err := b.Release(ctx, known.ID, amal, holds.ReasonReleased); !ok || err != nil {
		t.Errorf("Release: got %v, %v, want true", ok, err)
	}
	only(holds.EventRelease)
	proxy.LoseReplyTo(known.ID)
	if ok, err := b.Release(ctx, known.ID, amal, holds.ReasonReleased); ok || err != nil {
		t.Errorf("Release of an ended hold: got %v, %v, want false", ok, err)
	}
	proxy.LoseReplyTo(h.ID)
	if ok, err := b.Confirm(ctx, h.ID, bela); !ok || err != nil {
		t.Errorf("Confirm: got %v, %v, want true", ok, err)
	}
	only(holds.EventConfirm)
	if n := proxy.Lost(); n != 7 {
		t.Errorf("%d answers were lost, want 7: the test proves nothing", n)
	}
}

func TestRefusedConnectionIsUnavailable(t *testing.T) {
	behind, proxy := through(t, database(t))
	b := open(t, behind, Options{Timeout: time.Second})
	ctx := t.Context()
	h, err := b.Claim(ctx, wish("ada", amal))
	if err != nil {
		t.Fatal(err)
	}
	proxy.LoseRequest("specialist-bob")
	if _, err := b.Claim(ctx, wish("specialist-bob", bela)); !errors.Is(err, holds.ErrUnavailable) {
		t.Errorf("Claim: got %v, want ErrUnavailable", err)
	}
	proxy.LoseRequest(h.ID)
	if _, err := b.Extend(ctx, h.ID, amal, time.Hour, false); !errors.Is(err, holds.ErrUnavailable) {
		t.Errorf("Extend: got %v, want ErrUnavailable", err)
	}
	proxy.LoseRequest(h.ID)
	if _, err := b.Release(ctx, h.ID, amal, holds.ReasonReleased); !errors.Is(err, holds.ErrUnavailable) {
		t.Errorf("Release: got %v, want ErrUnavailable", err)
	}
	if list, err := b.List(ctx); err != nil || len(list) != 1 || list[0] != h {
		t.Errorf("got %+v, %v, want the hold unchanged", list, err)
	}
	if n := proxy.Lost(); n != 3 {
		t.Errorf("%d requests were lost, want 3: the test proves nothing", n)
	}
}

// TestCutConnectionEndsEpoch: the node cannot know which events it missed, so every watcher starts over. The holds
// still exist.
func TestCutConnectionEndsEpoch(t *testing.T) {
	behind, proxy := through(t, database(t))
	b := open(t, behind, Options{})
	w, before := watch(t, b), b.Epoch()
	h, err := b.Claim(t.Context(), wish("ada", amal))
	if err != nil {
		t.Fatal(err)
	}
	next(t, w, 1)
	proxy.Cut()
	cut(t, w)
	watch(t, b)
	if after := b.Epoch(); after == before {
		t.Errorf("got the same epoch %s, want a new one", after)
	}
	if list, err := b.List(t.Context()); err != nil || len(list) != 1 || list[0] != h {
		t.Errorf("got %+v, %v, want the hold, read on a new connection", list, err)
	}
}

// cut waits until a watch reports that it might have missed events.
func cut(t *testing.T, w holds.Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for {
		_, err := w.Next(ctx, nil)
		if errors.Is(err, holds.ErrSlow) {
			return
		}
		if err != nil {
			t.Fatalf("got %v, want ErrSlow: events may have been lost", err)
		}
	}
}

// TestServerCrashEmptiesTablesAndEndsWatches: the watches restart automatically.
func TestServerCrashEmptiesTablesAndEndsWatches(t *testing.T) {
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	own, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	b := open(t, own.Create(t), Options{Timeout: 3 * time.Second})
	w, before := watch(t, b), b.Epoch()
	if _, err := b.Claim(t.Context(), wish("ada", amal)); err != nil {
		t.Fatal(err)
	}
	next(t, w, 1)
	own.Crash()
	cut(t, w)
	took := nodetest.Took(func() {
		if _, err := b.Claim(t.Context(), wish("bob", bela)); !errors.Is(err, holds.ErrUnavailable) {
			t.Errorf("without a server: got %v, want ErrUnavailable", err)
		}
	})
	if took > 3*time.Second {
		t.Errorf("the answer took %v, want at most the timeout", took)
	}
	if err := own.Run(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(10 * time.Minute); b.Ping(t.Context()) != nil; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the backend does not use the restarted server")
		}
	}
	if b.Epoch() == before {
		t.Error("got the epoch from before the crash, want a new one")
	}
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v, want none: the tables are unlogged", list, err)
	}
	if _, err := b.Claim(t.Context(), wish("ada", bela)); err != nil {
		t.Errorf("a time that was held before the crash: got %v, want a hold", err)
	}
}

// TestSilentServerTimesOutSoon: neither the first call nor a later one takes longer than its timeout.
func TestSilentServerTimesOutSoon(t *testing.T) {
	const timeout = time.Second
	behind, proxy := through(t, database(t))
	b := open(t, behind, Options{Timeout: timeout, Connections: 2})
	for range 4 {
		proxy.LoseRequest("specialist-bob")
		var err error
		if took := nodetest.Took(func() {
			_, err = b.Claim(t.Context(), wish("specialist-bob", amal))
		}); !errors.Is(err, holds.ErrUnavailable) || took > timeout+300*time.Millisecond {
			t.Errorf("got %v after %v, want ErrUnavailable within %v", err, took, timeout)
		}
	}
	for began := time.Now(); ; { // a busy server may need more than one timeout
		_, err := b.Claim(t.Context(), wish("specialist-bob", amal))
		if err == nil {
			break
		}
		if !errors.Is(err, holds.ErrUnavailable) || time.Since(began) > patience {
			t.Fatalf("after it answers again: got %v", err)
		}
	}
}

// TestOutageIsOneLineInTheLog: every attempt to receive events again fails, and only the first one is
// logged.
func TestOutageIsOneLineInTheLog(t *testing.T) {
	behind, proxy := through(t, migrated(t))
	var log nodetest.Log
	open(t, behind, Options{Logger: log.Logger()})
	log.Await(t, "PostgreSQL event subscription started", 1)
	for outages := 1; outages <= 2; outages++ {
		proxy.Away(true)
		log.Await(t, "PostgreSQL event subscription interrupted", outages)
		attempts := time.NewTimer(5 * earRetry)
		<-attempts.C
		proxy.Away(false)
		log.Await(t, "PostgreSQL event subscription started", outages+1)
		if n := log.Count("PostgreSQL event subscription interrupted"); n != outages {
			t.Errorf("after %d outages: got %d lines, want one for each", outages, n)
		}
	}
}
