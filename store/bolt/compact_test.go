package bolt_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/bolt"
)

// swell fills a queue with finished operations of four kilobytes, and one pending operation.
func swell(t *testing.T, q *bolt.Queue, operations int) {
	t.Helper()
	ctx := context.Background()
	payload := []byte(`"` + string(bytes.Repeat([]byte("x"), 4000)) + `"`)
	var list []store.Operation
	for n := range operations {
		list = append(list, store.Operation{ID: fmt.Sprintf("op-%06d", n), Kind: store.Email,
			Status: store.OperationCompleted, FinishedAt: nine, Payload: payload})
		if len(list) == 500 {
			add(t, q, list...)
			list = nil
		}
	}
	add(t, q, append(list, webhook("pending", nine))...)
	if n, err := q.Operations(ctx, store.OperationFilter{Status: store.OperationCompleted}); err != nil || len(n) == 0 {
		t.Fatalf("the queue was not filled: %d, %v", len(n), err)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestPruneShrinksLargeFile prunes while other goroutines read and write, and checks that none of their writes is lost.
func TestPruneShrinksLargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	q := bolt.WithoutSync(open(t, bolt.Options{Path: path}))
	swell(t, q, 12_000)
	before := sizeOf(t, path)
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	written := 0
	others.Go(func() {
		for ; ctx.Err() == nil; written++ {
			if err := q.Add(t.Context(), webhook(fmt.Sprintf("other-%06d", written), nine)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	others.Go(func() {
		for ctx.Err() == nil {
			if _, err := q.Operation(t.Context(), "pending"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	pruned, err := q.Prune(t.Context(), nine.Add(time.Hour))
	stop()
	others.Wait()
	if err != nil || pruned != 12_000 {
		t.Fatalf("pruned %d, %v; want 12000", pruned, err)
	}
	if after := sizeOf(t, path); after > before/2 {
		t.Errorf("the file has %d bytes and had %d before; want at most half", after, before)
	}
	for _, id := range []string{"pending", "other-000000", fmt.Sprintf("other-%06d", written-1)} {
		if _, err := q.Operation(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := bolt.Open(t.Context(), bolt.Options{Path: path, Timeout: 50 * time.Millisecond}); err == nil {
		t.Error("the new file can be opened by another process")
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if err := bolt.Verify(path); err != nil {
		t.Errorf("the new file: %v", err)
	}
	q = open(t, bolt.Options{Path: path})
	if n, err := q.Counts(t.Context()); err != nil || n.Pending != written+1 || n.Completed != 0 {
		t.Errorf("after a restart: got %+v, %v; want %d pending", n, err, written+1)
	}
}

// TestOpenShrinksFile checks that Open shrinks the file of an older program, and removes what a crash during a
// compaction left behind.
func TestOpenShrinksFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	q := bolt.WithoutSync(open(t, bolt.Options{Path: path}))
	swell(t, q, 4_000)
	if _, err := q.Prune(t.Context(), nine.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	before := sizeOf(t, path)
	if err := os.WriteFile(path+".compact", []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	q = open(t, bolt.Options{Path: path})
	if after := sizeOf(t, path); after > before/2 {
		t.Errorf("the file has %d bytes and had %d before; want at most half", after, before)
	}
	if _, err := os.Stat(path + ".compact"); !os.IsNotExist(err) {
		t.Errorf("temporary file of the crash: got %v, want it deleted", err)
	}
	if _, err := q.Operation(t.Context(), "pending"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the new file: %v, %v; want 0600", info.Mode(), err)
	}
}
