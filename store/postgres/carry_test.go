package postgres

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/table"
)

// TestEveryTableIsCarried checks that store.Carried lists every table. Otherwise a clinic that moves would lose a table
// that a migration added.
func TestEveryTableIsCarried(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := mustOpen(t, Options{URL: url})
	defer s.Close()
	have, err := list(t.Context(), s.reads, (*row).Text, `SELECT relname::text FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname COLLATE "C"`)
	if err != nil {
		t.Fatal(err)
	}
	// The versions of the schema, the log of changes and the queue belong to this backend. The taken time of resources
	// and the index of people are computed from the appointments.
	want := []string{"schema_versions", "changes", "operations", "operation_activity", "operation_counts", "operation_removals", "pacers"}
	want = append(append(want, "appointment_resources"), table.Derived...)
	for _, carried := range store.Carried {
		want = append(want, carried.Name)
	}
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the tables are %v, and the copied tables are %v", have, want)
	}
}

// TestFailedConnectionHasAdvice: an error of the first connection says what the operator must check, and contains no
// password.
func TestFailedConnectionHasAdvice(t *testing.T) {
	t.Parallel()
	there, err := url.Parse(database(t))
	if err != nil {
		t.Fatal(err)
	}
	at := func(change func(u *url.URL)) string {
		u := *there
		change(&u)
		return u.String()
	}
	for name, at := range map[string]string{
		"no server":   "postgres://jo:secret-word@127.0.0.1:1/none",
		"no database": at(func(u *url.URL) { u.Path = "/none" }),
		"no role":     at(func(u *url.URL) { u.User = url.UserPassword("no_such_user", "secret-word") }),
	} {
		_, err := Open(t.Context(), Options{URL: at})
		if err == nil {
			t.Errorf("%s: got no error", name)
			continue
		}
		if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "secret-word") ||
			!strings.Contains(err.Error(), "Check that PostgreSQL is running") {
			t.Errorf("%s: got %v, want what to check", name, err)
		}
	}
}

// TestOpenRefusesMovedDatabase checks that the error names the clinic's new database. After the row in meta is removed,
// the old database opens again.
func TestOpenRefusesMovedDatabase(t *testing.T) {
	t.Parallel()
	url := database(t)
	if err := mustOpen(t, Options{URL: url}).Close(); err != nil {
		t.Fatal(err)
	}
	c, err := OpenCarrier(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := tryOpen(t, Options{URL: url}); !errors.Is(err, ErrInUse) {
		t.Errorf("during the move: got %v, want ErrInUse", err)
		if err == nil {
			s.Close()
		}
	}
	if err := errors.Join(c.MarkMoved(t.Context(), "sqlite:/there"), c.Close()); err != nil {
		t.Fatal(err)
	}
	var moved *MovedError
	if s, err := Open(t.Context(), Options{URL: url}); !errors.As(err, &moved) || moved.To != "sqlite:/there" {
		t.Errorf("got %v, want an error that it was moved to sqlite:/there", err)
		if err == nil {
			s.Close()
		}
	}
}

// TestQueueReportsEmptyStart checks when Rebuilt reports true. The server then looks up the outcome of an attempted
// operation of the outbox before it repeats the operation.
func TestQueueReportsEmptyStart(t *testing.T) {
	t.Parallel()
	url := database(t)
	first := mustOpenQueue(t, QueueOptions{URL: url})
	now := time.Now()
	if err := first.Add(t.Context(), store.Operation{ID: "op-1", Kind: "email", Status: store.OperationPending, MaxAttempts: 3, CreatedAt: now, NextAttemptAt: now}); err != nil {
		t.Fatal(err)
	}
	next := mustOpenQueue(t, QueueOptions{URL: url})
	if !first.Rebuilt() || next.Rebuilt() {
		t.Errorf("got %v at the first start and %v at the second, want true and false", first.Rebuilt(), next.Rebuilt())
	}
}

// TestOpenRefusesUnfinishedTarget checks that no server opens the target of a move as a new clinic if the move was
// killed after it created the schema and before it wrote anything. The next move resumes in that database.
func TestOpenRefusesUnfinishedTarget(t *testing.T) {
	t.Parallel()
	source, url := database(t), database(t)
	if err := mustOpen(t, Options{URL: source}).Close(); err != nil {
		t.Fatal(err)
	}
	killed, err := OpenTarget(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), Options{URL: url}); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "run holdfast migrate again") {
		t.Errorf("serving it: got %v, want an error that the move was interrupted", err)
		if err == nil {
			s.Close()
		}
	}
	from, err := OpenCarrier(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := OpenTarget(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Carry(t.Context(), from, to, func(string, int, int) {}); err != nil {
		t.Errorf("the second move: %v", err)
	}
	if err := errors.Join(from.Close(), to.Close()); err != nil {
		t.Fatal(err)
	}
	if err := mustOpen(t, Options{URL: url}).Close(); err != nil {
		t.Error(err)
	}
}
