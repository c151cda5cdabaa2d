package cli

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/bolt"
	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

// queuedOperations returns one operation in each state, as after a server that was killed during an attempt.
func queuedOperations() (unfinished []store.Operation, completed store.Operation) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	op := func(id string, kind store.OperationKind, status store.OperationStatus) store.Operation {
		return store.Operation{
			ID: id, Kind: kind, AppointmentID: "a1", Status: status, MaxAttempts: 10, CreatedAt: at, NextAttemptAt: at,
			Payload: json.RawMessage(`{"step":"patient"}`),
		}
	}
	waiting := op("op-1-aaaaaa", store.UpstreamBook, store.OperationPending)
	waiting.LastError = "not sent: the connection was refused"
	running := op("op-2-aaaaaa", store.UpstreamBook, store.OperationProcessing)
	running.Attempts, running.AttemptedAt = 3, at.Add(time.Minute)
	failed := op("op-3-aaaaaa", store.SMS, store.OperationFailed)
	failed.NeedsReview, failed.Attempts, failed.FinishedAt, failed.Unknown = true, 1, at.Add(time.Minute), true
	completed = op("op-4-aaaaaa", store.Email, store.OperationCompleted)
	return []store.Operation{waiting, running, failed}, completed
}

// TestMoveKeepsQueue moves a clinic to PostgreSQL and back. The queue still contains the attempts of all unfinished
// operations, so the next server can tell a write that was never sent from one with an unknown outcome.
func TestMoveKeepsQueue(t *testing.T) {
	t.Parallel()
	url, dir := postgresURL(t), movableDir(t)
	want, completed := queuedOperations()
	queue(t, dir, func(q *bolt.Queue, mark bolt.Marker) {
		if err := q.Add(t.Context(), append([]store.Operation{completed}, want...)...); err != nil {
			t.Fatal(err)
		}
		if err := q.SetMarker(t.Context(), mark); err != nil {
			t.Fatal(err)
		}
	})
	contains(t, "growing", must(t, "migrate", "--data", dir, "--to", url), "queue                3")
	check := func(where string, q store.Queue, rebuilt bool) {
		t.Helper()
		got, err := unfinished(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got { // a queue can store the payload with other spaces
			got[i].Payload = json.RawMessage(strings.ReplaceAll(string(got[i].Payload), " ", ""))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", where, got, want)
		}
		if rebuilt {
			t.Errorf("%s: the queue counts as lost", where)
		}
	}
	shared, err := postgres.OpenQueue(t.Context(), postgres.QueueOptions{URL: url, Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	check("in PostgreSQL", shared, shared.Rebuilt())
	if err := shared.Close(); err != nil {
		t.Fatal(err)
	}
	must(t, "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+dir)
	queue(t, dir, func(q *bolt.Queue, _ bolt.Marker) { check("in SQLite", q, q.Rebuilt()) })
}

// TestMoveCopiesAttemptedFirst: a long queue of reminders that were never attempted does not move, because the next
// server adds them from the outbox. Operations with attempts always move.
func TestMoveCopiesAttemptedFirst(t *testing.T) {
	t.Parallel()
	tried, _ := queuedOperations()
	ops := slices.Repeat([]store.Operation{{Kind: store.Email, Status: store.OperationPending}}, 2*fewest)
	got := toMove(append(ops, tried[1:]...))
	if len(got) != fewest || !reflect.DeepEqual(got[:2], tried[1:]) {
		t.Errorf("got %d operations, first %+v; want %d, with the attempted first", len(got), got[:2], fewest)
	}
	if got := toMove(slices.Repeat(tried[1:2], 2*fewest)); len(got) != 2*fewest {
		t.Errorf("got %d attempted operations, want all %d", len(got), 2*fewest)
	}
}

// TestMoveLeavesUncertainQueue: attempts are not moved if they may be out of date. The next server then finds an empty
// queue, and treats every outcome as unknown.
func TestMoveLeavesUncertainQueue(t *testing.T) {
	t.Parallel()
	ops, _ := queuedOperations()
	for name, change := range map[string]func(t *testing.T, url, dir string, m *bolt.Marker){
		"database older than the queue": func(_ *testing.T, _, _ string, m *bolt.Marker) { m.Change++ },
		"queue of another database":     func(_ *testing.T, _, _ string, m *bolt.Marker) { m.DatabaseID = "another" },
		"copied by an interrupted move": func(t *testing.T, url, dir string, _ *bolt.Marker) {
			kept := filepath.Join(t.TempDir(), "kept.db")
			duplicate(t, filepath.Join(dir, databaseFile), kept)
			must(t, "migrate", "--data", dir, "--to", url)
			q, err := postgres.OpenQueue(t.Context(), postgres.QueueOptions{URL: url, Alone: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Add(t.Context(), ops[0]); err != nil {
				t.Fatal(err)
			}
			if err := q.Close(); err != nil {
				t.Fatal(err)
			}
			duplicate(t, kept, filepath.Join(dir, databaseFile))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, dir := postgresURL(t), movableDir(t)
			mark := marked(t, dir)
			change(t, url, dir, &mark)
			queue(t, dir, func(q *bolt.Queue, _ bolt.Marker) {
				if err := q.Add(t.Context(), ops...); err != nil {
					t.Fatal(err)
				}
				if err := q.SetMarker(t.Context(), mark); err != nil {
					t.Fatal(err)
				}
			})
			must(t, "migrate", "--data", dir, "--to", url)
			q, err := postgres.OpenQueue(t.Context(), postgres.QueueOptions{URL: url, Alone: true})
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			if got, err := unfinished(t.Context(), q); err != nil || len(got) > 0 || !q.Rebuilt() {
				t.Errorf("got %d operations, rebuilt %t, %v; want an empty queue", len(got), q.Rebuilt(), err)
			}
		})
	}
}

// marked returns the marker of the database in a directory.
func marked(t *testing.T, dir string) (mark bolt.Marker) {
	t.Helper()
	c, err := sqlite.OpenCarrier(t.Context(), filepath.Join(dir, databaseFile), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if mark.DatabaseID, err = c.ID(t.Context()); err != nil {
		t.Fatal(err)
	}
	if mark.Change, err = c.LastChange(t.Context()); err != nil {
		t.Fatal(err)
	}
	return mark
}

// queue passes the open queue of a directory to use, with the marker of its database.
func queue(t *testing.T, dir string, use func(q *bolt.Queue, mark bolt.Marker)) {
	t.Helper()
	mark := marked(t, dir)
	q, err := bolt.Open(t.Context(), bolt.Options{Path: filepath.Join(dir, queueFile)})
	if err != nil {
		t.Fatal(err)
	}
	use(q, mark)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}
