package sqlite

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/store"
)

// migrationFiles returns the program's own migrations, followed by more.
func migrationFiles(t *testing.T, more ...string) fstest.MapFS {
	t.Helper()
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, m := range known {
		files["migrations/"+m.Name] = &fstest.MapFile{Data: []byte(m.Text)}
	}
	for i, text := range more {
		files["migrations/"+migrationAfter(i)] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// migrationAfter returns the name of the migration after the program's own migrations and i more.
func migrationAfter(i int) string { return fmt.Sprintf("%04d_more.sql", SchemaVersion()+1+i) }

func mustOpen(t *testing.T, path string, files fs.FS) *Store {
	t.Helper()
	s, err := open(t.Context(), Options{Path: path}, files)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func mustClose(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func snapshotsOf(t *testing.T, path string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "backups", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantRefusal(t *testing.T, path string, files fs.FS, words ...string) {
	t.Helper()
	s, err := open(t.Context(), Options{Path: path}, files)
	if err == nil {
		s.Close()
		t.Fatalf("Open succeeded, want an error with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %q, want an error with %q", err, w)
		}
	}
}

const addColumn = "ALTER TABLE clinic ADD COLUMN motto TEXT NOT NULL DEFAULT '';"

func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	first, second := migrationFiles(t), migrationFiles(t, addColumn)
	ctx := context.Background()

	s := mustOpen(t, path, first)
	if err := s.Write(ctx, func(tx store.Tx) error { return tx.PutClinic(ctx, store.Clinic{Name: "Harbour"}) }); err != nil {
		t.Fatal(err)
	}
	id := s.ID()
	mustClose(t, s)
	if found := snapshotsOf(t, path); len(found) != 0 {
		t.Errorf("a new database left snapshots: %v", found)
	}
	mustClose(t, mustOpen(t, path, first)) // nothing to do

	s = mustOpen(t, path, second)
	if got, err := s.Schedule(ctx); err != nil || got.Clinic.Name != "Harbour" || s.ID() != id {
		t.Errorf("after the added migration: got %q of %s, %v", got.Clinic.Name, s.ID(), err)
	}
	mustClose(t, s)
	found := snapshotsOf(t, path)
	if len(found) != 1 || !strings.Contains(found[0], "before-"+migrationAfter(0)[:4]) {
		t.Fatalf("snapshots: got %v, want one before %s", found, migrationAfter(0))
	}
	if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the snapshot's mode: %v, %v; want 0600", info.Mode(), err)
	}

	newer, older := fmt.Sprint("schema version ", SchemaVersion()+1), fmt.Sprint("supports versions up to ", SchemaVersion())
	wantRefusal(t, path, first, newer, older, found[0])

	restored := filepath.Join(t.TempDir(), "holdfast.db")
	content, err := os.ReadFile(found[0])
	if err == nil {
		err = os.WriteFile(restored, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, restored, first)
	if got, err := s.Schedule(ctx); err != nil || got.Clinic.Name != "Harbour" || s.ID() != id {
		t.Errorf("the snapshot, restored: got %q of %s, %v", got.Clinic.Name, s.ID(), err)
	}
	mustClose(t, s)
}

// TestUpgradeWritesOneSnapshot checks that an upgrade over several migrations writes one snapshot, before the first of
// them.
func TestUpgradeWritesOneSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	mustClose(t, mustOpen(t, path, migrationFiles(t)))
	mustClose(t, mustOpen(t, path, migrationFiles(t, addColumn, "CREATE TABLE another (x ANY) STRICT;")))
	if found := snapshotsOf(t, path); len(found) != 1 || !strings.Contains(found[0], "before-"+migrationAfter(0)[:4]) {
		t.Errorf("snapshots: got %v, want one before %s", found, migrationAfter(0))
	}
}

func TestFailedMigrationIsRolledBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	mustClose(t, mustOpen(t, path, migrationFiles(t)))
	wantRefusal(t, path, migrationFiles(t, addColumn+"\nCREATE TABLE clinic (x);"), migrationAfter(0), "rolled back")
	mustClose(t, mustOpen(t, path, migrationFiles(t)))
	mustClose(t, mustOpen(t, path, migrationFiles(t, addColumn)))
}

func TestOpenRefusesEditedMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	mustClose(t, mustOpen(t, path, migrationFiles(t, addColumn)))
	wantRefusal(t, path, migrationFiles(t, addColumn+" -- a word more"), migrationAfter(0), "a different form")
}

func TestOpenRefusesMisnumberedMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	files := migrationFiles(t)
	files["migrations/"+migrationAfter(1)] = &fstest.MapFile{Data: []byte("SELECT 1;")}
	wantRefusal(t, path, files, "should be number "+migrationAfter(0)[:4])
	files = migrationFiles(t)
	files["migrations/two.sql"] = &fstest.MapFile{Data: []byte("SELECT 1;")}
	wantRefusal(t, path, files, "not named like")
}

// TestRefusalNamesSnapshotToRestore checks that the error names the newest snapshot that the older program could open.
func TestRefusalNamesSnapshotToRestore(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"before-0002-20260101T000000.000Z.db", "before-0003-20260102T000000.000Z.db",
		"before-0003-20260103T000000.000Z.db", "before-0004-20260104T000000.000Z.db", "other.db"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := wayBack(2, dir); !strings.Contains(got, "before-0003-20260103") {
		t.Errorf("got %q, want the newer of version 3", got)
	}
	if got := wayBack(2, filepath.Join(dir, "none")); !strings.Contains(got, "no snapshot was found") {
		t.Errorf("got %q, want an error that there is no snapshot", got)
	}
}

// TestOpenRefusesPartialClinic opens a file that contains only a part of a clinic, because a move into it was
// interrupted.
func TestOpenRefusesPartialClinic(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdfast.db")
	mustClose(t, mustOpen(t, path, migrations))
	c, err := openConn(dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.script(`INSERT INTO meta (key, value) VALUES ('` + unfinished + `', 'another')`); err != nil {
		t.Fatal(err)
	}
	c.close()
	if s, err := Open(t.Context(), Options{Path: path}); err == nil || !strings.Contains(err.Error(), "run holdfast migrate again") {
		t.Errorf("got %v, want an error", err)
		if err == nil {
			s.Close()
		}
	}
}
