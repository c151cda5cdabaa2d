package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/store"
)

// TestMigrationOnFullDiskNamesOnlyFullDisk: SQLite rolls a transaction back by itself when the disk is full. The error
// does not name the second rollback, which finds no transaction. The test needs a separate file system, which only root
// can create.
func TestMigrationOnFullDiskNamesOnlyFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=600k"); err != nil {
		t.Skipf("cannot create a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s, err := Open(context.Background(), Options{Path: filepath.Join(dir, "holdfast.db"), SnapshotDir: dir})
	if err == nil {
		mustClose(t, s)
		t.Fatal("the database fits: make the disk smaller")
	}
	if !errors.Is(err, store.ErrFull) || strings.Contains(err.Error(), "no transaction is active") {
		t.Errorf("got %v, want only that the disk is full", err)
	}
}
