package backup

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/store/disk"
)

// TestFullDestinationIsLogged fills the destination. No partial file may be left, the current incremental backup must
// stay intact, and it must continue once there is space. The test mounts a file system, which only root can do.
func TestFullDestinationIsLogged(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	if err := syscall.Mount("none", second, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot create a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(second, syscall.MNT_DETACH) })
	f := opened(t, clinicDir(t), Plan{})
	k := f.newFollower(t, Plan{Destination: second, Keep: Keep{Days: 1}})
	defer k.Close()
	now := time.Now()
	k.Run(t.Context(), now)
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
		k.Run(t.Context(), now)
	}
	if said := f.log.String(); strings.Count(said, "incremental backup failed") != 1 ||
		!strings.Contains(said, "no space left") {
		t.Errorf("the log is %q", said)
	}
	if got, ids, err := followUp(t, k.chain.path, nil); err != nil || got.Steps != 1 || got.Broken != nil ||
		len(ids) != 0 {
		t.Errorf("on the full disk, the incremental backup has %+v with %v, %v", got, ids, err)
	}
	if left, err := filepath.Glob(filepath.Join(k.chain.path, incrementPartial)); err != nil || len(left) > 0 {
		t.Errorf("left is %v", left)
	}
	// A day later, there is no space for a new incremental backup. The current one continues, because there is space
	// for an increment.
	if err := os.Truncate(fill, sizeHere(t, fill)-40<<10); err != nil {
		t.Fatal(err)
	}
	k.chain.begun = k.chain.begun.AddDate(0, 0, -2)
	if err := os.WriteFile(filepath.Join(second, "rest"), make([]byte, 28<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	k.Run(t.Context(), now)
	contains(t, "the log", f.log.String(), "incremental backup resumed", "continuing the current one")
	if got, ids, err := followUp(t, k.chain.path, nil); err != nil || got.Steps != 2 || len(ids) != 1 {
		t.Errorf("with free space, the incremental backup has %+v with %v, %v", got, ids, err)
	}
	if list := incrementalsOf(t, second); len(list) != 1 {
		t.Errorf("the incremental backups are %+v, want one", list)
	}
}

// TestStartWaitsAfterFullDestination checks that the Follower waits before it starts again, because each attempt reads
// and writes the whole database. The test mounts a file system, which only root can do.
func TestStartWaitsAfterFullDestination(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	if err := syscall.Mount("none", second, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot create a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(second, syscall.MNT_DETACH) })
	f := opened(t, clinicDir(t), Plan{})
	k := f.newFollower(t, Plan{Destination: second, Keep: Keep{Days: 1}})
	defer k.Close()
	fill := filepath.Join(second, "fill")
	if err := os.WriteFile(fill, make([]byte, 1<<20-8<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := k.follow(t.Context(), now); !disk.IsFull(err) {
		t.Fatalf("on a full disk: %v, want a disk-full error", err)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if err := k.follow(t.Context(), now.Add(Retry-time.Second)); !disk.IsFull(err) {
		t.Errorf("before the retry: %v, want the first error", err)
	}
	if err := k.follow(t.Context(), now.Add(Retry)); err != nil || k.chain == nil {
		t.Errorf("at the retry: %v", err)
	}
}

func sizeHere(t *testing.T, path string) int64 {
	t.Helper()
	n := disk.Size(path)
	if n < 0 {
		t.Fatalf("%s is not there", path)
	}
	return n
}
