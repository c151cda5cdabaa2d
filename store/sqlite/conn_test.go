package sqlite

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	lib "modernc.org/sqlite/lib"

	"holdfast/store"
)

// TestConnBoundsPreparedStatements runs more different queries than a connection keeps prepared. It runs all of them
// twice, so that some run again after they were evicted.
func TestConnBoundsPreparedStatements(t *testing.T) {
	b := newTestStore(t, Options{Readers: 1})
	defer mustClose(t, b.Store)
	for range 2 {
		for n := range maxPrepared + 40 {
			got, err := one(t.Context(), b.reads, (*row).Int, fmt.Sprintf("SELECT %d + ?", n), 1)
			if err != nil || got != n+1 {
				t.Fatalf("question %d: got %d, %v", n, got, err)
			}
		}
	}
	c, err := b.reads.pool.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.reads.pool.give(c)
	if len(c.prepared) != maxPrepared {
		t.Errorf("the connection caches %d statements, want %d", len(c.prepared), maxPrepared)
	}
	if last := fmt.Sprintf("SELECT %d + ?", maxPrepared+39); c.prepared[last] == nil {
		t.Errorf("the most recent statement is not in the cache")
	}
}

// TestSessionsPreparesOneStatement checks that the SQL text does not depend on the number of statuses.
func TestSessionsPreparesOneStatement(t *testing.T) {
	b := newTestStore(t, Options{Readers: 1})
	defer mustClose(t, b.Store)
	ask := func(statuses ...store.SessionStatus) {
		t.Helper()
		if _, err := b.Sessions(t.Context(), store.SessionFilter{Statuses: statuses}); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() int {
		c, err := b.reads.pool.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer b.reads.pool.give(c)
		return len(c.prepared)
	}
	ask(store.SessionActive)
	before := kept()
	ask(store.SessionActive, store.SessionEnded)
	ask(store.SessionActive, store.SessionEnded, store.SessionExpired)
	if after := kept(); after != before {
		t.Errorf("%d more statements for longer lists, want none", after-before)
	}
}

// TestLimitReusesCompiledStatement runs the same query repeatedly. SQLite uses the value of a bare `LIMIT ?` for its
// plan, and recompiles the statement for every value. That was four fifths of the cost of a list.
func TestLimitReusesCompiledStatement(t *testing.T) {
	b := newTestStore(t, Options{Readers: 1})
	defer mustClose(t, b.Store)
	for range 3 {
		if _, err := b.Sessions(t.Context(), store.SessionFilter{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Appointments(t.Context(), store.AppointmentFilter{}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := b.reads.pool.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.reads.pool.give(c)
	// The driver exports neither its statement handles nor its thread state, so the test reads them by reflection.
	status := reflect.ValueOf(lib.Xsqlite3_stmt_status)
	thread := reflect.ValueOf(c.driver).Elem().FieldByName("tls")
	thread = reflect.NewAt(thread.Type(), thread.Addr().UnsafePointer()).Elem()
	asked := 0
	for text, s := range c.prepared {
		if !strings.Contains(text, "LIMIT") {
			continue
		}
		asked++
		handle := uintptr(reflect.ValueOf(s.Stmt).Elem().FieldByName("pstmt").Uint())
		n := status.Call([]reflect.Value{thread, reflect.ValueOf(handle), reflect.ValueOf(int32(lib.SQLITE_STMTSTATUS_REPREPARE)), reflect.ValueOf(int32(0))})[0].Int()
		if n != 0 {
			t.Errorf("compiled %d times more: %s", n, text)
		}
	}
	if asked != 2 {
		t.Errorf("got %d statements with a limit, want the two that ran", asked)
	}
}
