package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"holdfast/store"
)

func testWrite(t *testing.T, h Harness) {
	t.Run("a write applies completely or not at all", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		own := errors.New("the caller's own reason")
		a := booking("ada", "checkup", 0, 30)
		err := s.Write(t.Context(), func(tx store.Tx) error {
			return errors.Join(
				tx.InsertAppointment(t.Context(), a),
				tx.AppendAudit(t.Context(), store.AuditEntry{ID: "e1",
					At: monday, Actor: "client", Action: "appointment.created"}),
				tx.Promise(t.Context(), store.Operation{ID: "op-1",
					Kind: store.Webhook, Status: store.OperationPending}),
				own)
		})
		wantErr(t, "Write", err, own)
		_, err = s.Appointment(t.Context(), a.ID)
		wantErr(t, "the appointment of a failed write", err, store.ErrNotFound)
		if entries, _, err := s.Audit(t.Context(), store.AuditFilter{}); err != nil || len(entries) != 0 {
			t.Errorf("audit entries of a failed write: got %d, %v; want none", len(entries), err)
		}
		if ops, err := s.Outbox(t.Context(), "", 10); err != nil || len(ops) != 0 {
			t.Errorf("outbox of a failed write: got %d, %v; want none", len(ops), err)
		}
	})

	t.Run("the error of the function is returned unchanged", func(t *testing.T) {
		s := h.open(t)
		own := errors.New("mine")
		if err := s.Write(t.Context(), func(store.Tx) error { return own }); err != own {
			t.Errorf("got %v, want the very error", err)
		}
	})

	t.Run("a trial runs the function without changing the database", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		trial, a, own := store.WithTrial(t.Context()), booking("ada", "checkup", 0, 30), errors.New("mine")
		insert := func(tx store.Tx) error {
			if err := tx.InsertAppointment(t.Context(), a); err != nil {
				return err
			}
			_, err := tx.Appointment(t.Context(), a.ID)
			return err
		}
		wantErr(t, "Write on trial", s.Write(trial, insert), store.ErrTrial)
		wantErr(t, "a failed Write on trial", s.Write(trial, func(store.Tx) error { return own }), own)
		_, err := s.Erase(trial, store.Person{Email: "rosa@example.org"}, monday, func(store.Tx, store.Erased) error {
			return nil
		})
		wantErr(t, "Erase on trial", err, store.ErrTrial)
		_, err = s.Appointment(t.Context(), a.ID)
		wantErr(t, "the appointment of a trial", err, store.ErrNotFound)
		wantErr(t, "Write afterwards", s.Write(t.Context(), insert), nil)
	})

	t.Run("a transaction sees its own changes, others see them after the commit", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		a := booking("ada", "checkup", 0, 30)
		write(t, s, func(tx store.Tx) error {
			if err := tx.InsertAppointment(t.Context(), a); err != nil {
				return err
			}
			if got, err := tx.Appointment(t.Context(), a.ID); err != nil || got.ID != a.ID {
				t.Errorf("in the transaction: got %q, %v", got.ID, err)
			}
			_, err := s.Appointment(t.Context(), a.ID)
			wantErr(t, "outside, before the commit", err, store.ErrNotFound)
			return nil
		})
		_, err := s.Appointment(t.Context(), a.ID)
		wantErr(t, "outside, after the commit", err, nil)
	})

	t.Run("a refused row leaves the rest of its own transaction usable", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		mustInsert(t, s, booking("ada", "checkup", 0, 30))
		second := booking("ben", "checkup", 0, 30)
		write(t, s, func(tx store.Tx) error {
			wantErr(t, "the taken specialist", tx.InsertAppointment(t.Context(), booking("ada", "checkup", 0, 30)),
				store.ErrSlotTaken)
			return tx.InsertAppointment(t.Context(), second)
		})
		_, err := s.Appointment(t.Context(), second.ID)
		wantErr(t, "the one tried next", err, nil)
	})

	t.Run("failures and panics do not affect concurrent writes", func(t *testing.T) {
		neighbours(t, h.open(t))
	})

	t.Run("Write raises the panic of its function", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		a := booking("ada", "checkup", 0, 30)
		raised := func() (p any) {
			defer func() { p = recover() }()
			s.Write(t.Context(), func(tx store.Tx) error {
				if err := tx.InsertAppointment(t.Context(), a); err != nil {
					return err
				}
				panic("on purpose")
			})
			return nil
		}()
		if raised != "on purpose" {
			t.Errorf("the panic is %v, want the function's own value", raised)
		}
		_, err := s.Appointment(t.Context(), a.ID)
		wantErr(t, "what it had done", err, store.ErrNotFound)
		mustInsert(t, s, a)
	})

	t.Run("a function that ends its goroutine ends only its caller's", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		var wg sync.WaitGroup
		for range 5 {
			returned := true
			wg.Go(func() {
				returned = false
				s.Write(context.Background(), func(tx store.Tx) error {
					runtime.Goexit()
					return nil
				})
				returned = true
			})
			wg.Wait()
			if returned {
				t.Error("Write returned although its function ended the goroutine")
			}
		}
		mustInsert(t, s, booking("ada", "checkup", 0, 30))
	})

	t.Run("a transaction is unusable after its function returned", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		var kept store.Tx
		write(t, s, func(tx store.Tx) error { kept = tx; return nil })
		if err := kept.InsertAppointment(t.Context(), booking("ada", "checkup", 0, 30)); err == nil {
			t.Error("a change after the function returned: got no error")
		}
		if _, err := kept.Schedule(t.Context()); err == nil {
			t.Error("a read after the function returned: got no error")
		}
	})

	t.Run("a cancelled context prevents a start and never interrupts a running write", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		a, b := booking("ada", "checkup", 0, 30), booking("ada", "checkup", 60, 30)
		err := s.Write(ctx, func(tx store.Tx) error {
			cancel()
			if _, err := tx.Schedule(ctx); err != nil {
				return err
			}
			return tx.InsertAppointment(ctx, a)
		})
		wantErr(t, "cancelled after the start", err, nil)
		_, err = s.Appointment(t.Context(), a.ID)
		wantErr(t, "the row", err, nil)
		ran := false
		err = s.Write(ctx, func(tx store.Tx) error {
			ran = true
			return tx.InsertAppointment(ctx, b)
		})
		wantErr(t, "cancelled before the start", err, context.Canceled)
		if ran {
			t.Error("the function ran although its context was already cancelled")
		}
		_, err = s.Appointment(ctx, a.ID)
		wantErr(t, "a question with a cancelled context", err, context.Canceled)
	})

	t.Run("instants have milliseconds and are in UTC", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		a := booking("ada", "checkup", 0, 30)
		a.CreatedAt = time.Date(2026, 3, 1, 12, 0, 0, 123_999_999, berlin)
		mustInsert(t, s, a)
		got, err := s.Appointment(t.Context(), a.ID)
		wantErr(t, "Appointment", err, nil)
		if want := time.Date(2026, 3, 1, 11, 0, 0, 123_000_000, time.UTC); got.CreatedAt != want {
			t.Errorf("created at: got %v, want %v", got.CreatedAt, want)
		}
		if !got.CancelledAt.IsZero() {
			t.Errorf("never cancelled: got %v, want the zero time", got.CancelledAt)
		}
	})

	t.Run("stored data is there after a restart", func(t *testing.T) {
		dir := t.TempDir()
		s := h.Open(t, dir)
		clinic(t, s)
		a := mustInsert(t, s, booking("ada", "checkup", 0, 30))
		id := s.ID()
		if id == "" {
			t.Error("the database has no id")
		}
		Verify(t, s)
		again := h.Open(t, dir)
		t.Cleanup(func() { Verify(t, again) })
		if again.ID() != id {
			t.Errorf("id after a restart: got %q, want %q", again.ID(), id)
		}
		got, err := again.Appointment(t.Context(), a.ID)
		if err != nil || got.SlotStart != a.SlotStart {
			t.Errorf("the appointment: got %v, %v", got.SlotStart, err)
		}
		wantErr(t, "the same slot", insert(t, again, booking("ada", "short", 15, 15)), store.ErrSlotTaken)
	})

	t.Run("Close waits for accepted writes and refuses new ones", func(t *testing.T) { closing(t, h) })

	t.Run("Ping answers", func(t *testing.T) {
		wantErr(t, "Ping", h.open(t).Ping(t.Context()), nil)
	})
}

// neighbours writes from many goroutines at the same time, so that a backend with shared commits batches the writes.
// Every third write succeeds. The others return an error, insert a refused row or panic.
func neighbours(t *testing.T, s store.Store) {
	clinic(t, s)
	mustInsert(t, s, booking("cleo", "checkup", 0, 30))
	own := errors.New("changed my mind")
	const callers = 120
	var wg sync.WaitGroup
	good := make([]store.Appointment, callers)
	for i := range callers {
		a := booking([]string{"ada", "ben"}[i%2], "short", 15*i, 15)
		good[i] = a
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil && i%6 != 5 {
					t.Errorf("caller %d: got the panic %v of another caller", i, p)
				}
			}()
			err := s.Write(context.Background(), func(tx store.Tx) error {
				if err := tx.InsertAppointment(context.Background(), a); err != nil {
					return err
				}
				switch i % 6 {
				case 1:
					return own
				case 2:
					return tx.InsertAppointment(context.Background(), booking("cleo", "short", 15, 15))
				case 4:
					return tx.InsertAppointment(context.Background(), booking("cleo", "no such type", 600, 15))
				case 5:
					panic("on purpose")
				}
				return nil
			})
			wantErr(t, fmt.Sprintf("caller %d", i), err,
				[]error{nil, own, store.ErrSlotTaken, nil, store.ErrInvalid, nil}[i%6])
		})
	}
	wg.Wait()
	for i, a := range good {
		_, err := s.Appointment(t.Context(), a.ID)
		want := store.ErrNotFound
		if i%3 == 0 {
			want = nil
		}
		wantErr(t, fmt.Sprintf("the row of caller %d", i), err, want)
	}
}

func closing(t *testing.T, h Harness) {
	dir := t.TempDir()
	s := h.Open(t, dir)
	clinic(t, s)
	taken := func() error {
		_, err := s.Taken(context.Background(), []string{"ada"}, monday, monday.Add(time.Hour))
		return err
	}
	wantErr(t, "Taken", taken(), nil)
	running, release := make(chan struct{}), make(chan struct{})
	accepted := booking("ada", "checkup", 0, 30)
	var wg sync.WaitGroup
	wg.Go(func() {
		wantErr(t, "the accepted write", s.Write(context.Background(), func(tx store.Tx) error {
			close(running)
			<-release
			return tx.InsertAppointment(context.Background(), accepted)
		}), nil)
	})
	<-running
	wg.Go(func() { wantErr(t, "Close", s.Close(), nil) })
	close(release)
	wg.Wait()
	wantErr(t, "Write after Close", insert(t, s, booking("ada", "checkup", 60, 30)), store.ErrClosed)
	_, err := s.Appointment(t.Context(), accepted.ID)
	wantErr(t, "a question after Close", err, store.ErrClosed)
	wantErr(t, "a question asked before, again after Close", taken(), store.ErrClosed)
	wantErr(t, "Ping after Close", s.Ping(t.Context()), store.ErrClosed)
	wantErr(t, "Close again", s.Close(), nil)

	again := h.Open(t, dir)
	t.Cleanup(func() { Verify(t, again) })
	_, err = again.Appointment(t.Context(), accepted.ID)
	wantErr(t, "the accepted row", err, nil)
}
