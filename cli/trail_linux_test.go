package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/store/sqlite"
)

// TestAFullSecondPlaceIsSaid: nothing half-written is left in it, the trail there stays whole, and it goes on once there is room. It needs
// a file system of its own, which only root can have.
func TestAFullSecondPlaceIsSaid(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	if err := syscall.Mount("none", second, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no small disk can be made here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(second, syscall.MNT_DETACH) })
	f := following(t, clinicDir(t))
	f.copied.Store(new(time.Time))
	k := f.newTrailKeeper(f.store.(*sqlite.Store), backupPlan{second: second, keep: backupKeep{days: 1}})
	defer k.pages.Close()
	now := time.Now()
	k.look(t.Context(), now)
	fill := filepath.Join(second, "fill")
	for size := 1 << 20; size > 0; size /= 2 {
		block, err := os.OpenFile(fill, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = block.Write(make([]byte, size))
		}
		block.Close()
	}
	f.note(t, "n1")
	for range 3 {
		k.look(t.Context(), now)
	}
	if said := f.log.String(); strings.Count(said, "copy of changes failed") != 1 || !strings.Contains(said, "no space left") {
		t.Errorf("the log says %q", said)
	}
	if got, ids, err := followUp(t, k.trail.path, nil); err != nil || got.steps != 1 || got.broken != nil || len(ids) != 0 {
		t.Errorf("on the full disk the trail has %+v with %v, %v", got, ids, err)
	}
	if left, err := filepath.Glob(filepath.Join(k.trail.path, stepPartial)); err != nil || len(left) > 0 {
		t.Errorf("left is %v", left)
	}
	// A day later a new trail has no room either; the current one continues with what has some.
	if err := os.Truncate(fill, sizeHere(t, fill)-40<<10); err != nil {
		t.Fatal(err)
	}
	k.trail.begun = k.trail.begun.AddDate(0, 0, -2)
	if err := os.WriteFile(filepath.Join(second, "rest"), make([]byte, 28<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	k.look(t.Context(), now)
	contains(t, "the log", f.log.String(), "copies to the backup destination resumed", "the current one continues")
	if got, ids, err := followUp(t, k.trail.path, nil); err != nil || got.steps != 2 || len(ids) != 1 {
		t.Errorf("with some room the trail has %+v with %v, %v", got, ids, err)
	}
	if list := trailsOf(t, second); len(list) != 1 {
		t.Errorf("there are %+v, want the one", list)
	}
}

// TestNoTrailIsBegunEachMinuteInAFullSecondPlace: it would read and write the whole database each time. It needs a file system of its own, as above.
func TestNoTrailIsBegunEachMinuteInAFullSecondPlace(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	if err := syscall.Mount("none", second, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no small disk can be made here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(second, syscall.MNT_DETACH) })
	f := following(t, clinicDir(t))
	f.copied.Store(new(time.Time))
	k := f.newTrailKeeper(f.store.(*sqlite.Store), backupPlan{second: second, keep: backupKeep{days: 1}})
	defer k.pages.Close()
	fill := filepath.Join(second, "fill")
	if err := os.WriteFile(fill, make([]byte, 1<<20-8<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := k.follow(t.Context(), now); !noRoom(err) {
		t.Fatalf("in a full place: %v, want that there is no room", err)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if err := k.follow(t.Context(), now.Add(retryBackup-time.Second)); !noRoom(err) {
		t.Errorf("before it is tried again: %v, want what was said before", err)
	}
	if err := k.follow(t.Context(), now.Add(retryBackup)); err != nil || k.trail == nil {
		t.Errorf("when it is tried again: %v", err)
	}
}

func sizeHere(t *testing.T, path string) int64 {
	t.Helper()
	n := size(path)
	if n < 0 {
		t.Fatalf("%s is not there", path)
	}
	return n
}
