package sqlitetest_test

import (
	"path/filepath"
	"testing"

	"holdfast/store/sqlite"
	"holdfast/store/sqlite/sqlitetest"
)

// TestEmptyDatabasesHaveOwnIDs: each copy has its own id, and Empty does not change an existing file.
func TestEmptyDatabasesHaveOwnIDs(t *testing.T) {
	dir := t.TempDir()
	id := func(name string) string {
		path := filepath.Join(dir, name)
		sqlitetest.Empty(t, path)
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		return db.ID()
	}
	one, other := id("one.db"), id("other.db")
	if one == other || len(one) != 32 {
		t.Errorf("got the ids %q and %q, want two", one, other)
	}
	if again := id("one.db"); again != one {
		t.Errorf("after a restart: got the id %q, want %q", again, one)
	}
}
