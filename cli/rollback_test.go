package cli

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/store"
)

// TestRolledBackDirectoryIsRefused serves an old snapshot of the whole data directory after later changes were copied
// to the backup destination. The server refuses to start.
func TestRolledBackDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir, second, snapshot := clinicDir(t), t.TempDir(), t.TempDir()
	serveAt := func(dir string, args ...string) ran {
		// The server ends before it serves, because this machine does not have the address.
		return command(t, nil, "", append([]string{"serve", "--data", dir, "--backup-to", second, "--listen",
			"192.0.2.1:0"}, args...)...)
	}
	change := func(dir string) {
		t.Helper()
		h, _ := backingUp(t, dir, "--backup-to", second)
		f := h.backups.Follower()
		for range 2 {
			err := h.store.Write(t.Context(), func(tx store.Tx) error {
				return tx.AppendAudit(t.Context(), store.AuditEntry{ID: rand.Text(),
					At: time.Now(), Actor: "system", Action: "test.noted"})
			})
			if err != nil {
				t.Fatal(err)
			}
			f.Run(t.Context(), time.Now())
		}
		if err := errors.Join(f.Close(), h.close()); err != nil {
			t.Error(err)
		}
	}
	change(dir)
	err := os.CopyFS(snapshot, os.DirFS(dir))
	if err := errors.Join(err, os.Chmod(filepath.Join(snapshot, secretFile), 0o600)); err != nil {
		t.Fatal(err)
	}
	contains(t, "the snapshot while nothing was copied since", serveAt(snapshot).stderr, "192.0.2.1:0")
	change(dir)
	contains(t, "the directory itself", serveAt(dir).stderr, "192.0.2.1:0")

	got := serveAt(snapshot)
	newest := filepath.Join(second, "trail-000002-")
	contains(t, "the snapshot", got.stderr, "is older than its copies", "holdfast restore --data "+snapshot+" "+newest,
		"--after-rollback")
	if got.code != 1 {
		t.Errorf("exit code %d, want 1", got.code)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	err = os.CopyFS(restored, os.DirFS(snapshot))
	if err := errors.Join(err, os.Chmod(filepath.Join(restored, secretFile), 0o600)); err != nil {
		t.Fatal(err)
	}
	contains(t, "the snapshot before the restore", serveAt(restored).stderr, "is older than its copies")
	copies, err := filepath.Glob(newest + "*")
	if err != nil || len(copies) != 1 {
		t.Fatalf("got %v, %v; want one copy", copies, err)
	}
	must(t, "restore", "--data", restored, copies[0])
	contains(t, "the snapshot after the restore", serveAt(restored).stderr, "192.0.2.1:0")
	contains(t, "the snapshot with the flag", serveAt(snapshot, "--after-rollback").stderr, "192.0.2.1:0")
	change(snapshot)
	contains(t, "the snapshot when it has copied changes", serveAt(snapshot).stderr, "192.0.2.1:0")
}
