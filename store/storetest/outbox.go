package storetest

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testOutbox(t *testing.T, h Harness) {
	promised := func(id string) store.Operation {
		return store.Operation{
			ID: id, Kind: store.UpstreamBook, AppointmentID: "a-1", Status: store.OperationPending,
			NeedsReview: true, Unknown: true, Attempts: 1, Lookups: 2, MaxAttempts: 10, CreatedAt: monday,
			NextAttemptAt: monday.Add(1 * time.Hour), AttemptedAt: monday.Add(2 * time.Hour),
			FinishedAt: monday.Add(3 * time.Hour), Deadline: monday.Add(4 * time.Hour),
			StartTime: monday.Add(5 * time.Hour), LastError: "e", Result: "r", Payload: json.RawMessage(`{"n": 1}`),
		}
	}
	promise := func(t *testing.T, s store.Store, op store.Operation) error {
		return s.Write(t.Context(), func(tx store.Tx) error { return tx.Promise(t.Context(), op) })
	}

	t.Run("every field is stored", func(t *testing.T) {
		s := h.open(t)
		bare := store.Operation{ID: "op-2", Kind: store.Email, Status: store.OperationPending}
		wantErr(t, "Promise", promise(t, s, promised("op-1")), nil)
		wantErr(t, "Promise", promise(t, s, bare), nil)
		got, err := s.Outbox(t.Context(), "", 10)
		wantErr(t, "Outbox", err, nil)
		want := []store.Operation{promised("op-1"), bare}
		for i := range got {
			if !sameJSON(got[i].Payload, want[i].Payload) {
				t.Errorf("payload: got %s, want %s", got[i].Payload, want[i].Payload)
			}
			got[i].Payload, want[i].Payload = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
		one, err := s.Promised(t.Context(), "op-2")
		wantErr(t, "Promised", err, nil)
		if !reflect.DeepEqual(one, bare) {
			t.Errorf("Promised:\n got %+v\nwant %+v", one, bare)
		}
	})

	t.Run("an operation is found by its id", func(t *testing.T) {
		s := h.open(t)
		_, err := s.Promised(t.Context(), "op-1")
		wantErr(t, "Promised before the promise", err, store.ErrNotFound)
		write(t, s, func(tx store.Tx) error {
			if err := tx.Promise(t.Context(), promised("op-1")); err != nil {
				return err
			}
			got, err := tx.Promised(t.Context(), "op-1")
			if err == nil && got.ID != "op-1" {
				t.Errorf("Promised in the transaction: got %q", got.ID)
			}
			return err
		})
		for _, id := range []string{"op-", "op-10", ""} {
			_, err := s.Promised(t.Context(), id)
			wantErr(t, "Promised with another id", err, store.ErrNotFound)
		}
		write(t, s, func(tx store.Tx) error { return tx.Fulfil(t.Context(), "op-1") })
		_, err = s.Promised(t.Context(), "op-1")
		wantErr(t, "Promised after it is fulfilled", err, store.ErrNotFound)
	})

	t.Run("an operation stays until it is delivered", func(t *testing.T) {
		s := h.open(t)
		for _, id := range []string{"op-3", "op-1", "op-2"} {
			wantErr(t, "Promise "+id, promise(t, s, promised(id)), nil)
		}
		wantErr(t, "the same id again", promise(t, s, promised("op-1")), store.ErrDuplicate)
		wantOps := func(what, after string, limit int, want ...string) {
			t.Helper()
			ops, err := s.Outbox(t.Context(), after, limit)
			if err != nil || len(ops) != len(want) {
				t.Errorf("%s: got %d, %v; want %v", what, len(ops), err, want)
				return
			}
			for i := range ops {
				if ops[i].ID != want[i] {
					t.Errorf("%s: got %s at %d, want %s", what, ops[i].ID, i, want[i])
				}
			}
		}
		wantOps("all, by id", "", 10, "op-1", "op-2", "op-3")
		wantOps("the first two", "", 2, "op-1", "op-2")
		wantOps("after those", "op-2", 2, "op-3")
		for range 2 {
			write(t, s, func(tx store.Tx) error { return tx.Fulfil(t.Context(), "op-2") })
		}
		wantOps("after one is fulfilled", "", 10, "op-1", "op-3")
	})
}
