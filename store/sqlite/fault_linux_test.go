package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"holdfast/store"
)

// These tests replace the file behind the descriptor that SQLite writes its log to. This causes real errors of the
// operating system, without root.

// walDescriptor returns the only descriptor of the log. Nothing has been read yet, so only the writer is connected.
func walDescriptor(t *testing.T, path string) int {
	t.Helper()
	found := -1
	for fd := range 1024 {
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", strconv.Itoa(fd))); err == nil && target == path+"-wal" {
			if found >= 0 {
				t.Fatalf("the log is open twice, as %d and %d", found, fd)
			}
			found = fd
		}
	}
	if found < 0 {
		t.Fatal("the log is not open")
	}
	return found
}

// replace puts device behind fd and returns a function that restores it.
func replace(t *testing.T, fd int, device string, mode int) (restore func()) {
	t.Helper()
	saved, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	other, err := syscall.Open(device, mode, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(other, fd, 0); err != nil {
		t.Fatal(err)
	}
	syscall.Close(other)
	return func() {
		if err := syscall.Dup3(saved, fd, 0); err != nil {
			t.Fatal(err)
		}
		syscall.Close(saved)
	}
}

func TestIOErrorStopsWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	var told []error
	b := newTestStore(t, Options{Path: path, OnFatal: func(err error) { told = append(told, err) }})
	if err := b.insert(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	restore := replace(t, walDescriptor(t, path), "/dev/null", syscall.O_RDONLY)
	if err := b.insert(context.Background(), 1); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("writing: got %v, want ErrUnavailable", err)
	}
	restore()
	if err := b.insert(context.Background(), 2); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("writing after the disk came back: got %v, want ErrUnavailable until the restart", err)
	}
	if len(told) != 1 || !errors.Is(told[0], store.ErrUnavailable) {
		t.Errorf("OnFatal received %v, want one ErrUnavailable", told)
	}
	b.wantRow(0, nil) // reads still work
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	again := newTestStore(t, Options{Path: path})
	again.wantRow(0, nil)
	if err := again.insert(context.Background(), 3); err != nil {
		t.Errorf("after the restart: %v", err)
	}
	if err := errors.Join(again.Check(context.Background()), again.Close()); err != nil {
		t.Error(err)
	}
}

func TestWritesResumeAfterFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	b := newTestStore(t, Options{Path: path, OnFatal: func(err error) { t.Errorf("OnFatal received %v", err) }})
	// Copy the log back first, so that no read needs the log: /dev/full would return zeros.
	if _, err := passive(b.writer.conn); err != nil {
		t.Fatal(err)
	}
	restore := replace(t, walDescriptor(t, path), "/dev/full", syscall.O_RDWR)
	for n := range int64(3) {
		if err := b.insert(context.Background(), n); !errors.Is(err, store.ErrFull) {
			t.Errorf("on the full disk: got %v, want ErrFull", err)
		}
	}
	restore()
	if err := b.insert(context.Background(), 0); err != nil {
		t.Errorf("with free space again: %v", err)
	}
	b.wantRow(0, nil)
	if err := errors.Join(b.Check(context.Background()), b.Close()); err != nil {
		t.Error(err)
	}
}
