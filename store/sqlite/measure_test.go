package sqlite

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"holdfast/store"
)

// TestStoreReportsMeasurements checks that each Write counts once, including refused ones, that a batch counts as one
// commit, and that the files have a size.
func TestStoreReportsMeasurements(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "holdfast.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := s.Measurements()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			at := time.UnixMilli(int64(i)).UTC()
			_ = s.Write(t.Context(), func(tx store.Tx) error {
				return tx.AppendAudit(t.Context(), store.AuditEntry{ID: "a" + at.Format("150405.000"), At: at, Actor: "system", Action: "test", Subject: "x"})
			})
		})
	}
	all.Wait()
	if err := s.Write(t.Context(), func(store.Tx) error { return store.ErrInvalid }); err == nil {
		t.Fatal("the invalid write was accepted")
	}
	m := s.Measurements()
	if n := m.Writes.Count - before.Writes.Count; n != 41 {
		t.Errorf("got %d writes, want 41", n)
	}
	if n := m.Commits.Count - before.Commits.Count; n < 1 || n > 40 {
		t.Errorf("got %d commits, want 1 to 40", n)
	}
	if m.Writes.Sum <= before.Writes.Sum || m.Commits.Sum <= before.Commits.Sum || m.Bytes <= 0 || m.LogBytes <= 0 {
		t.Errorf("got %+v, want positive times and sizes", m)
	}
}
