package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"holdfast/store"
	"holdfast/store/sqlite"
	"holdfast/store/sqlite/sqlitetest"
	"holdfast/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{Open: func(t testing.TB, dir string) store.Store {
		path := filepath.Join(dir, "holdfast.db")
		sqlitetest.Empty(t, path)
		s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		return s
	}})
}
