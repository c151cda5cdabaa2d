package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testIdempotency(t *testing.T, h Harness) {
	answer := func(scope, key string, at time.Time) store.IdempotencyRecord {
		return store.IdempotencyRecord{Scope: scope, Key: key, Fingerprint: [32]byte{1, 2, 31: 3}, Status: 201,
			Body: []byte(`{"id":"x"}`), CreatedAt: at}
	}
	remember := func(t *testing.T, s store.Store, r store.IdempotencyRecord) error {
		return s.Write(t.Context(), func(tx store.Tx) error { return tx.Remember(t.Context(), r) })
	}
	day := store.IdempotencyRetention

	t.Run("a stored answer is returned until it expires", func(t *testing.T) {
		s := h.open(t)
		want := answer("scope", "key", monday)
		wantErr(t, "Remember", remember(t, s, want), nil)
		got, err := s.Recall(t.Context(), "scope", "key", monday.Add(-time.Millisecond))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		for name, ask := range map[string]func() error{
			"not before the very instant": func() error {
				_, err := s.Recall(t.Context(), "scope", "key", monday)
				return err
			},
			"another key": func() error {
				_, err := s.Recall(t.Context(), "scope", "other", time.Time{})
				return err
			},
			"another scope": func() error {
				_, err := s.Recall(t.Context(), "other", "key", time.Time{})
				return err
			},
		} {
			wantErr(t, name, ask(), store.ErrNotFound)
		}
	})

	t.Run("a valid answer is not replaced, an expired one is", func(t *testing.T) {
		s := h.open(t)
		wantErr(t, "the first", remember(t, s, answer("s", "k", monday)), nil)
		wantErr(t, "a millisecond before its day is over", remember(t,
			s, answer("s", "k", monday.Add(day-time.Millisecond))), store.ErrDuplicate)
		wantErr(t, "the same key of another scope", remember(t, s, answer("s2", "k", monday)), nil)
		wantErr(t, "when its day is over", remember(t, s, answer("s", "k", monday.Add(day))), nil)
		if got, err := s.Recall(t.Context(), "s", "k", monday); err != nil || !got.CreatedAt.Equal(monday.Add(day)) {
			t.Errorf("got one of %v, %v; want the newer", got.CreatedAt, err)
		}
	})

	t.Run("a second answer under one key undoes its appointment", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		book := func(a store.Appointment) error {
			return s.Write(t.Context(), func(tx store.Tx) error {
				if err := tx.InsertAppointment(t.Context(), a); err != nil {
					return err
				}
				return tx.Remember(t.Context(), answer("s", "k", monday))
			})
		}
		wantErr(t, "the first", book(booking("ada", "checkup", 0, 30)), nil)
		second := booking("ada", "checkup", 60, 30)
		wantErr(t, "the second", book(second), store.ErrDuplicate)
		_, err := s.Appointment(t.Context(), second.ID)
		wantErr(t, "its appointment", err, store.ErrNotFound)
	})

	t.Run("expired answers are deleted in batches", func(t *testing.T) {
		s := h.open(t)
		for i, at := range []time.Duration{0, 1, 2, 3, 4} {
			wantErr(t, "Remember", remember(t, s, answer("s", string(rune('a'+i)), monday.Add(at*time.Hour))), nil)
		}
		forget := func(before time.Time, limit int) (n int) {
			write(t, s, func(tx store.Tx) (err error) {
				n, err = tx.ForgetAnswers(t.Context(), before, limit)
				return err
			})
			return n
		}
		for i, want := range []int{2, 1, 0} {
			if n := forget(monday.Add(3*time.Hour), 2); n != want {
				t.Errorf("round %d: got %d forgotten, want %d", i, n, want)
			}
		}
		_, err := s.Recall(t.Context(), "s", "d", time.Time{})
		wantErr(t, "the one at the very instant", err, nil)
	})

	t.Run("an empty answer", func(t *testing.T) {
		s := h.open(t)
		empty := answer("s", "k", monday)
		empty.Body = nil
		wantErr(t, "Remember", remember(t, s, empty), nil)
		if got, err := s.Recall(t.Context(), "s", "k", time.Time{}); err != nil || len(got.Body) != 0 {
			t.Errorf("got %q, %v; want nothing", got.Body, err)
		}
	})
}
