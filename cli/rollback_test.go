package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestRolledBackDirectoryIsRefused puts a snapshot of the whole data directory back after later changes were copied to the backup
// destination.
func TestRolledBackDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir, second, snapshot := clinicDir(t), t.TempDir(), t.TempDir()
	serveAt := func(dir string, args ...string) ran {
		// It ends before it serves: the address is no address of this machine.
		return command(t, nil, "", append([]string{"serve", "--data", dir, "--backup-to", second, "--listen", "192.0.2.1:0"}, args...)...)
	}
	change := func(dir, note string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			f := following(t, dir, "--backup-to", second)
			time.Sleep(90 * time.Second)
			f.note(t, note)
			time.Sleep(90 * time.Second)
		})
	}
	change(dir, "before")
	err := os.CopyFS(snapshot, os.DirFS(dir))
	if err := errors.Join(err, os.Chmod(filepath.Join(snapshot, secretFile), 0o600)); err != nil {
		t.Fatal(err)
	}
	contains(t, "the snapshot while nothing was copied since", serveAt(snapshot).stderr, "192.0.2.1:0")
	change(dir, "after")
	contains(t, "the directory itself", serveAt(dir).stderr, "192.0.2.1:0")

	got := serveAt(snapshot)
	newest := trailsOf(t, second)[1]
	contains(t, "the snapshot", got.stderr, "is older than its copies", "holdfast restore --data "+snapshot+" "+newest.path, "--after-rollback")
	if got.code != 1 {
		t.Errorf("exit code %d, want 1", got.code)
	}
	contains(t, "the snapshot with the flag", serveAt(snapshot, "--after-rollback").stderr, "192.0.2.1:0")
	change(snapshot, "on from there")
	contains(t, "the snapshot when it has copied changes", serveAt(snapshot).stderr, "192.0.2.1:0")
}

// TestRollbackCheckIgnoresDestination: a destination that cannot be read, and a note that cannot, refuse no start.
func TestRollbackCheckIgnoresDestination(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	d := &dataDir{path: dir}
	if err := d.noteCopied("/missing", trailName(3, "1f2e3d4c"), stepName(7, false)); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "", "serve", "--data", dir, "--backup-to", "/missing", "--listen", "192.0.2.1:0")
	contains(t, "a missing destination", got.stderr, "192.0.2.1:0")
	if err := os.WriteFile(d.file(copiedFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	got = command(t, nil, "", "serve", "--data", dir, "--backup-to", "/missing", "--listen", "192.0.2.1:0")
	contains(t, "a note that cannot be read", got.stderr, "192.0.2.1:0")
}
