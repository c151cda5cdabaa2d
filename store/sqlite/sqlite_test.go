package sqlite

import (
	"path/filepath"
	"testing"

	"holdfast/store"
	"holdfast/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{Open: func(t testing.TB, dir string) store.Store {
		s, err := Open(t.Context(), Options{Path: filepath.Join(dir, "holdfast.db")})
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		return s
	}})
}
