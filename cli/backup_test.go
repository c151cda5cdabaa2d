package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

// backingUp opens the clinic in a directory as serve does, but without a listener and without the backup loops. The
// test makes the backups itself.
func backingUp(t *testing.T, dir string, args ...string) (*house, *transcript) {
	t.Helper()
	cfg, _, err := resolved(t, nil, append([]string{"--data", dir}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	log := &transcript{}
	h, err := openHouse(t.Context(), cfg, houseOptions{log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	return h, log
}

// TestRestoreListsBackups: restore --list prints manual and automatic backups, in the data directory and in a backup
// destination, with the newest first.
func TestRestoreListsBackups(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	must(t, "backup", "--data", dir)
	old := filepath.Join(second, "auto-20260102T030000.000Z")
	must(t, "backup", "--data", dir, "--to", old)
	said := must(t, "restore", "--list", "--data", dir, second)
	contains(t, "restore --list", said, "2026-01-02", old, dir)
	if strings.Index(said, dir) > strings.Index(said, old) {
		t.Errorf("the newest is not first:\n%s", said)
	}
	// The clock was set back between the first incremental backup and the second.
	for number, made := range map[int]string{1: "2026-03-09T09:00:00Z", 2: "2026-03-08T09:00:00Z"} {
		step := filepath.Join(second, fmt.Sprintf("trail-%06d-a", number), "000000.step")
		if err := errors.Join(os.Mkdir(filepath.Dir(step), 0o700), os.WriteFile(step, nil, 0o600),
			os.Chtimes(step, at(t, made), at(t, made))); err != nil {
			t.Fatal(err)
		}
	}
	said = must(t, "restore", "--list", "--data", dir, second)
	if one, two := strings.Index(said, "trail-000001-a"), strings.Index(said, "trail-000002-a"); two < 0 || one < two ||
		strings.Index(said, old) < one {
		t.Errorf("the incremental backup with the greater number is not before the other, and both before the older backup:\n%s",
			said)
	}
	if got := command(t, nil, "", "restore", "--data", dir); got.code != 2 {
		t.Errorf("restore without a backup: exit %d, want 2", got.code)
	}
	if said := must(t, "restore", "--list", "--data", filepath.Join(t.TempDir(), "none")); !strings.Contains(said,
		"no backup") {
		t.Errorf("without backups: %q", said)
	}
}

// TestPostgresHasNoIncrementalBackups: with PostgreSQL, the server copies nothing to the backup destination, and the
// log names the flag that has no effect.
func TestPostgresHasNoIncrementalBackups(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	h, log := backingUp(t, filepath.Join(t.TempDir(), "data"), "--database", postgresURL(t), "--backup-to", second,
		"--backup-every", "1s")
	h.keepFollowing(t.Context())
	contains(t, "the log", log.String(), "--backup-every")
	if at, following := h.backups.LastCopy(); following {
		t.Errorf("the backup contains a copy of %s", at)
	}
	if list, err := os.ReadDir(second); err != nil || len(list) != 0 {
		t.Errorf("the backups are %v, %v", list, err)
	}
}

// TestBackupAgeOnlyWhereBackupsAreMade: a node with --backup-at off has no age of its backups, because another node
// makes them. An age of +Inf would fire an alert there forever.
func TestBackupAgeOnlyWhereBackupsAreMade(t *testing.T) {
	t.Parallel()
	withBackup := clinicDir(t)
	must(t, "backup", "--data", withBackup)
	for name, c := range map[string]struct {
		dir          string
		args         []string
		known, shown bool
	}{
		"daily, none yet":  {clinicDir(t), nil, false, true},
		"off, none":        {clinicDir(t), []string{"--backup-at", "off"}, false, false},
		"off, one by hand": {withBackup, []string{"--backup-at", "off"}, true, true},
	} {
		h, _ := backingUp(t, c.dir, c.args...)
		if last, shown := h.lastBackup(); shown != c.shown || last.IsZero() == c.known {
			t.Errorf("%s: got %v, shown %t; want known %t, shown %t", name, last, shown, c.known, c.shown)
		}
	}
}
