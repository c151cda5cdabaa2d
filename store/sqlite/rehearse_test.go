package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRehearsalRefusesNewerSchema expects the same error that Open returns.
func TestRehearsalRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdfast.db")
	files := migrationFiles(t, "SELECT 1;")
	if err := mustOpen(t, path, files).Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Rehearse(t.Context(), path, t.TempDir(), 1<<30)
	if err == nil || !strings.Contains(err.Error(), "run the newer program") {
		t.Errorf("got %+v, %v; want an error", r, err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file has changed (%v)", err)
	}
	if r, err := Rehearse(t.Context(), filepath.Join(t.TempDir(), "none.db"), t.TempDir(), 1<<30); err == nil {
		t.Errorf("of a missing file: got %+v, %v; want an error", r, err)
	}
}
