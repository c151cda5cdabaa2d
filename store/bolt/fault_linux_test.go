package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"holdfast/store"
)

// TestFailedWriteStopsWriting makes a write fail. The content of the disk is unknown after any failure except a full
// disk. So the queue must accept no further write, Ping must report the failure, reads must still work, and the next
// Open must find all acknowledged writes.
func TestFailedWriteStopsWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	q, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Add(t.Context(), email("op-1")); err != nil {
		t.Fatal(err)
	}
	breakDisk(t, path)
	if err := q.Add(t.Context(), email("op-2")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Add on a broken disk: got %v, want ErrUnavailable", err)
	}
	for range 2 {
		if err := q.Add(t.Context(), email("op-3")); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Add after that: got %v, want ErrUnavailable", err)
		}
		if err := q.Erase(t.Context(), "op-1"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Erase after that: got %v, want ErrUnavailable", err)
		}
		if err := q.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Ping after that: got %v, want ErrUnavailable", err)
		}
		if _, err := q.Operation(t.Context(), "op-1"); err != nil {
			t.Errorf("Operation after that: got %v, want the operation", err)
		}
	}
	if err := q.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	q, err = Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if n, err := q.Counts(t.Context()); n.Pending != 1 || err != nil {
		t.Errorf("after a restart: got %+v and %v, want only op-1", n, err)
	}
	if err := errors.Join(q.Add(t.Context(), email("op-2")), q.Ping(t.Context())); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// breakDisk replaces this process's descriptor for path with a read-only one.
func breakDisk(t *testing.T, path string) {
	t.Helper()
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("cannot list the file descriptors: %v", err)
	}
	for _, d := range descriptors {
		fd, _ := strconv.Atoi(d.Name())
		if target, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); target != path || fd == int(readOnly.Fd()) {
			continue
		}
		if err := syscall.Dup3(int(readOnly.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("the queue's descriptor was not found")
}
