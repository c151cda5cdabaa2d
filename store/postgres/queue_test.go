package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/storetest"
)

func mustOpenQueue(t testing.TB, o QueueOptions) *Queue {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	q, err := OpenQueue(context.Background(), o)
	if err != nil {
		t.Fatalf("OpenQueue: %v", err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return q
}

func TestQueue(t *testing.T) {
	t.Parallel()
	var all databases
	storetest.RunQueue(t, func(t testing.TB, dir string) store.Queue {
		return mustOpenQueue(t, QueueOptions{URL: all.of(t, dir)})
	})
}

var (
	nine = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	late = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC) // at this time, all operations are due, for any clock
)

func webhook(id string) store.Operation {
	return store.Operation{ID: id, Kind: store.Webhook, Status: store.OperationPending, NextAttemptAt: nine}
}

// queues opens the queues of n nodes on one new database.
func queues(t *testing.T, n int, o QueueOptions) (all []*Queue) {
	t.Helper()
	if o.URL == "" {
		o.URL = migrated(t)
	}
	for range n {
		all = append(all, mustOpenQueue(t, o))
	}
	return all
}

func mustAdd(t *testing.T, q *Queue, ops ...store.Operation) {
	t.Helper()
	if err := q.Add(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until q can take an operation, and returns it.
func waitFor(t *testing.T, q *Queue) store.Operation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		op, err := q.Take(ctx, late)
		if err == nil {
			return op
		}
		if !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	}
}

// TestTwoNodesTakeOperationOnce takes operations from one queue on two nodes. Each operation must be taken once.
func TestTwoNodesTakeOperationOnce(t *testing.T) {
	t.Parallel()
	all := queues(t, 2, QueueOptions{})
	var ops []store.Operation
	for i := range 100 {
		ops = append(ops, webhook(fmt.Sprintf("op-%03d", i)))
	}
	mustAdd(t, all[0], ops...)
	var mu sync.Mutex
	count := map[string]int{}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for {
				op, err := all[worker%2].Take(t.Context(), nine)
				if errors.Is(err, store.ErrNotFound) {
					return
				}
				if err != nil {
					t.Errorf("Take: %v", err)
					return
				}
				mu.Lock()
				count[op.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, op := range ops {
		if count[op.ID] != 1 {
			t.Errorf("%s was taken %d times, want once", op.ID, count[op.ID])
		}
	}
}

// TestDeadNodeLosesItsOperations checks that another node takes over the operations of a dead node, with an unknown
// outcome. If the dead node returns, it cannot finish them.
func TestDeadNodeLosesItsOperations(t *testing.T) {
	t.Parallel()
	all := queues(t, 2, QueueOptions{Lease: 300 * time.Millisecond})
	gone, other := all[0], all[1]
	mustAdd(t, gone, webhook("op-1"))
	mine := waitFor(t, gone)
	gone.stop() // its leases are no longer renewed
	gone.running.Wait()
	theirs := waitFor(t, other)
	if theirs.ID != mine.ID || !theirs.Unknown || theirs.Attempts != 2 {
		t.Errorf("taken over: got %+v, want op-1 with an unknown outcome", theirs)
	}
	mine.Status = store.OperationCompleted
	if err := gone.Change(t.Context(), mine, "completed", ""); !errors.Is(err, store.ErrVersion) {
		t.Errorf("the node that came back: got %v, want ErrVersion", err)
	}
	theirs.Status, theirs.FinishedAt = store.OperationFailed, nine
	if err := other.Change(t.Context(), theirs, "failed", ""); err != nil {
		t.Errorf("the node that holds the operation: %v", err)
	}
	if err := gone.Change(t.Context(), mine, "completed", ""); err != nil {
		t.Errorf("by hand, when no node attempts it: %v", err)
	}
	story, err := other.Activity(t.Context(), "op-1")
	var events []string
	for _, a := range story {
		events = append(events, a.Event)
	}
	if got := strings.Join(events, " "); err != nil || got != "added attempted recovered attempted failed completed" {
		t.Errorf("its activity: got %s, %v", got, err)
	}
}

// TestLongAttemptKeepsLease checks that the node renews the lease during a long attempt, and that another node does not
// take the operation.
func TestLongAttemptKeepsLease(t *testing.T) {
	t.Parallel()
	all := queues(t, 2, QueueOptions{Lease: 9 * time.Second})
	mustAdd(t, all[0], webhook("op-1"))
	op := waitFor(t, all[0])
	until := func() (at time.Time) {
		err := all[1].read(t.Context(), asks(func(r *row) { at = r.Time() }, `SELECT lease_until FROM operations`))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	first, began := until(), time.Now()
	for until().Equal(first) && time.Since(began) < patience {
		if got, err := all[1].Take(t.Context(), late); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("another node got %q, %v after %v", got.ID, err, time.Since(began))
		}
	}
	if now := until(); !now.After(first) {
		t.Errorf("the lease ends at %v, want later than %v", now, first)
	}
	if n, err := all[1].Recover(t.Context(), nine); n != 0 || err != nil {
		t.Errorf("Recover of another node: got %d, %v; want 0", n, err)
	}
	op.Status, op.FinishedAt = store.OperationCompleted, nine
	if err := all[0].Change(t.Context(), op, "completed", ""); err != nil {
		t.Errorf("Change: %v", err)
	}
}

// TestCloseReleasesOperations checks that another node can recover the operations of a stopped node immediately, even
// if the lease is long.
func TestCloseReleasesOperations(t *testing.T) {
	t.Parallel()
	all := queues(t, 2, QueueOptions{Lease: time.Hour})
	mustAdd(t, all[0], webhook("op-1"))
	waitFor(t, all[0])
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := all[1].Recover(t.Context(), nine); n != 1 || err != nil {
		t.Errorf("Recover: got %d, %v; want 1", n, err)
	}
}

// TestLoneNodeIgnoresLeases checks that the only node recovers the operations of a killed node
// immediately.
func TestLoneNodeIgnoresLeases(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	gone := mustOpenQueue(t, QueueOptions{URL: url, Lease: time.Hour})
	mustAdd(t, gone, webhook("op-1"))
	op := waitFor(t, gone)
	next := mustOpenQueue(t, QueueOptions{URL: url, Lease: time.Hour, Alone: true})
	if err := next.Change(t.Context(), op, "changed", ""); err != nil {
		t.Errorf("Change: got %v, want nil", err)
	}
	if n, err := next.Recover(t.Context(), nine); n != 1 || err != nil {
		t.Errorf("Recover: got %d, %v; want 1", n, err)
	}
}

// TestNodesShareAPacer checks that the calls of all nodes to one remote server are spaced, by the clock of the database
// server.
func TestNodesShareAPacer(t *testing.T) {
	t.Parallel()
	all := queues(t, 2, QueueOptions{})
	const spacing, forever = time.Hour, 1000 * time.Hour
	var waits []time.Duration
	var turns []int64
	for i := range 6 {
		wait, turn, err := all[i%2].Pace(t.Context(), "upstream", spacing, forever)
		if err != nil {
			t.Fatal(err)
		}
		waits, turns = append(waits, wait), append(turns, turn)
	}
	for i, wait := range waits {
		if want := time.Duration(i) * spacing; wait > want || wait < want-time.Minute {
			t.Errorf("call %d waits for %v, want %v", i, wait, want)
		}
	}
	if wait, turn, err := all[0].Pace(t.Context(), "upstream", spacing, 5*time.Hour); turn != 0 || wait < 5*time.Hour || err != nil {
		t.Errorf("a caller with a time limit of 5 h: got turn %d in %v, %v; want none in 6 h", turn, wait, err)
	}
	if again, err := all[0].PaceAgain(t.Context(), "upstream", spacing, turns[4]); again || err != nil {
		t.Errorf("a repeat after another node's turn: got %t, %v; want false", again, err)
	}
	if again, err := all[1].PaceAgain(t.Context(), "upstream", spacing, turns[5]); !again || err != nil {
		t.Errorf("a repeat after the last turn: got %t, %v; want true", again, err)
	}
	if wait, _, err := all[0].Pace(t.Context(), "upstream", spacing, forever); wait > spacing || wait < spacing-time.Minute || err != nil {
		t.Errorf("the next turn: got %v, %v; want an hour", wait, err)
	}
	if wait, _, err := all[0].Pace(t.Context(), "another", spacing, 0); wait != 0 || err != nil {
		t.Errorf("another system waits for %v, %v", wait, err)
	}
}

// TestTakenOverWriteWaitsToSettle checks that a write that a dead node may have sent is not repeated while it can still
// be in flight, even if that node's clock was wrong.
func TestTakenOverWriteWaitsToSettle(t *testing.T) {
	t.Parallel()
	t.Run("its clock was right", func(t *testing.T) { settlesFirst(t, 0) })
	t.Run("its clock was two days behind", func(t *testing.T) { settlesFirst(t, -48*time.Hour) })
	t.Run("its clock was two days ahead", func(t *testing.T) { settlesFirst(t, 48*time.Hour) })
}

// settlesFirst runs the test with a clock that is wrong by off.
func settlesFirst(t *testing.T, off time.Duration) {
	all := queues(t, 2, QueueOptions{Lease: 2 * time.Second, Settle: time.Hour})
	gone, other := all[0], all[1]
	write := webhook("op-1")
	write.Kind = store.UpstreamBook
	hook := webhook("op-2")
	write.NextAttemptAt, hook.NextAttemptAt = time.Now().AddDate(0, 0, -9), time.Now().AddDate(0, 0, -9)
	mustAdd(t, gone, write, hook)
	for range 2 {
		if _, err := gone.Take(t.Context(), time.Now().Add(off)); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	gone.stop() // its leases are no longer renewed
	gone.running.Wait()
	var first store.Operation
	for err := store.ErrNotFound; err != nil; first, err = other.Take(t.Context(), time.Now()) {
		if !errors.Is(err, store.ErrNotFound) || time.Since(began) > patience {
			t.Fatal(err)
		}
	}
	if first.ID != "op-2" {
		t.Errorf("taken over first: got %s, want the webhook", first.ID)
	}
	write, err := other.Operation(t.Context(), "op-1")
	if due := write.NextAttemptAt; err != nil || !write.Unknown || due.Before(began.Add(time.Hour-time.Minute)) ||
		due.After(time.Now().Add(time.Hour+time.Minute)) {
		t.Errorf("the write: got %+v, %v; want it unknown and due in an hour", write, err)
	}
}

// TestLostAnswerKeepsOperation checks two lost responses. If the response to Take is lost, the operation is available
// again when its lease expires. If the response to Change is lost, the change is made only once.
func TestLostAnswerKeepsOperation(t *testing.T) {
	t.Parallel()
	l, url := &line{}, migrated(t)
	o := l.open(t, url)
	// This queue renews no leases, so the next response belongs to the test's own call.
	behind := func(lease time.Duration) *Queue {
		q := mustOpenQueue(t, QueueOptions{URL: o.URL, Timeout: o.Timeout, Lease: lease})
		q.stop()
		q.running.Wait()
		return q
	}
	brief, q := behind(300*time.Millisecond), behind(0)
	// This queue takes over operations whose lease has expired.
	mustOpenQueue(t, QueueOptions{URL: url, Lease: 300 * time.Millisecond})
	mustAdd(t, brief, webhook("op-1"))
	l.loseAny.Store(true)
	if _, err := brief.Take(t.Context(), nine); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Take: got %v, want ErrUnavailable", err)
	}
	op := waitFor(t, q)
	if op.ID != "op-1" || !op.Unknown || op.Attempts != 2 {
		t.Errorf("got %+v, want op-1 with an unknown outcome", op)
	}
	op.Status, op.FinishedAt = store.OperationCompleted, nine
	l.loseAny.Store(true)
	if err := q.Change(t.Context(), op, "completed", ""); err != nil {
		t.Errorf("Change: got %v, want nil", err)
	}
	story, err := q.Activity(t.Context(), "op-1")
	if err != nil || len(story) != 5 || story[4].Event != "completed" {
		t.Errorf("its activity: got %+v, %v; want one completion", story, err)
	}
}

// TestChangeRepeatsAfterLostAnswer checks that a change can be repeated if it was committed and its response was lost.
func TestChangeRepeatsAfterLostAnswer(t *testing.T) {
	t.Parallel()
	all := queues(t, 1, QueueOptions{})
	mustAdd(t, all[0], webhook("op-1"))
	op := waitFor(t, all[0])
	op.Status, op.FinishedAt = store.OperationCompleted, nine
	if err := all[0].Change(t.Context(), op, "completed", ""); err != nil {
		t.Fatal(err)
	}
	all[0].held.add(op.ID) // simulates that the node received no response
	if err := all[0].Change(t.Context(), op, "completed", ""); err != nil {
		t.Errorf("Change again: got %v, want nil", err)
	}
	story, err := all[0].Activity(t.Context(), "op-1")
	if err != nil || len(story) != 3 {
		t.Errorf("its activity: got %+v, %v; want one completion", story, err)
	}
}

// TestConcurrentAddsNeverDeadlock checks that two nodes that add the same operations of several kinds, in opposite
// orders, do not deadlock.
func TestConcurrentAddsNeverDeadlock(t *testing.T) {
	t.Parallel()
	all := queues(t, 2, QueueOptions{})
	for round := range 20 {
		var ops []store.Operation
		for i := range 12 {
			op := webhook(fmt.Sprintf("op-%02d-%02d", round, i))
			if i%2 == 1 {
				op.Kind = store.Email
			}
			ops = append(ops, op)
		}
		turned := slices.Clone(ops)
		slices.Reverse(turned)
		var both sync.WaitGroup
		for i, list := range [][]store.Operation{ops, turned} {
			both.Go(func() {
				if err := all[i].Add(t.Context(), list...); err != nil {
					t.Errorf("round %d, node %d: %v", round, i, err)
				}
			})
		}
		both.Wait()
	}
}

// TestWaitsIgnoreClockAhead adds an operation on a node whose clock is ten minutes ahead, and postpones another by five
// seconds. Both must be due at the right time on the other nodes.
func TestWaitsIgnoreClockAhead(t *testing.T) {
	t.Parallel()
	all := queues(t, 2, QueueOptions{})
	ahead, other := all[0], all[1]
	const skew, wait = 10 * time.Minute, 5 * time.Second
	ahead.now = func() time.Time { return time.Now().Add(skew) }
	added := webhook("added")
	added.CreatedAt, added.NextAttemptAt = ahead.now(), ahead.now()
	mustAdd(t, ahead, added)
	if op, err := other.Take(t.Context(), time.Now().Add(time.Second)); err != nil || op.ID != added.ID {
		t.Fatalf("the added operation: got %q, %v; want it due now", op.ID, err)
	}

	postponed := webhook("postponed")
	mustAdd(t, ahead, postponed)
	op, err := ahead.Take(t.Context(), ahead.now())
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	op.Status, op.NextAttemptAt = store.OperationPending, ahead.now().Add(wait)
	if err := ahead.Change(t.Context(), op, "retried", ""); err != nil {
		t.Fatal(err)
	}
	due, err := other.NextDue(t.Context())
	if err != nil || due.Before(before.Add(wait-time.Second)) || due.After(time.Now().Add(wait+time.Second)) {
		t.Errorf("the postponed operation: due at %s, %v; want %s after %s", due, err, wait, before)
	}

	reminder := webhook("reminder") // due at a fixed instant, from a clock that is right
	reminder.CreatedAt, reminder.NextAttemptAt = nine, time.Now().Add(time.Hour).Truncate(time.Millisecond)
	mustAdd(t, other, reminder)
	if op, err := other.Operation(t.Context(), reminder.ID); err != nil || !op.NextAttemptAt.Equal(reminder.NextAttemptAt) {
		t.Errorf("the reminder: due at %s, %v; want %s", op.NextAttemptAt, err, reminder.NextAttemptAt)
	}
}
