package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/store"
)

func testAudit(t *testing.T, h Harness) {
	wantEntries := func(t *testing.T, what string, s store.Store, f store.AuditFilter, want ...string) {
		t.Helper()
		entries, next, err := s.Audit(t.Context(), f)
		var got []string
		for _, e := range entries {
			got = append(got, e.ID)
		}
		if err != nil || next != "" || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, next %q, %v; want %v", what, got, next, err, want)
		}
	}

	t.Run("every field is stored", func(t *testing.T) {
		s := h.open(t)
		want := store.AuditEntry{ID: "e1", At: monday, Actor: "user:u1", Action: "appointment.moved",
			Subject: "appointment:a1",
			Reason:  "asked", Before: json.RawMessage(`{"v": 1}`), After: json.RawMessage(`{"v": 2}`)}
		bare := store.AuditEntry{ID: "e0", At: monday}
		write(t, s, func(tx store.Tx) error {
			if err := tx.AppendAudit(t.Context(), want); err != nil {
				return err
			}
			return tx.AppendAudit(t.Context(), bare)
		})
		got, _, err := s.Audit(t.Context(), store.AuditFilter{})
		if err != nil || len(got) != 2 {
			t.Fatalf("got %d entries, %v; want 2", len(got), err)
		}
		if !sameJSON(got[0].Before, want.Before) || !sameJSON(got[0].After, want.After) || got[1].Before != nil ||
			got[1].After != nil {
			t.Errorf("before and after: got %s %s and %s %s", got[0].Before, got[0].After, got[1].Before, got[1].After)
		}
		for i, w := range []store.AuditEntry{want, bare} {
			got[i].Before, got[i].After, w.Before, w.After = nil, nil, nil, nil
			if fmt.Sprint(got[i]) != fmt.Sprint(w) {
				t.Errorf("entry %d: got %+v, want %+v", i, got[i], w)
			}
		}
	})

	t.Run("newest first, filtered and in pages", func(t *testing.T) {
		s := h.open(t)
		write(t, s, func(tx store.Tx) error {
			for i, e := range []store.AuditEntry{
				{Actor: "client", Action: "appointment.created", Subject: "appointment:1"},
				{Actor: "user:u", Action: "appointment.cancelled", Subject: "appointment:1"},
				{Actor: "user:u", Action: "appointment_type.changed", Subject: "type:1"},
				{Actor: "system", Action: "override.deleted", Subject: "override:1"},
			} {
				e.ID, e.At = fmt.Sprint("e", i), monday.Add(time.Duration(i/2)*time.Hour) // two entries at each instant
				if err := tx.AppendAudit(t.Context(), e); err != nil {
					return err
				}
			}
			return nil
		})
		wantEntries(t, "all", s, store.AuditFilter{}, "e3", "e2", "e1", "e0")
		wantEntries(t, "from", s, store.AuditFilter{From: monday.Add(time.Hour)}, "e3", "e2")
		wantEntries(t, "to", s, store.AuditFilter{To: monday.Add(time.Hour)}, "e1", "e0")
		wantEntries(t, "of an actor", s, store.AuditFilter{Actor: "user:u"}, "e2", "e1")
		wantEntries(t, "of an action", s, store.AuditFilter{Action: "appointment.created"}, "e0")
		wantEntries(t, "of a family of actions", s, store.AuditFilter{Action: "appointment."}, "e1", "e0")
		wantEntries(t, "of two subjects", s, store.AuditFilter{Subjects: []string{"appointment:1", "type:1"}}, "e2",
			"e1", "e0")
		wantEntries(t, "of no subject", s, store.AuditFilter{Subjects: []string{}})
		wantEntries(t, "of a subject", s, store.AuditFilter{Subjects: []string{"appointment:1"}}, "e1", "e0")

		var got []string
		for cursor := ""; ; {
			page, next, err := s.Audit(t.Context(), store.AuditFilter{Limit: 1, Cursor: cursor})
			if err != nil || len(page) != 1 || len(got) > 4 {
				t.Fatalf("a page of one: got %d, %v", len(page), err)
			}
			got = append(got, page[0].ID)
			if cursor = next; next == "" {
				break
			}
		}
		if want := []string{"e3", "e2", "e1", "e0"}; !slices.Equal(got, want) {
			t.Errorf("pages of one: got %v, want %v", got, want)
		}
		_, _, err := s.Audit(t.Context(), store.AuditFilter{Cursor: "x"})
		wantErr(t, "an invalid cursor", err, store.ErrInvalid)
	})

	t.Run("words", func(t *testing.T) {
		s := h.open(t)
		write(t, s, func(tx store.Tx) error {
			for i, e := range []store.AuditEntry{
				{Actor: "user:jo", Action: "appointment.cancelled", Subject: "appointment:1", Reason: "ÄRZTIN  krank"},
				{Actor: "user:joan", Action: "appointment.rescheduled", Subject: "appointment:2",
					Before: json.RawMessage(`{"specialistId":"ada"}`),
					After:  json.RawMessage(`{"specialistId":"karim"}`)},
				{Actor: "manage", Action: "appointment.cancelled", Subject: "appointment:joan"},
			} {
				e.ID, e.At = fmt.Sprint("e", i), monday.Add(time.Duration(i)*time.Hour)
				if err := tx.AppendAudit(t.Context(), e); err != nil {
					return err
				}
			}
			return nil
		})
		words := func(lists ...[]string) store.AuditFilter { return store.AuditFilter{Words: lists} }
		wantEntries(t, "a word of a reason in another case", s, words([]string{"ärztin"}), "e0")
		wantEntries(t, "two words", s, words([]string{"krank"}, []string{"cancelled"}), "e0")
		wantEntries(t, "a word that no entry has", s, words([]string{"krank"}, []string{"karim"}))
		wantEntries(t, "alternatives", s, words([]string{"krank", `"karim"`}), "e1", "e0")
		wantEntries(t, "a whole id", s, words([]string{":jo "}), "e0")
		wantEntries(t, "an id as a subject or an actor", s, words([]string{":joan "}), "e2", "e1")
		wantEntries(t, "a word of one subject", s, store.AuditFilter{
			Subjects: []string{"appointment:2"}, Words: [][]string{{"appointment"}}}, "e1")
		page, next, err := s.Audit(t.Context(), store.AuditFilter{Words: [][]string{{"cancelled"}}, Limit: 1})
		if err != nil || len(page) != 1 || page[0].ID != "e2" || next == "" {
			t.Fatalf("the first page: got %v, %q, %v; want e2 and a cursor", page, next, err)
		}
		wantEntries(t, "the second page", s, store.AuditFilter{Words: [][]string{{"cancelled"}},
			Limit: 1, Cursor: next}, "e0")
	})
}
