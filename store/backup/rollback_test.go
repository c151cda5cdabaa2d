package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRolledBackDirectoryIsRefused restores a snapshot of the whole data directory after later changes were copied to
// the destination.
func TestRolledBackDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir, destination, snapshot := clinicDir(t), t.TempDir(), filepath.Join(t.TempDir(), "snapshot")
	plan := Plan{Destination: destination, Keep: Keep{Days: 1}}
	change := func(dir, note string) {
		t.Helper()
		f := opened(t, dir, Plan{})
		k := f.newFollower(t, plan)
		k.Run(t.Context(), time.Now())
		f.note(t, note)
		k.Run(t.Context(), time.Now())
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		f.stop()
	}
	refusal := func(dir string) error {
		t.Helper()
		f := opened(t, dir, plan)
		defer f.stop()
		return f.RefuseRolledBack(t.Context())
	}
	change(dir, "before")
	if err := os.CopyFS(snapshot, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := refusal(snapshot); err != nil {
		t.Errorf("the snapshot, before it copied changes: %v", err)
	}
	change(dir, "after")
	if err := refusal(dir); err != nil {
		t.Errorf("the data directory: %v", err)
	}
	err := refusal(snapshot)
	if err == nil {
		t.Fatal("Open accepted the snapshot")
	}
	newest := incrementalsOf(t, destination)[1]
	contains(t, "the error", err.Error(), "is older than its copies",
		"holdfast restore --data "+snapshot+" "+newest.Path, "--after-rollback")
	change(snapshot, "on from there")
	if err := refusal(snapshot); err != nil {
		t.Errorf("the snapshot, after it copied changes: %v", err)
	}
}

// TestRollbackCheckIgnoresUnreadable checks that a start is not refused if the destination or the note cannot be read.
func TestRollbackCheckIgnoresUnreadable(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	f := opened(t, dir, Plan{Destination: filepath.Join(dir, "missing")})
	err := noteSent(dir, f.Plan.Destination, incrementalName(3, "1f2e3d4c"), incrementName(7, false))
	if err := errors.Join(err, f.RefuseRolledBack(t.Context())); err != nil {
		t.Errorf("a missing destination: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, CopiedFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.RefuseRolledBack(t.Context()); err != nil {
		t.Errorf("a damaged marker: %v", err)
	}
}
