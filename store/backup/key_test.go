package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/store"
)

// TestDamagedRecipientCopiesNothing checks that no file is copied unsealed if the public key is damaged.
func TestDamagedRecipientCopiesNothing(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, RecipientFile), []byte("age1damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		k := nightly(t, dir, Plan{Daily: true, At: 3 * time.Hour, Keep: Keep{Days: 7}, Destination: second})
		time.Sleep(2 * time.Minute)
		if made := ownNames(t, k.file(Folder)); len(made) != 1 {
			t.Errorf("the data directory has %v, want one", made)
		}
	})
	if there, err := os.ReadDir(second); err != nil || len(there) > 0 {
		t.Errorf("the backup destination contains %v, %v", there, err)
	}
}

// TestDailyRefusesUnsealedNextToSealed checks that Daily makes no unsealed copy if the destination has sealed ones: the
// data directory has lost its public key.
func TestDailyRefusesUnsealedNextToSealed(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	backup := filepath.Join(t.TempDir(), "backup")
	createBackup(t, dir, backup)
	if err := directory(second).copyBackup(t.Context(), backup, "auto-19991121T000405.123Z",
		newKey(t).identity.Recipient()); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		k := nightly(t, dir, Plan{Daily: true, At: 3 * time.Hour, Keep: Keep{Days: 7}, Destination: second})
		time.Sleep(2 * time.Minute)
		if err := k.copyToDestination(t.Context(), ownNames(t, k.file(Folder))[0]); err == nil ||
			!strings.Contains(err.Error(), RecipientFile) {
			t.Errorf("got %v, want an error that names %s", err, RecipientFile)
		}
	})
	if there := ownNames(t, second); len(there) != 1 {
		t.Errorf("the backup destination contains %v, want only the sealed copy", there)
	}
}

// TestVerifyNamesRestore: verify cannot read sealed and incremental backups. The error names the command that checks
// them.
func TestVerifyNamesRestore(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	for name, c := range map[string]struct {
		path, file string
		sealed     bool
	}{
		"sealed":             {filepath.Join(in, "auto-20261123T020000.123Z"), DatabaseFile + sealedSuffix, true},
		"incremental":        {filepath.Join(in, "trail-000007-1f2e3d4c"), incrementName(0, false), false},
		"sealed incremental": {filepath.Join(in, "trail-000008-1f2e3d4c"), incrementName(0, true), true},
		"in a bucket":        {"s3://copies/auto-20261123T020000.123Z", "", true},
	} {
		if c.file != "" {
			if err := errors.Join(os.Mkdir(c.path, 0o700),
				os.WriteFile(filepath.Join(c.path, c.file), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		want := "holdfast restore --data DIR " + c.path
		if c.sealed {
			want = "holdfast restore --data DIR --key FILE " + c.path
		}
		err := Verify(t.Context(), c.path, func(context.Context, store.Store) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want the command %q", name, err, want)
		}
	}
}
