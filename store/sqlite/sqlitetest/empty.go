// Package sqlitetest prepares SQLite databases for tests.
package sqlitetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"holdfast/store/sqlite"
)

// Empty writes a database without rows to a path, unless a file already exists there. It runs all migrations once per
// test binary and copies the result, because with the race detector the migrations take longer than most tests that
// need a database.
func Empty(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	made, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	// Every database needs its own id: copies with the same id would count as one clinic.
	id := make([]byte, len(made.id)/2)
	if _, err := rand.Read(id); err != nil {
		t.Fatal(err)
	}
	content := bytes.Replace(made.content, []byte(made.id), []byte(hex.EncodeToString(id)), 1)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

type emptyDatabase struct {
	id      string
	content []byte
}

var migrated = sync.OnceValues(func() (made emptyDatabase, err error) {
	dir, err := os.MkdirTemp("", "holdfast-empty-")
	if err != nil {
		return made, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "holdfast.db")
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
	if err != nil {
		return made, err
	}
	made.id = db.ID()
	if err := db.Close(); err != nil {
		return made, err
	}
	if made.content, err = os.ReadFile(path); err != nil {
		return made, err
	}
	if n := bytes.Count(made.content, []byte(made.id)); n != 1 {
		return made, fmt.Errorf("the id of an empty database is in its file %d times, want once", n)
	}
	return made, nil
})
