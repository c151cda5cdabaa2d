package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast/store"
)

// takePromises cover which caller gets which operation, and when.
var takePromises = []queuePromise{
	{"Take/the attempt is on record before it is made", func(q *queue) {
		before := operationFull("op-1")
		q.add(before)
		now := nine.Add(time.Minute).Add(456789 * time.Nanosecond).In(time.FixedZone("west", -3600))
		got := q.take(now)
		want := before
		want.Status, want.Attempts, want.AttemptedAt = store.OperationProcessing, 4, now
		q.wantSame(got, want)
		q.wantEvents("op-1", "added", "attempted")
		q.reopen()
		q.wantSame(q.get("op-1"), want)
		q.wantCounts(0, 1, 0, 0)
		q.wantNothingDue(nine.Add(time.Hour))
	}},
	{"Take/the earliest first, then the lowest id", func(q *queue) {
		q.add(operationDue("op-5", store.Email, nine), operationDue("op-4", store.Webhook, nine.Add(-time.Millisecond)),
			operationDue("op-3", store.UpstreamBook, nine), operationDue("op-2", store.Webhook, nine.Add(-time.Hour)),
			operationDue("op-1", store.Webhook, nine))
		for _, want := range []string{"op-2", "op-4", "op-1", "op-3", "op-5"} {
			if got := q.take(nine).ID; got != want {
				q.Errorf("got %s, want %s", got, want)
			}
		}
		q.wantNothingDue(nine)
	}},
	{"Take/nothing before its time", func(q *queue) {
		q.wantNothingDue(nine)
		q.add(operationDue("op-1", store.Email, nine.Add(time.Millisecond)))
		q.wantNothingDue(nine)
		q.wantNothingDue(nine.Add(time.Millisecond - 1))
		q.wantEvents("op-1", "added")
		if got := q.take(nine.Add(time.Millisecond)).ID; got != "op-1" {
			q.Errorf("got %s, want op-1", got)
		}
	}},
	{"Take/only the kinds asked for", func(q *queue) {
		q.add(operationDue("op-1", store.Email, nine), operationDue("op-2", store.UpstreamBook, nine.Add(time.Second)),
			operationDue("op-3", store.UpstreamCancel, nine.Add(2*time.Second)))
		late := nine.Add(time.Hour)
		q.wantNothingDue(late, store.Webhook)
		q.wantNothingDue(nine, store.UpstreamBook, store.UpstreamCancel)
		for _, want := range []string{"op-2", "op-3"} {
			if got := q.take(late, store.UpstreamCancel, store.UpstreamBook, store.Webhook).ID; got != want {
				q.Errorf("got %s, want %s", got, want)
			}
		}
		q.wantNothingDue(late, store.UpstreamCancel, store.UpstreamBook, store.Webhook)
		if got := q.take(late).ID; got != "op-1" {
			q.Errorf("got %s, want op-1", got)
		}
	}},
	{"Take/again after its next attempt is due", func(q *queue) {
		q.add(operationDue("op-1", store.UpstreamBook, nine))
		for attempt := 1; attempt <= 3; attempt++ {
			op := q.take(nine.Add(time.Duration(attempt) * time.Minute))
			if op.Attempts != attempt {
				q.Errorf("attempts: got %d, want %d", op.Attempts, attempt)
			}
			op.Status, op.NextAttemptAt = store.OperationPending, nine.Add(time.Duration(attempt+1)*time.Minute)
			q.change(op, "retried")
			q.wantNothingDue(op.NextAttemptAt.Add(-time.Millisecond))
		}
		q.wantEvents("op-1", "added", "attempted", "retried", "attempted", "retried", "attempted", "retried")
	}},
	{"Take/of concurrent callers each gets another one", func(q *queue) {
		const callers, each = 16, 12
		var ops []store.Operation
		for i := range callers * each {
			ops = append(ops, operationDue(fmt.Sprintf("op-%03d", i), allKinds[i%len(allKinds)],
				nine.Add(time.Duration(i%7)*time.Second)))
		}
		q.add(ops...)
		var mu sync.Mutex
		taken := map[string]int{}
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for {
					op, err := q.Take(q.Context(), nine.Add(time.Hour))
					if errors.Is(err, store.ErrNotFound) {
						return
					}
					if err != nil {
						q.Errorf("Take: %v", err)
						return
					}
					mu.Lock()
					taken[op.ID]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for _, op := range ops {
			if taken[op.ID] != 1 {
				q.Errorf("%s was taken %d times, want once", op.ID, taken[op.ID])
			}
		}
		q.wantCounts(0, callers*each, 0, 0)
	}},
	{"NextDue/the earliest of the kinds asked for", func(q *queue) {
		q.wantNextDue(time.Time{})
		q.wantNextDue(time.Time{}, store.Email)
		q.add(operationDue("op-1", store.Email, nine.Add(3*time.Second)),
			operationDue("op-2", store.Webhook, nine.Add(2*time.Second)),
			operationDue("op-3", store.UpstreamBook, nine.Add(time.Second)))
		q.wantNextDue(nine.Add(time.Second))
		q.wantNextDue(nine.Add(2*time.Second), store.Email, store.Webhook)
		q.wantNextDue(nine.Add(3*time.Second), store.Email)
		q.wantNextDue(time.Time{}, store.UpstreamCancel)
		q.take(nine.Add(time.Hour)) // an operation that is being attempted is not due
		q.wantNextDue(nine.Add(2 * time.Second))
		q.reopen()
		q.wantNextDue(nine.Add(2 * time.Second))
	}},
	{"Recover/what was being attempted is unknown and due at once", func(q *queue) {
		q.add(operationDue("op-1", store.UpstreamBook, nine), operationDue("op-2", store.Email, nine),
			operationDue("op-3", store.Email, nine.Add(time.Hour)))
		first, second := q.take(nine), q.take(nine)
		q.reopen()
		now := nine.Add(time.Minute)
		if n, err := q.Recover(q.Context(), now); n != 2 || err != nil {
			q.Fatalf("Recover: got %d and %v, want 2", n, err)
		}
		for _, op := range []store.Operation{first, second} {
			op.Status, op.Unknown, op.NextAttemptAt = store.OperationPending, true, now
			q.wantSame(q.get(op.ID), op)
			q.wantEvents(op.ID, "added", "attempted", "recovered")
		}
		q.wantSame(q.get("op-3"), operationDue("op-3", store.Email, nine.Add(time.Hour)))
		q.wantCounts(3, 0, 0, 0)
		q.wantNextDue(now)
		if n, err := q.Recover(q.Context(), now); n != 0 || err != nil {
			q.Errorf("Recover again: got %d and %v, want 0", n, err)
		}
	}},
}
