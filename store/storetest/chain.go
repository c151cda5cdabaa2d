package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"holdfast/store"
)

// appendEntry adds one audit entry with a value in each of its columns.
func appendEntry(s store.Store, id string) error {
	return s.Write(context.Background(), func(tx store.Tx) error {
		return tx.AppendAudit(context.Background(), store.AuditEntry{ID: id,
			At: monday, Actor: "user:u1", Action: "appointment.moved",
			Subject: "appointment:" + id, Reason: "asked", Before: json.RawMessage(`{"v": 1}`),
			After: json.RawMessage(`{"v": 2}`)})
	})
}

func wantChain(t *testing.T, s store.Store, links int64) {
	t.Helper()
	if head, err := s.ChainLink(t.Context(), 0); err != nil || head.Position != links {
		t.Errorf("the chain has %d links, %v; want %d", head.Position, err, links)
	}
	wantErr(t, "Check", s.Check(t.Context()), nil)
}

func testChain(t *testing.T, h Harness) {
	t.Run("concurrent writes form one chain", func(t *testing.T) {
		s := h.open(t)
		wantChain(t, s, 0)
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for i := range 25 {
					id := fmt.Sprintf("e-%d-%d", worker, i)
					undone := errors.New("undone")
					err := s.Write(context.Background(), func(tx store.Tx) error {
						for part := range 2 {
							e := store.AuditEntry{ID: fmt.Sprint(id, "-", part), At: monday, Actor: "client",
								Action: "test"}
							if err := tx.AppendAudit(context.Background(), e); err != nil {
								return err
							}
						}
						if i%5 == 4 {
							return undone
						}
						return nil
					})
					if want := i%5 == 4; errors.Is(err, undone) != want || !want && err != nil {
						t.Errorf("%s: %v", id, err)
					}
				}
			})
		}
		wg.Wait()
		wantChain(t, s, 8*20*2)
	})

	t.Run("a function that ends its goroutine adds no entry", func(t *testing.T) {
		s := h.open(t)
		wantErr(t, "the first", appendEntry(s, "e1"), nil)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Write(context.Background(), func(tx store.Tx) error {
				if err := tx.AppendAudit(context.Background(),
					store.AuditEntry{ID: "e2", At: monday, Actor: "client", Action: "test"}); err != nil {
					return err
				}
				runtime.Goexit()
				return nil
			})
		}()
		<-ended
		wantErr(t, "the next", appendEntry(s, "e3"), nil)
		wantChain(t, s, 2)
	})

	t.Run("a refused entry is not in the chain", func(t *testing.T) {
		s := h.open(t)
		wantErr(t, "the first", appendEntry(s, "e1"), nil)
		wantErr(t, "the same again", appendEntry(s, "e1"), store.ErrDuplicate)
		wantErr(t, "the next", appendEntry(s, "e2"), nil)
		wantChain(t, s, 2)
	})

	t.Run("an entry is found by its position", func(t *testing.T) {
		s := h.open(t)
		for i := range 3 {
			wantErr(t, "AppendAudit", appendEntry(s, fmt.Sprint("e", i)), nil)
		}
		last, err := s.ChainLink(t.Context(), 0)
		wantErr(t, "the last", err, nil)
		third, err := s.ChainLink(t.Context(), 3)
		wantErr(t, "the third", err, nil)
		second, err := s.ChainLink(t.Context(), 2)
		wantErr(t, "the second", err, nil)
		if last != third || second.Position != 2 || second.Hash == third.Hash {
			t.Errorf("got %v, %v and %v", last, third, second)
		}
		_, err = s.ChainLink(t.Context(), 4)
		wantErr(t, "the fourth", err, store.ErrNotFound)
	})

	t.Run("the chain continues after a restart", func(t *testing.T) {
		dir := t.TempDir()
		s := h.Open(t, dir)
		wantErr(t, "before", appendEntry(s, "e1"), nil)
		wantErr(t, "Close", s.Close(), nil)
		s = h.Open(t, dir)
		defer Verify(t, s)
		wantErr(t, "after", appendEntry(s, "e2"), nil)
		wantChain(t, s, 2)
	})

	t.Run("an erasure adds one entry to the chain", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		zoe := store.Patient{Name: "Zoe Canary", Email: "zoe@example.org"}
		leaveTraces(t, s, "zoe", 0, zoe)
		before, err := s.ChainLink(t.Context(), 0)
		wantErr(t, "ChainLink", err, nil)
		for range 2 {
			if _, err := eraseNow(t, s, store.Person{Email: zoe.Email}); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "after it", appendEntry(s, fmt.Sprint("e", serial.Add(1))), nil)
		}
		wantChain(t, s, before.Position+2+2) // the erasures of two entries, and the two entries added after them
	})
}

// Tamper proves that Check detects changes to the audit chain that bypass the backend. open returns a fresh store,
// and a function that runs SQL on its database. The SQL works in both databases.
func Tamper(t *testing.T, open func(t *testing.T) (s store.Store, run func(sql string) error)) {
	const entry = "UPDATE audit_entries SET "
	for name, test := range map[string]struct{ sql, want string }{
		"id":      {entry + "id = 'other' WHERE id = 'e3'", "link 3, entry other, was altered"},
		"at":      {entry + "at = at + 1 WHERE id = 'e3'", "link 3, entry e3, was altered"},
		"actor":   {entry + "actor = 'client' WHERE id = 'e3'", "link 3, entry e3, was altered"},
		"action":  {entry + "action = 'appointment.movedx' WHERE id = 'e3'", "link 3, entry e3, was altered"},
		"subject": {entry + "subject = '' WHERE id = 'e3'", "link 3, entry e3, was altered"},
		"reason":  {entry + "reason = 'askedx' WHERE id = 'e3'", "link 3, entry e3: its reason, before or after"},
		"before":  {entry + "before = NULL WHERE id = 'e3'", "link 3, entry e3: its reason, before or after"},
		"after":   {entry + "after = '{\"v\": 3}' WHERE id = 'e3'", "link 3, entry e3: its reason, before or after"},
		"swapped": {entry + "before = after, after = before WHERE id = 'e3'",
			"link 3, entry e3: its reason, before or after"},
		"shifted": {entry + "actor = 'user:u1a', action = 'ppointment.moved' WHERE id = 'e3'",
			"link 3, entry e3, was altered"},
		"blanked": {entry + "reason = '', before = NULL, after = NULL, salt = substr(salt, 1, 0) WHERE id = 'e3'",
			"the chain has no erasure of it"},
		"salt":     {entry + "salt = digest WHERE id = 'e3'", "link 3, entry e3: its reason, before or after"},
		"digest":   {entry + "digest = hash WHERE id = 'e3'", "link 3, entry e3, was altered"},
		"hash":     {entry + "hash = digest WHERE id = 'e3'", "link 3, entry e3, was altered"},
		"position": {entry + "position = 30 WHERE id = 'e3'", "link 3 is missing"},
		"twice":    {entry + "position = 2 WHERE id = 'e3'", "claims link 2, which belongs to another entry"},
		"added": {"INSERT INTO audit_entries (id, at, actor, action, subject, reason) VALUES ('mine', 0, '', '', " +
			"'', '')", "entry mine is not part of the chain"},
		"exchanged": {entry + "position = 9 - position WHERE id IN ('e4', 'e5')", "link 4, entry e5, was altered"},

		"the first is deleted": {"DELETE FROM audit_entries WHERE id = 'e1'", "link 1 is missing"},
		"one is deleted":       {"DELETE FROM audit_entries WHERE id = 'e3'", "link 3 is missing"},
		"the last is deleted":  {"DELETE FROM audit_entries WHERE id = 'e9'", "link 10 is missing"},
		"the head is deleted":  {"DELETE FROM audit_head", "the head of the chain is missing"},
		"the head's position": {"UPDATE audit_head SET position = 9",
			"link 10 is not the link that was written last"},
		"the head's hash": {"UPDATE audit_head SET hash = (SELECT hash FROM audit_entries WHERE id = 'e3')",
			"link 10 is not the link that was written last"},
		"an erasure is deleted": {"DELETE FROM audit_erasures WHERE entry = 6",
			"link 6, entry e6: its reason, before or after"},
		"an erasure's entry": {"UPDATE audit_erasures SET entry = 5",
			"link 5, entry e5, was erased but still has texts"},
		"an erasure's position": {"UPDATE audit_erasures SET position = 12", "link 9 is missing"},
		"an erasure's hash": {"UPDATE audit_erasures SET hash = (SELECT hash FROM audit_entries WHERE id = 'e3')",
			"link 9, an erasure, was altered"},
		"an erasure is added": {"INSERT INTO audit_erasures (position, entry, hash) SELECT 11, 4, hash FROM " +
			"audit_erasures", "link 4, entry e4, was erased but still has texts"},
		"what was erased is filled": {entry + "reason = 'new' WHERE id = 'e6'",
			"link 6, entry e6, was erased but still has texts"},
	} {
		t.Run(name, func(t *testing.T) {
			s, run := open(t)
			defer s.Close()
			// Links 1 to 8 are e1 to e8. Entry e6 is about a person. Link 9 is the erasure of that entry, and link 10
			// is e9.
			for i := 1; i <= 8; i++ {
				wantErr(t, "AppendAudit", appendEntry(s, fmt.Sprint("e", i)), nil)
			}
			if _, err := eraseNow(t, s, store.Person{Owner: "e6"}); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "AppendAudit", appendEntry(s, "e9"), nil)
			wantChain(t, s, 10)
			if err := run(test.sql); err != nil {
				t.Fatalf("%s: %v", test.sql, err)
			}
			if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "audit: ") ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("%s:\ngot  %v\nwant %q", test.sql, err, test.want)
			}
		})
	}
}
