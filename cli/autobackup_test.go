package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
)

// nightly opens the clinic in a directory, and keeps its backups while the test sleeps.
func nightly(t *testing.T, dir string, args ...string) *backupKeeper {
	t.Helper()
	cfg, _, err := resolved(t, nil, append([]string{"--data", dir}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	h, err := openHouse(t.Context(), cfg, houseOptions{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); h.keepBackups(ctx, cfg.backups) }()
	running := make(chan struct{})
	go func() { defer close(running); h.engine.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
		<-running
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	return h.newBackupKeeper(cfg.backups)
}

func ownNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	made, err := ownBackupsIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range made {
		names = append(names, ownBackupName(at))
	}
	return names
}

// TestANightlyBackupIsMadeCheckedAndCopied lives through nights, a server that was off for some, and a backup destination that was not
// mounted.
func TestANightlyBackupIsMadeCheckedAndCopied(t *testing.T) {
	clitest.OnlyInFull(t)
	t.Parallel()
	dir := clinicDir(t)
	second := filepath.Join(t.TempDir(), "mounted")
	byHand := filepath.Join(dir, backupsDir, "20200101T000000.000Z")
	must(t, "backup", "--data", dir, "--to", byHand)
	synctest.Test(t, func(t *testing.T) {
		k := nightly(t, dir, "--backup-at", "03:00", "--backup-keep", "2,0,0", "--backup-to", second)
		time.Sleep(2 * time.Minute)
		here := k.dir.file(backupsDir)
		first := ownNames(t, here)
		if len(first) != 1 {
			t.Fatalf("two minutes after its first start the server has made %v", first)
		}
		if got := ownNames(t, second); len(got) != 0 {
			t.Fatalf("the backup destination is not there, and has %v", got)
		}
		if last, err := k.engine.LastBackup(); !errors.Is(err, engine.ErrNoBackup) {
			t.Errorf("while the backup destination is not there the last backup is of %s, %v; want %v", last, err, engine.ErrNoBackup)
		}
		if err := os.Mkdir(second, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(retryBackup + time.Minute)
		if got := ownNames(t, second); !slices.Equal(got, first) {
			t.Errorf("when it is there the backup destination has %v, want %v", got, first)
		}
		time.Sleep(72 * time.Hour)
		kept := ownNames(t, here)
		if len(kept) != 2 || slices.Contains(kept, first[0]) {
			t.Errorf("after three nights there are %v, want the last two", kept)
		}
		if got := ownNames(t, second); !slices.Equal(got, kept) {
			t.Errorf("the backup destination has %v, want %v", got, kept)
		}
		for _, name := range kept {
			for _, at := range []string{here, second} {
				if _, err := (process{}).verifyBackup(t.Context(), filepath.Join(at, name), ""); err != nil {
					t.Errorf("%s in %s: %v", name, at, err)
				}
			}
		}
		if _, err := os.Stat(byHand); err != nil {
			t.Errorf("a backup made by hand: %v", err)
		}
		if last, err := k.engine.LastBackup(); err != nil || time.Since(last) > 25*time.Hour {
			t.Errorf("the last backup is of %s, %v", last, err)
		}
		// A request does not look into the backup destination, which may hang: what its keeper has found is what counts.
		if err := os.RemoveAll(second); err != nil {
			t.Fatal(err)
		}
		if last, err := k.engine.LastBackup(); err != nil || ownBackupName(last) != kept[1] {
			t.Errorf("while the backup destination is away the last backup is of %s, %v; want %s", last, err, kept[1])
		}
	})
}

// TestAClockThatWasSetBackMakesOneBackup, and not one a minute until it is where it was.
func TestAClockThatWasSetBackMakesOneBackup(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	synctest.Test(t, func(t *testing.T) {
		future := filepath.Join(dir, backupsDir, ownBackupName(time.Now().Add(48*time.Hour)))
		must(t, "backup", "--data", dir, "--to", future)
		k := nightly(t, dir, "--backup-at", "03:00")
		time.Sleep(2 * time.Minute)
		first := ownNames(t, k.dir.file(backupsDir))
		time.Sleep(10 * time.Minute)
		if got := ownNames(t, k.dir.file(backupsDir)); len(first) != 2 || !slices.Equal(got, first) {
			t.Errorf("there were %v, and ten minutes later %v", first, got)
		}
	})
}

// TestABackupThatIsNotCopiedWholeIsNotThere: here its keys cannot be read.
func TestABackupThatIsNotCopiedWholeIsNotThere(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	backup := filepath.Join(t.TempDir(), "b")
	must(t, "backup", "--data", dir, "--to", backup)
	if err := os.Remove(filepath.Join(backup, secretFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(backup, "nowhere"), filepath.Join(backup, secretFile)); err != nil {
		t.Fatal(err)
	}
	if err := copyBackup(backup, filepath.Join(second, "copy"), nil); err == nil {
		t.Error("a backup whose keys cannot be read was copied")
	}
	if left, _ := os.ReadDir(second); len(left) > 0 {
		t.Errorf("the backup destination has %v", left)
	}
}

// TestRestoreListsBackups by hand and by itself, in the data directory and in a backup destination, the newest first.
func TestRestoreListsBackups(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	must(t, "backup", "--data", dir)
	old := filepath.Join(second, ownBackupName(at(t, "2026-01-02T03:00:00Z")))
	must(t, "backup", "--data", dir, "--to", old)
	said := must(t, "restore", "--list", "--data", dir, second)
	contains(t, "restore --list", said, "2026-01-02", old, dir)
	if strings.Index(said, dir) > strings.Index(said, old) {
		t.Errorf("the newest is not first:\n%s", said)
	}
	// The clock was set back between the first trail and the second.
	for number, made := range map[int]string{1: "2026-03-09T09:00:00Z", 2: "2026-03-08T09:00:00Z"} {
		step := filepath.Join(second, trailName(number, "a"), stepName(0, false))
		if err := errors.Join(os.Mkdir(filepath.Dir(step), 0o700), os.WriteFile(step, nil, 0o600), os.Chtimes(step, at(t, made), at(t, made))); err != nil {
			t.Fatal(err)
		}
	}
	said = must(t, "restore", "--list", "--data", dir, second)
	if one, two := strings.Index(said, trailName(1, "a")), strings.Index(said, trailName(2, "a")); two < 0 || one < two || strings.Index(said, old) < one {
		t.Errorf("the trail with the greater number is not before the other, and both before the older backup:\n%s", said)
	}
	if got := command(t, nil, "", "restore", "--data", dir); got.code != 2 {
		t.Errorf("restore without a backup: exit %d, want 2", got.code)
	}
	if said := must(t, "restore", "--list", "--data", filepath.Join(t.TempDir(), "none")); !strings.Contains(said, "no backup") {
		t.Errorf("where there is none: %q", said)
	}
}
