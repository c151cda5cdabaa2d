package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"holdfast/store"
)

func testBackup(t *testing.T, h Harness) {
	s := h.open(t)
	clinic(t, s)
	mustInsert(t, s, booking("ada", "checkup", 0, 30))
	dir := t.TempDir()

	// Other goroutines write while the backup runs.
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 20 {
				a := booking("ben", "short", (worker*20+i)*15, 15)
				if err := s.Write(context.Background(), func(tx store.Tx) error {
					return tx.InsertAppointment(context.Background(), a)
				}); err != nil {
					t.Errorf("a write during the backup: %v", err)
				}
			}
		})
	}
	path := filepath.Join(dir, "copy")
	wantErr(t, "Backup", s.Backup(t.Context(), path), nil)
	wg.Wait()
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 {
		t.Fatalf("the copy: %v, want a file that is not empty", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("other users can read the copy: %v", info.Mode())
	}
	wantErr(t, "a path in use", s.Backup(t.Context(), path), store.ErrDuplicate)
	if err := s.Backup(t.Context(), filepath.Join(dir, "no such directory", "copy")); err == nil {
		t.Error("a directory that does not exist: got no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the directory has %d files, %v; want only the copy", len(left), err)
	}
}
