package outbound_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// These tests deliver a backlog of 40 emails, which the lane takes in groups.

const backlog = 40

// countedStore counts the transactions and can refuse some.
type countedStore struct {
	store.Store
	writes *atomic.Int32
	refuse func(number int32) bool
}

func (s countedStore) Write(ctx context.Context, fn func(store.Tx) error) error {
	if n := s.writes.Add(1); s.refuse(n) {
		return store.ErrFull
	}
	return s.Store.Write(ctx, fn)
}

// group is a clinic's outbound queue with a backlog.
type group struct {
	t      *testing.T
	queue  store.Queue
	db     store.Store
	writes atomic.Int32
	refuse func(number int32) bool

	mu       sync.Mutex
	attempts map[string]int // the successful attempts, by operation
}

// deliver starts delivering a backlog. attempt decides the outcome of each attempt, numbered from 1.
func deliver(t *testing.T, g *group, attempt func(number int) outbound.Outcome) {
	t.Helper()
	g.t, g.db, g.queue, g.attempts = t, enginetest.Database(t), enginetest.Queue(t), make(map[string]int)
	if g.refuse == nil {
		g.refuse = func(int32) bool { return false }
	}
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Millisecond)
	var ops []store.Operation
	for i := range backlog {
		ops = append(ops, store.Operation{ID: fmt.Sprintf("op-%013d-%06d", now.UnixMilli(), i), Kind: store.Email,
			Status: store.OperationPending, MaxAttempts: 10, CreatedAt: now, NextAttemptAt: now,
			Payload: json.RawMessage(`{"notice":"confirmation"}`)})
	}
	err := g.db.Write(ctx, func(tx store.Tx) error {
		for _, op := range ops {
			if err := tx.Promise(ctx, op); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, g.queue.Add(ctx, ops...)); err != nil {
		t.Fatal(err)
	}
	number := 0
	out := outbound.New(outbound.Options{
		Store: countedStore{g.db, &g.writes, g.refuse}, Logger: slog.New(slog.DiscardHandler), Queue: g.queue,
		Limits: outbound.Limits{}.WithDefaults(), Keep: 24 * time.Hour,
		Hooks: outbound.Hooks{
			Operations: func(*booking.Change) []booking.Promise { return nil },
			BeforeWork: func(context.Context, time.Time) error { return nil },
			Delivery: func(kind store.OperationKind) outbound.Delivery {
				if kind != store.Email {
					return outbound.Delivery{}
				}
				return outbound.Delivery{Attempt: func(_ context.Context, op *store.Operation) outbound.Outcome {
					g.mu.Lock()
					number++
					n := number
					g.mu.Unlock()
					o := attempt(n)
					g.mu.Lock()
					defer g.mu.Unlock()
					if o.End == outbound.Delivered {
						g.attempts[op.ID]++
					}
					return o
				}}
			},
		},
	})
	working, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, work := range out.Work() {
		all.Go(func() { work(working) })
	}
	t.Cleanup(func() { stop(); all.Wait() })
}

// want checks how many operations are in each state.
func (g *group) want(when string, want store.OperationCounts) {
	g.t.Helper()
	synctest.Wait()
	if n, err := g.queue.Counts(context.Background()); err != nil || n != want {
		g.t.Errorf("%s the queue has %+v, want %+v; %v", when, n, want, err)
	}
}

// wantOnce checks that each email was delivered in a single attempt, and that the outbox is empty.
func (g *group) wantOnce() {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, n := range g.attempts {
		if n != 1 {
			g.t.Errorf("operation %s was delivered %d times", id, n)
		}
	}
	list, err := g.db.Outbox(context.Background(), "", 500)
	if err != nil || len(list) > 0 || len(g.attempts) != backlog {
		g.t.Errorf("%d emails were delivered and %d are in the outbox, want %d and 0; %v", len(g.attempts), len(list),
			backlog, err)
	}
}

func delivered(int) outbound.Outcome { return outbound.Outcome{End: outbound.Delivered} }

func TestGroupSharesTransactions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g group
		deliver(t, &g, delivered)
		time.Sleep(time.Second)
		g.want("after a second", store.OperationCounts{Completed: backlog})
		g.wantOnce()
		if n := g.writes.Load(); n > backlog/2 {
			t.Errorf("%d transactions stored the outcomes of %d emails", n, backlog)
		}
	})
}

// TestGroupReturnsToQueueWhenServerIsUnreachable: in the middle of a group, the mail server is unreachable for 10 s.
func TestGroupReturnsToQueueWhenServerIsUnreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g group
		var missed atomic.Int32
		began := time.Now()
		deliver(t, &g, func(number int) outbound.Outcome {
			if number > 20 && time.Since(began) < 10*time.Second {
				missed.Add(1)
				return outbound.Outcome{End: outbound.Unreachable, Detail: "gone"}
			}
			return delivered(number)
		})
		time.Sleep(time.Second)
		g.want("without a server", store.OperationCounts{Completed: 20, Pending: backlog - 20})
		list, err := g.queue.Operations(t.Context(), store.OperationFilter{Status: store.OperationPending})
		for _, op := range list {
			if op.Attempts != 0 || op.NextAttemptAt.After(began) {
				t.Errorf("operation %s has %d attempts and is due at %s, want none and the same place", op.ID,
					op.Attempts, op.NextAttemptAt)
			}
		}
		if n := missed.Load(); n > 2 || err != nil {
			t.Errorf("%d attempts found no server, want one of each worker; %v", n, err)
		}
		time.Sleep(time.Minute)
		g.want("a minute later", store.OperationCounts{Completed: backlog})
		g.wantOnce()
	})
}

// TestGroupDoesNotWaitForSlowAttempt: in the middle of each worker's group, the mail server takes 20 s for one email.
func TestGroupDoesNotWaitForSlowAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g group
		deliver(t, &g, func(number int) outbound.Outcome {
			if number == 10 || number == 11 {
				time.Sleep(20 * time.Second)
			}
			return delivered(number)
		})
		time.Sleep(time.Second)
		g.want("during the slow attempts", store.OperationCounts{Completed: 9, Processing: 2, Pending: backlog - 11})
		time.Sleep(20 * time.Second)
		g.want("after them", store.OperationCounts{Completed: backlog})
		g.wantOnce()
	})
}

// TestGroupStoresOutcomesAfterFailedTransaction: the disk is full during a transaction that contains the outcomes of a
// group. The outcomes are then stored one by one.
func TestGroupStoresOutcomesAfterFailedTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := group{refuse: func(number int32) bool { return number == 6 }}
		deliver(t, &g, delivered)
		time.Sleep(time.Minute)
		g.want("after a minute", store.OperationCounts{Completed: backlog})
		g.wantOnce()
	})
}
