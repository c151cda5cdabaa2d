package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/store"
)

// TestEraseClearsFile checks that after Erase, the bytes of the file contain no erased, deleted or replaced data.
func TestEraseClearsFile(t *testing.T) {
	q := WithoutSync(queueIn(t, Options{}))
	found := func(canary string) int {
		t.Helper()
		b, err := os.ReadFile(q.db.Path())
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(b, []byte(canary))
	}
	for i := range 200 {
		op := email(fmt.Sprintf("op-%03d", i))
		op.Payload = fmt.Appendf(nil, `{"childName":"canary %d.","padding":%q}`, i%4, bytes.Repeat([]byte("x"), i*20))
		if err := q.Add(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	// Take operations and put them back, so that old copies remain in the file.
	for range 100 {
		op, err := q.Take(t.Context(), time.Unix(1_900_000_000, 0))
		if err != nil {
			t.Fatal(err)
		}
		op.Status = store.OperationPending
		if err := q.Change(t.Context(), op, "retried", ""); err != nil {
			t.Fatal(err)
		}
	}
	if found("canary 0.") < 50 || found("canary 3.") < 50 {
		t.Fatalf("got %d and %d canaries before, want at least 50 each", found("canary 0."), found("canary 3."))
	}
	var erased []string
	for i := range 200 {
		switch id := fmt.Sprintf("op-%03d", i); i % 4 {
		case 0:
			erased = append(erased, id)
		case 1:
			if err := q.Remove(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		case 2:
			op, _ := q.Operation(t.Context(), id)
			op.Status, op.FinishedAt = store.OperationCompleted, time.Unix(1_800_000_000, 0)
			if err := q.Change(t.Context(), op, "completed", ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n, err := q.Prune(t.Context(), time.Unix(1_800_000_001, 0)); n != 50 || err != nil {
		t.Fatalf("Prune: got %d and %v, want 50", n, err)
	}
	if err := q.Erase(t.Context(), erased...); err != nil {
		t.Fatalf("Erase: %v", err)
	}
	for i := range 3 {
		if n := found(fmt.Sprintf("canary %d.", i)); n != 0 {
			t.Errorf("canary %d: found %d times after it was erased, removed or pruned", i, n)
		}
	}
	if n := found("canary 3."); n != 50 {
		t.Errorf("canary of operations that remain: found %d times, want each of the 50 once", n)
	}
	if n, err := q.Counts(t.Context()); n.Pending != 100 || err != nil {
		t.Errorf("remaining: got %d pending and %v, want 100", n.Pending, err)
	}
}

// TestEraseKeepsFileSize checks that repeated erasures do not make the file grow.
func TestEraseKeepsFileSize(t *testing.T) {
	q := WithoutSync(queueIn(t, Options{}))
	pages := func() (n int64) {
		_ = q.db.View(func(tx *bbolt.Tx) error { n = tx.Size() / int64(q.db.Info().PageSize); return nil })
		return n
	}
	var before int64
	for i := range 120 {
		op := email(fmt.Sprintf("op-%03d", i%20))
		op.Payload = fmt.Appendf(nil, `%q`, bytes.Repeat([]byte("x"), 3000))
		if err := errors.Join(q.Remove(t.Context(), op.ID), q.Add(t.Context(), op),
			q.Erase(t.Context(), op.ID)); err != nil {
			t.Fatal(err)
		}
		if i == 19 {
			before = pages()
		}
	}
	if after := pages(); after > before+40 {
		t.Errorf("100 rounds changed the file from %d to %d pages", before, after)
	}
}

// TestEraseWaitsForCopies checks that Erase waits for a transaction that still reads old pages. If the transaction does
// not end in time, Erase returns an error, and the payload is empty anyway.
func TestEraseWaitsForCopies(t *testing.T) {
	synctest.Test(t, eraseDuringCopy) // a slow disk could exceed a limit in real time
}

func eraseDuringCopy(t *testing.T) {
	q := queueIn(t, Options{})
	op := email("op-1")
	op.Payload = []byte(`"canary"`)
	if err := q.Add(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	reading, err := q.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := q.Erase(short, "op-1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Erase during a copy: got %v, want DeadlineExceeded", err)
	}
	if got, _ := q.Operation(t.Context(), "op-1"); len(got.Payload) != 0 {
		t.Errorf("payload: got %s, want it empty in spite of the error", got.Payload)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := q.Erase(t.Context(), "op-1"); err != nil {
		t.Errorf("Erase: %v", err)
	}
	if b, _ := os.ReadFile(q.db.Path()); bytes.Contains(b, []byte("canary")) {
		t.Error("the canary is still in the file")
	}
}

// TestOpenEndsInterruptedErase: a crash while the free pages are overwritten leaves a bucket of filler. The next start
// deletes it and keeps the operations.
func TestOpenEndsInterruptedErase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	open := func() *Queue {
		t.Helper()
		q, err := Open(t.Context(), Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	q := open()
	if err := q.Add(t.Context(), email("op-1")); err != nil {
		t.Fatal(err)
	}
	err := q.db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte(fillTable))
		return err
	})
	if err := errors.Join(err, q.Close()); err != nil {
		t.Fatal(err)
	}
	q = open()
	defer q.Close()
	err = q.db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte(fillTable)) != nil {
			t.Error("the filler of the interrupted erase is still there")
		}
		return nil
	})
	if _, found := q.Operation(t.Context(), "op-1"); err != nil || found != nil || q.rebuilt {
		t.Errorf("the operation: %v, %v; the queue counts as new: %t", found, err, q.rebuilt)
	}
}
