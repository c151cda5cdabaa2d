package enginetest_test

import (
	"path/filepath"
	"testing"

	"holdfast/engine/enginetest"
	"holdfast/store/sqlite"
)

// TestEmptyDatabasesHaveOwnIDs: each copy has its own id, and Empty does not change an existing file.
func TestEmptyDatabasesHaveOwnIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	one, other := enginetest.DatabaseAt(t, path), enginetest.Database(t)
	if one.ID() == other.ID() || len(one.ID()) != 32 {
		t.Errorf("got the ids %q and %q, want two", one.ID(), other.ID())
	}
	enginetest.Empty(t, path)
	again, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if again.ID() != one.ID() {
		t.Errorf("after a restart: got the id %q, want %q", again.ID(), one.ID())
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
