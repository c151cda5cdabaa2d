package bolt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/store"
	"holdfast/store/bolt"
	"holdfast/store/storetest"
)

// TestMain lets the test binary run as a child process of bolt.Check and of the tests.
func TestMain(m *testing.M) {
	bolt.CheckMain()
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case "enqueue-until-killed":
			enqueueUntilKilled(os.Args[2])
		case "fill-the-disk":
			fillTheDisk(os.Args[2])
		}
	}
	if disk := os.Getenv("DISK_TMPDIR"); disk != "" {
		// These tests need files on a real disk. For other packages, make test puts the files into memory.
		_, _ = os.Setenv("TMPDIR", disk), os.Setenv("GOTMPDIR", disk)
	}
	os.Exit(m.Run())
}

func TestQueue(t *testing.T) {
	t.Parallel()
	storetest.RunQueue(t, func(t testing.TB, dir string) store.Queue {
		return bolt.WithoutSync(open(t, bolt.Options{Path: filepath.Join(dir, "queue.bolt")}))
	})
}

// open opens a queue. When the test ends, it checks the queue's file with Verify.
func open(t testing.TB, o bolt.Options) *bolt.Queue {
	t.Helper()
	q, err := bolt.Open(context.Background(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := bolt.Verify(o.Path); err != nil {
			t.Errorf("Open left a file: %v", err)
		}
	})
	return q
}

func add(t testing.TB, q store.Queue, ops ...store.Operation) {
	t.Helper()
	if err := q.Add(context.Background(), ops...); err != nil {
		t.Fatalf("Add: %v", err)
	}
}

func webhook(id string, due time.Time) store.Operation {
	return store.Operation{ID: id, Kind: store.Webhook, Status: store.OperationPending, NextAttemptAt: due,
		Payload: []byte(`{"event":"appointment.created"}`)}
}

var nine = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

func TestFileIsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	mode := func(want os.FileMode) {
		t.Helper()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Fatalf("mode: got %v and %v, want %v", info.Mode(), err, want)
		}
	}
	if err := open(t, bolt.Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	mode(0o600)
	if err := os.Chmod(path, 0o644); err != nil { // for example, after a person restored a backup by hand
		t.Fatal(err)
	}
	open(t, bolt.Options{Path: path})
	mode(0o600)
}

func TestOpenNamesLockHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	open(t, bolt.Options{Path: path})
	for name, check := range map[string]func(context.Context, string) error{"unchecked": nil, "checked": bolt.Check} {
		t.Run(name, func(t *testing.T) {
			_, err := bolt.Open(t.Context(), bolt.Options{Path: path, Timeout: 100 * time.Millisecond, Check: check})
			if !errors.Is(err, bolt.ErrInUse) || !strings.Contains(err.Error(), path) {
				t.Errorf("a second Open: got %v, want ErrInUse and the path", err)
			}
		})
	}
}

func TestOpenRefusesUnrepairableFile(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.bolt")
	db, err := bbolt.Open(newer, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("meta"))
		return errors.Join(err, b.Put([]byte("format"), []byte("2")))
	}), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		want       error // nil means any error that is not about damage
	}{
		{"a newer format", newer, bolt.ErrFormat},
		{"a directory", dir, nil},
		{"a directory that does not exist", filepath.Join(dir, "none", "queue.bolt"), os.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := bolt.Open(t.Context(), bolt.Options{Path: c.path, Check: bolt.Check})
			if err == nil || errors.Is(err, bolt.ErrDamaged) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.damaged-*")); len(left) > 0 {
		t.Errorf("moved aside: %q, want no file", left)
	}
}

// TestRebuiltUntilFirstAdd: a process that creates the file can end before it adds the operations in the outbox. So the
// queue counts as rebuilt until the first Add, even one without operations.
func TestRebuiltUntilFirstAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	for _, c := range []struct{ want, add bool }{{true, false}, {true, true}, {false, false}, {false, true}} {
		q := open(t, bolt.Options{Path: path, Check: bolt.Check})
		if got := q.Rebuilt(); got != c.want || q.Quarantined() != "" {
			t.Errorf("Rebuilt: got %v and %q, want %v", got, q.Quarantined(), c.want)
		}
		if c.add {
			if err := q.Add(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// as after a crash between the creation of the file and the write of its first page
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if q := open(t, bolt.Options{Path: path, Check: bolt.Check}); !q.Rebuilt() || q.Quarantined() != "" {
		t.Errorf("an empty file: got %v and %q, want a new queue", q.Rebuilt(), q.Quarantined())
	}
}

// TestQueueRunsInBubble checks that the whole queue, including its file, runs in virtual time: an hour of retries takes
// no real time.
func TestQueueRunsInBubble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	synctest.Test(t, func(t *testing.T) {
		q := open(t, bolt.Options{Path: path})
		begun := time.Now()
		add(t, q, webhook("op-1", begun.Add(20*time.Second)))
		for attempt := 1; attempt <= 10; attempt++ {
			due, err := q.NextDue(t.Context())
			if err != nil {
				t.Fatalf("NextDue: %v", err)
			}
			time.Sleep(time.Until(due))
			op, err := q.Take(t.Context(), time.Now())
			if err != nil || op.Attempts != attempt {
				t.Fatalf("Take: got attempt %d and %v, want %d", op.Attempts, err, attempt)
			}
			op.Status, op.NextAttemptAt = store.OperationPending, time.Now().Add(store.Backoff(10*time.Second, attempt))
			if err := q.Change(t.Context(), op, "retried", ""); err != nil {
				t.Fatalf("Change: %v", err)
			}
		}
		if got, want := time.Since(begun), (20+20+40+80+160+5*300)*time.Second; got != want {
			t.Errorf("the operation ended %v after ten attempts, want %v", got, want)
		}
		list, err := q.Activity(t.Context(), "op-1")
		if err != nil || len(list) != 21 || !list[20].At.Equal(time.Now()) {
			t.Errorf("activity: got %d lines, the last %v, and %v, want 21 and %v", len(list), list[len(list)-1].At,
				err, time.Now())
		}
	})
}

// TestOlderFileIsCountedByKind checks that Open creates the counts by kind in a file of an older program, which did not
// have them.
func TestOlderFileIsCountedByKind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	q := open(t, bolt.Options{Path: path})
	add(t, q, webhook("op-1", nine))
	add(t, q, webhook("op-2", nine))
	if err := errors.Join(bolt.ForgetKinds(q), q.Close()); err != nil {
		t.Fatal(err)
	}
	q = open(t, bolt.Options{Path: path, Check: bolt.Check})
	if n, err := q.Counts(t.Context(), store.Webhook); n.Pending != 2 || err != nil {
		t.Errorf("got %+v, %v; want two webhooks", n, err)
	}
}
