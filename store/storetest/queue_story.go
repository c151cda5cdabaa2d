package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/store"
)

// storyPromises cover the activity of an operation, and which data is removed when the operation ends.
var storyPromises = []queuePromise{
	{"Activity/oldest first, in UTC", func(q *queue) {
		q.add(operationDue("op-1", store.UpstreamBook, nine),
			operationDue("op-10", store.UpstreamBook, nine.Add(time.Hour)))
		op := q.take(nine)
		op.Status, op.LastError = store.OperationPending, "Too many requests"
		if err := q.Change(q.Context(), op, "retried", "Too many requests"); err != nil {
			q.Fatalf("Change: %v", err)
		}
		for range 2 {
			list, err := q.Activity(q.Context(), "op-1")
			if err != nil {
				q.Fatalf("Activity: %v", err)
			}
			q.wantEvents("op-1", "added", "attempted", "retried")
			for _, a := range list {
				if a.OperationID != "op-1" || a.At.IsZero() || a.At.Location() != time.UTC {
					q.Errorf("got %+v, want the operation's id and an instant in UTC", a)
				}
			}
			if got := list[1].At; !got.Equal(nine) {
				q.Errorf("attempted at: got %v, want %v", got, nine)
			}
			if got := list[2].Detail; got != "Too many requests" {
				q.Errorf("detail: got %q, want it unchanged", got)
			}
			q.reopen()
		}
		q.wantEvents("op-10", "added")
	}},
	{"Remove/the operation goes, its story stays", func(q *queue) {
		for i, status := range allStatuses {
			op := operationFull(fmt.Sprint("op-", i))
			op.Status = status
			q.add(op)
			for range 2 { // idempotent
				if err := q.Remove(q.Context(), op.ID); err != nil {
					q.Fatalf("Remove: %v", err)
				}
			}
			if _, err := q.Operation(q.Context(), op.ID); !errors.Is(err, store.ErrNotFound) {
				q.Errorf("Operation: got %v, want ErrNotFound", err)
			}
			if got := q.list(store.OperationFilter{AppointmentID: op.AppointmentID}); len(got) != 0 {
				q.Errorf("listed by appointment: got %q, want none", operationIDs(got))
			}
			q.wantEvents(op.ID, "added", "removed")
		}
		q.wantCounts(0, 0, 0, 0)
		q.wantNothingDue(nine.Add(time.Hour))
	}},
	{"Remove/the id may be added again", func(q *queue) {
		q.add(operationFull("op-1"))
		if err := q.Remove(q.Context(), "op-1"); err != nil {
			q.Fatalf("Remove: %v", err)
		}
		again := operationDue("op-1", store.Email, nine)
		q.add(again)
		q.wantSame(q.get("op-1"), again)
		q.wantEvents("op-1", "added", "removed", "added")
	}},
	{"Erase/the payload goes for good, the rest stays", func(q *queue) {
		for i, status := range allStatuses {
			op := operationFull(fmt.Sprint("op-", i))
			op.Status = status
			q.add(op)
		}
		q.add(operationFull("op-9"))
		for range 2 { // idempotent
			if err := q.Erase(q.Context(), "op-0", "op-1", "op-unknown", "op-2", "op-3"); err != nil {
				q.Fatalf("Erase: %v", err)
			}
		}
		for i, status := range allStatuses {
			want := operationFull(fmt.Sprint("op-", i))
			want.Status, want.Payload = status, nil
			q.wantSame(q.get(want.ID), want)
			q.wantEvents(want.ID, "added", "erased")
			// A worker that took the operation earlier still has the payload in memory.
			want.Payload = operationFull("").Payload
			q.change(want, "completed")
			want.Payload = nil
			q.reopen()
			q.wantSame(q.get(want.ID), want)
		}
		q.wantSame(q.get("op-9"), operationFull("op-9"))
		q.wantCounts(2, 1, 1, 1)
	}},
	{"Prune/completed and finished before", func(q *queue) {
		for i, status := range allStatuses {
			for j, finished := range []time.Duration{-time.Hour, -time.Millisecond, 0, time.Hour} {
				op := operationDue(fmt.Sprintf("op-%d-%d", i, j), store.Webhook, nine)
				op.Status, op.FinishedAt = status, nine.Add(finished)
				q.add(op)
			}
		}
		for _, want := range []int{2, 0} {
			if n, err := q.Prune(q.Context(), nine); n != want || err != nil {
				q.Errorf("Prune: got %d and %v, want %d", n, err, want)
			}
		}
		q.wantCounts(4, 4, 2, 4)
		if got, want := operationIDs(q.list(store.OperationFilter{Status: store.OperationCompleted})),
			[]string{"op-2-2", "op-2-3"}; !slices.Equal(got, want) {
			q.Errorf("completed: got %q, want %q", got, want)
		}
		q.wantEvents("op-2-0")
		q.wantEvents("op-2-1")
		q.wantEvents("op-2-2", "added")
		q.wantEvents("op-3-0", "added")
	}},
	{"Prune/finished when it was last changed", func(q *queue) {
		op := operationDue("op-1", store.Webhook, nine)
		op.Status, op.FinishedAt = store.OperationCompleted, nine.Add(-time.Hour)
		q.add(op)
		op.FinishedAt = nine.Add(time.Hour)
		q.change(op, "changed")
		if n, err := q.Prune(q.Context(), nine); n != 0 || err != nil {
			q.Errorf("Prune: got %d and %v, want 0", n, err)
		}
		q.wantCounts(0, 0, 1, 0)
	}},
	{"Prune/any number", func(q *queue) {
		var ops []store.Operation
		for i := range 1234 {
			op := operationDue(fmt.Sprintf("op-%04d", i), store.Webhook, nine)
			op.Status, op.FinishedAt = store.OperationCompleted, nine.Add(time.Duration(i)*time.Second)
			ops = append(ops, op)
		}
		q.add(ops...)
		if n, err := q.Prune(q.Context(), nine.Add(1200*time.Second)); n != 1200 || err != nil {
			q.Errorf("Prune: got %d and %v, want 1200", n, err)
		}
		q.wantCounts(0, 0, 34, 0)
	}},
	{"Prune/the story of what was removed before", func(q *queue) {
		for _, id := range []string{"op-1", "op-2"} {
			q.add(operationFull(id))
			if err := q.Remove(q.Context(), id); err != nil {
				q.Fatalf("Remove: %v", err)
			}
		}
		q.add(operationFull("op-2"))
		if _, err := q.Prune(q.Context(), time.Now().Add(-time.Hour)); err != nil {
			q.Fatalf("Prune: %v", err)
		}
		q.wantEvents("op-1", "added", "removed")
		if n, err := q.Prune(q.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
			q.Errorf("Prune: got %d and %v, want 0: no operation has completed", n, err)
		}
		q.wantEvents("op-1")
		q.wantEvents("op-2", "added", "removed", "added")
	}},
}

// queueLifePromises cover opening and closing, and many concurrent callers.
var queueLifePromises = []queuePromise{
	{"Close/waits for what was accepted", func(q *queue) {
		var mu sync.Mutex
		var acknowledged []string
		var wg sync.WaitGroup
		started := make(chan struct{}, 8)
		for caller := range 8 {
			wg.Go(func() {
				begun := sync.OnceFunc(func() { started <- struct{}{} })
				defer begun()
				for i := 0; ; i++ {
					id := fmt.Sprintf("op-%d-%05d", caller, i)
					err := q.Add(q.Context(), operationDue(id, store.Webhook, nine))
					if errors.Is(err, store.ErrClosed) {
						return
					}
					if err != nil {
						q.Errorf("Add while closing: got %v, want nil or ErrClosed", err)
						return
					}
					mu.Lock()
					acknowledged = append(acknowledged, id)
					mu.Unlock()
					if i == 3 {
						begun()
					}
				}
			})
		}
		for range 8 {
			<-started
		}
		if err := q.Close(); err != nil {
			q.Errorf("Close: %v", err)
		}
		wg.Wait()
		q.reopen() // a second Close is allowed
		for _, id := range acknowledged {
			q.get(id)
		}
	}},
	{"Close/every later call returns ErrClosed", func(q *queue) {
		q.add(operationDue("op-1", store.Email, nine))
		if err := q.Ping(q.Context()); err != nil {
			q.Errorf("Ping: %v", err)
		}
		if err := q.Close(); err != nil {
			q.Fatalf("Close: %v", err)
		}
		for name, call := range map[string]func() error{
			"Add":  func() error { return q.Add(q.Context(), operationDue("op-2", store.Email, nine)) },
			"Take": func() error { _, err := q.Take(q.Context(), nine); return err },
			"Change": func() error {
				return q.Change(q.Context(), operationDue("op-1", store.Email, nine), "changed", "")
			},
			"Operation":  func() error { _, err := q.Operation(q.Context(), "op-1"); return err },
			"Operations": func() error { _, err := q.Operations(q.Context(), store.OperationFilter{}); return err },
			"Counts":     func() error { _, err := q.Counts(q.Context()); return err },
			"NextDue":    func() error { _, err := q.NextDue(q.Context()); return err },
			"Recover":    func() error { _, err := q.Recover(q.Context(), nine); return err },
			"Remove":     func() error { return q.Remove(q.Context(), "op-1") },
			"Prune":      func() error { _, err := q.Prune(q.Context(), nine); return err },
			"Erase":      func() error { return q.Erase(q.Context(), "op-1") },
			"Activity":   func() error { _, err := q.Activity(q.Context(), "op-1"); return err },
			"Ping":       func() error { return q.Ping(q.Context()) },
		} {
			if err := call(); !errors.Is(err, store.ErrClosed) {
				q.Errorf("%s: got %v, want ErrClosed", name, err)
			}
		}
	}},
	{"a refused write harms no neighbour", func(q *queue) {
		var wg sync.WaitGroup
		for caller := range 32 {
			wg.Go(func() {
				for i := range 8 {
					id := fmt.Sprintf("op-%02d-%d", caller, i)
					if caller%2 == 1 {
						if err := q.Change(q.Context(), operationDue(id, store.Email, nine), "changed",
							""); !errors.Is(err, store.ErrNotFound) {
							q.Errorf("Change of an unknown id: got %v, want ErrNotFound", err)
						}
						continue
					}
					if err := q.Add(q.Context(), operationDue(id, store.Email, nine)); err != nil {
						q.Errorf("Add: got %v, want nil", err)
					}
				}
			})
		}
		wg.Wait()
		q.wantCounts(16*8, 0, 0, 0)
	}},
	{"any sequence of calls does what a plain map would", againstPlainMap},
}
