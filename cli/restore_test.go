package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/sqlite"
)

// inDatabase runs fn on the database of a data directory that no server has open.
func inDatabase(t *testing.T, dir string, fn func(ctx context.Context, s *sqlite.Store) error) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, databaseFile)})
	if err != nil {
		t.Fatal(err)
	}
	if err := fn(t.Context(), s); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRestoreRevokesCredentials: browsers that were signed in at the time of the backup are signed out. The output
// names exactly the API keys that were revoked after the backup.
func TestRestoreRevokesCredentials(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	inDatabase(t, dir, func(ctx context.Context, s *sqlite.Store) error {
		return s.Write(ctx, func(tx store.Tx) error {
			now := time.Now()
			user := store.User{ID: "jo", Email: "jo@clinic.example", Name: "Jo", Role: store.RoleOwner, Active: true,
				PasswordHash: "x", CreatedAt: now}
			if err := tx.PutUser(ctx, user); err != nil {
				return err
			}
			return tx.InsertSignIn(ctx, store.SignIn{ID: "here",
				Hash: [32]byte{1}, UserID: "jo", CreatedAt: now, LastSeenAt: now, ExpiresAt: now.AddDate(0, 0, 7)})
		})
	})
	for _, name := range []string{"phone", "kept"} {
		must(t, "apikey", "create", "--data", dir, "--name", name, "--scope", "agent")
	}
	backup := filepath.Join(t.TempDir(), "backup")
	must(t, "backup", "--data", dir, "--to", backup)
	var phone string
	inDatabase(t, dir, func(ctx context.Context, s *sqlite.Store) error {
		keys, err := s.APIKeys(ctx)
		for _, k := range keys {
			if k.Name == "phone" {
				phone = k.ID
			}
		}
		return err
	})
	must(t, "apikey", "revoke", "--data", dir, phone)
	said := must(t, "restore", "--data", dir, backup)
	contains(t, "restore", said, "signed out", "valid again", phone, "phone", "erase them again",
		"BEFORE you start the server again", "/staff/plan")
	if strings.Contains(said, "kept,") {
		t.Errorf("the output lists a key that was not revoked: %s", said)
	}
	inDatabase(t, dir, func(ctx context.Context, s *sqlite.Store) error {
		if left, err := s.SignIns(ctx, "jo"); err != nil || len(left) > 0 {
			t.Errorf("sign-ins after the restore: got %+v, %v; want none", left, err)
		}
		return nil
	})
}

// TestMissingBackupIsNamed: a path has a typing error, or its disk is not mounted. The error does not blame the key.
func TestMissingBackupIsNamed(t *testing.T) {
	t.Parallel()
	dir, places := clinicDir(t), t.TempDir()
	path := filepath.Join(places, "auto-20200101T000000.000Z")
	want := path + " does not exist. To list the backups, run: holdfast restore --list " + places
	for _, args := range [][]string{
		{"restore", "--data", dir, path},
		{"restore", "--data", dir, "--key", write(t, newKey(t).String()), path},
		{"verify", path},
	} {
		if got := command(t, nil, "", args...); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: got %+v, want %q", args, got, want)
		}
	}
}

// TestRestoreRefusesOtherFiles: restore refuses files that are not a backup. It refuses a pipe without waiting for
// input.
func TestRestoreRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	backup := filepath.Join(t.TempDir(), "backup")
	must(t, "backup", "--data", dir, "--to", backup)
	for _, name := range []string{databaseFile, secretFile} {
		path := filepath.Join(backup, name)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		got := command(t, nil, "", "restore", "--data", dir, backup)
		if got.code != 1 || !strings.Contains(got.stderr, "is not a file") {
			t.Errorf("%s: got %+v, want exit code 1", name, got)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
}
