package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// Commits never wait for a checkpoint, and still the log does not grow with the number of commits.
func TestTheLogStaysShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	b := newTestStore(t, Options{Path: path, checkpointPages: 20})
	longest := int64(0)
	for n := range int64(1000) {
		if err := b.insert(context.Background(), n); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, info.Size())
	}
	// A commit is about six pages; without checkpoints this would be 24 MB.
	if limit := int64(4 << 20); longest > limit {
		t.Errorf("the log grew to %d bytes, want at most %d", longest, limit)
	}
	if err := b.Check(context.Background()); err != nil {
		t.Error(err)
	}
	mustClose(t, b.Store)
	if _, err := os.Stat(path + "-wal"); !os.IsNotExist(err) {
		t.Errorf("closing left the log behind: %v", err)
	}
}
