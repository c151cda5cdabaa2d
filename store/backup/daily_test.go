package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/store"
)

func ownNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	made, err := ownBackups(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range made {
		names = append(names, ownName(at))
	}
	return names
}

// TestDailyMakesVerifiesAndCopies covers several nights and a backup destination that was not mounted at first.
func TestDailyMakesVerifiesAndCopies(t *testing.T) {
	clitest.OnlyInFull(t)
	t.Parallel()
	dir := clinicDir(t)
	second := filepath.Join(t.TempDir(), "mounted")
	byHand := filepath.Join(dir, Folder, "20200101T000000.000Z")
	createBackup(t, dir, byHand)
	synctest.Test(t, func(t *testing.T) {
		k := nightly(t, dir, Plan{Daily: true, At: 3 * time.Hour, Keep: Keep{Days: 2}, Destination: second})
		time.Sleep(2 * time.Minute)
		here := k.file(Folder)
		first := ownNames(t, here)
		if len(first) != 1 {
			t.Fatalf("two minutes after the first start, the backups are %v", first)
		}
		if got := ownNames(t, second); len(got) != 0 {
			t.Fatalf("the backup destination is missing, and contains %v", got)
		}
		if last, err := k.Last(); !errors.Is(err, ErrNone) {
			t.Errorf("without the backup destination, the last backup is of %s, %v; want %v", last, err,
				ErrNone)
		}
		if err := os.Mkdir(second, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(Retry + time.Minute)
		if got := ownNames(t, second); !slices.Equal(got, first) {
			t.Errorf("after its return, the backup destination contains %v, want %v", got, first)
		}
		time.Sleep(72 * time.Hour)
		kept := ownNames(t, here)
		if len(kept) != 2 || slices.Contains(kept, first[0]) {
			t.Errorf("after three nights, the backups are %v, want the last two", kept)
		}
		if got := ownNames(t, second); !slices.Equal(got, kept) {
			t.Errorf("the backup destination contains %v, want %v", got, kept)
		}
		for _, name := range kept {
			for _, at := range []string{here, second} {
				if err := Verify(t.Context(), filepath.Join(at, name), func(ctx context.Context,
					s store.Store) error {
					return s.Check(ctx)
				}); err != nil {
					t.Errorf("%s in %s: %v", name, at, err)
				}
			}
		}
		if _, err := os.Stat(byHand); err != nil {
			t.Errorf("a backup made by hand: %v", err)
		}
		if last, err := k.Last(); err != nil || time.Since(last) > 25*time.Hour {
			t.Errorf("the last backup is of %s, %v", last, err)
		}
		// Last does not access the backup destination, which may hang. It uses the last list of Daily.
		if err := os.RemoveAll(second); err != nil {
			t.Fatal(err)
		}
		if last, err := k.Last(); err != nil || ownName(last) != kept[1] {
			t.Errorf("without the backup destination, the last backup is of %s, %v; want %s", last, err, kept[1])
		}
	})
}

// TestClockSetBackMakesOneBackup checks that after the clock is set back, Daily does not make a backup every minute
// until the clock reaches the old time.
func TestClockSetBackMakesOneBackup(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	synctest.Test(t, func(t *testing.T) {
		future := filepath.Join(dir, Folder, ownName(time.Now().Add(48*time.Hour)))
		createBackup(t, dir, future)
		k := nightly(t, dir, Plan{Daily: true, At: 3 * time.Hour, Keep: Keep{Days: 7}})
		time.Sleep(2 * time.Minute)
		first := ownNames(t, k.file(Folder))
		time.Sleep(10 * time.Minute)
		if got := ownNames(t, k.file(Folder)); len(first) != 2 || !slices.Equal(got, first) {
			t.Errorf("the backups were %v, and are %v ten minutes later", first, got)
		}
	})
}

// TestCopyBackupLeavesNothingOnError copies a backup whose keys cannot be read.
func TestCopyBackupLeavesNothingOnError(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	backup := filepath.Join(t.TempDir(), "b")
	createBackup(t, dir, backup)
	if err := os.Remove(filepath.Join(backup, KeysFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(backup, "nowhere"), filepath.Join(backup, KeysFile)); err != nil {
		t.Fatal(err)
	}
	if err := directory(second).copyBackup(t.Context(), backup, "copy", nil); err == nil {
		t.Error("a backup with unreadable keys was copied")
	}
	if left, _ := os.ReadDir(second); len(left) > 0 {
		t.Errorf("the backup destination contains %v", left)
	}
}
