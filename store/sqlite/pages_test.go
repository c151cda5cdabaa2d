package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"holdfast/store"
)

// follow updates a file with the pages that Read passes to it, and records the moment with Keep.
func follow(t *testing.T, pages *Pages, file *PageFile, whole bool) Moment {
	t.Helper()
	m, err := pages.Read(t.Context(), whole, file.Put)
	if err != nil {
		t.Fatal(err)
	}
	if m.Changed > 0 {
		if err := file.Truncate(m.Count); err != nil {
			t.Fatal(err)
		}
		if file.Sums.State() != m.State() {
			t.Error("the pages differ from those of the database")
		}
	}
	pages.Keep(m)
	return m
}

func opened(t *testing.T) *Store {
	t.Helper()
	s := mustOpen(t, filepath.Join(t.TempDir(), "live.db"), migrations)
	t.Cleanup(func() { mustClose(t, s) })
	return s
}

// entries writes n audit entries, each in a separate commit.
func entries(t *testing.T, s *Store, n int) {
	t.Helper()
	for range n {
		err := s.Write(t.Context(), func(tx store.Tx) error {
			return tx.AppendAudit(t.Context(), store.AuditEntry{ID: rand.Text(), At: time.Now(), Actor: "system", Action: "test"})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagesFollowTheDatabase checks that a file made of the returned pages equals the database at each moment,
// regardless of checkpoints. If nothing was written, Read returns no page. Without a call of Keep, it returns the same
// pages again.
func TestPagesFollowTheDatabase(t *testing.T) {
	s := opened(t)
	path := filepath.Join(t.TempDir(), "copy.db")
	file, err := CreatePageFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pages := s.Pages()
	defer pages.Close()
	first := follow(t, pages, file, false)
	if first.Changed != first.Count || first.Count < 10 {
		t.Errorf("at first, %d of %d pages were passed on, want all", first.Changed, first.Count)
	}
	if m := follow(t, pages, file, false); m.Changed != 0 || m.State() != first.State() {
		t.Errorf("without a write, %d pages were passed on", m.Changed)
	}
	entries(t, s, 1)
	few := follow(t, pages, file, false)
	if few.Changed == 0 || few.Changed > first.Count/2 {
		t.Errorf("after one entry, %d of %d pages were passed on", few.Changed, few.Count)
	}
	entries(t, s, 300)
	if m := follow(t, pages, file, false); m.Count <= first.Count {
		t.Errorf("the database has %d pages after 300 entries, and had %d", m.Count, first.Count)
	}
	if err := s.checkpoint.alone(func() error { _, err := passive(s.writer.conn); return err }); err != nil {
		t.Fatal(err)
	}
	if m := follow(t, pages, file, false); m.Changed != 0 {
		t.Errorf("a checkpoint has changed %d pages", m.Changed)
	}

	entries(t, s, 1)
	refused := errors.New("no room")
	if _, err := pages.Read(t.Context(), false, func(int, []byte) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("got %v, want the receiver's error", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pages.Read(cancelled, true, func(int, []byte) error { return nil }); err == nil {
		t.Error("a cancelled read reports success")
	}
	if m := follow(t, pages, file, false); m.Changed == 0 {
		t.Error("refused pages were not passed on again")
	}
	if m := follow(t, pages, file, true); m.Changed != m.Count {
		t.Errorf("of the whole database, %d of %d pages were passed on", m.Changed, m.Count)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := Verify(t.Context(), path)
	if err != nil || found.ID != s.ID() {
		t.Errorf("the copy is %+v, %v", found, err)
	}
}

// TestPagesFollowShrunkFile checks that pages that are deleted from the file are deleted from the copy.
func TestPagesFollowShrunkFile(t *testing.T) {
	s := opened(t)
	other, err := openConn(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.script("CREATE TABLE filler AS SELECT randomblob(400000) AS bytes"); err != nil {
		t.Fatal(err)
	}
	file, err := CreatePageFile(filepath.Join(t.TempDir(), "copy.db"))
	if err != nil {
		t.Fatal(err)
	}
	pages := s.Pages()
	defer pages.Close()
	before := follow(t, pages, file, false)
	if err := other.script("DROP TABLE filler; VACUUM"); err != nil {
		t.Fatal(err)
	}
	if after := follow(t, pages, file, false); after.Count >= before.Count {
		t.Errorf("the database has %d pages, and had %d", after.Count, before.Count)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPageFileRefusesInvalidPage tries pages of other sizes and numbers.
func TestPageFileRefusesInvalidPage(t *testing.T) {
	file, err := CreatePageFile(filepath.Join(t.TempDir(), "copy.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Put(1, make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"no number": file.Put(0, make([]byte, 4096)), "another size": file.Put(2, make([]byte, 512)), "more than there are": file.Truncate(2),
	} {
		if !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}
