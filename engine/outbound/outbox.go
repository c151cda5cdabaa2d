package outbound

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/timed"
	"holdfast/store"
)

// # The outbox and its relay
//
// A change stores the outbound calls that it requires in the outbox, in its own transaction. The relay copies them into
// the queue, from which the lanes (lane.go) deliver them. A row stays in the outbox until its operation has ended. An
// ending is written to the outbox first and to the queue second. So the queue can be rebuilt from the outbox at any
// time, and an operation that is in the queue but not in the outbox has ended: a lane that takes it completes it.

// The states of a store.Delivery.
const (
	DeliveryDelivered = "delivered"
	DeliveryFailed    = "failed"
	DeliveryReview    = "needs_review"
	DeliveryNotNeeded = "not_needed" // nothing was sent: the call was no longer needed, or had no recipient
)

// Outbox is the part of the engine that moves operations from the outbox to the queue.
type Outbox struct {
	Ids     operationIDs
	wakeUps wakeUps
	mu      sync.Mutex
	// waiting contains the committed operations on their way to the queue. missed means that there were more than
	// maxWaiting, so the relay reads the outbox.
	waiting []store.Operation
	missed  bool
	claimed map[string]bool // ids of operations that an agent's call or a person is handling outside the queue
}

const (
	// maxWaiting limits the relay's memory use while the queue does not accept operations.
	maxWaiting = 10_000
	// reconcileEvery is the interval at which a running server compares the outbox with the queue, for operations that
	// a lost process of the same cluster left behind. reconcileAge is the minimum age of such an operation: by then, no
	// process is about to queue it.
	reconcileEvery = 5 * time.Minute
	reconcileAge   = 2 * time.Minute
	// relayRetry is the pause before a failed queue call is retried.
	relayRetry = 2 * time.Second
)

// Enqueue passes committed operations to the relay. It never blocks.
func (out *Outbound) Enqueue(calls ...booking.Promise) {
	if out.Queue == nil || len(calls) == 0 {
		return
	}
	o := &out.Outbox
	o.mu.Lock()
	for _, c := range calls {
		if len(o.waiting) >= maxWaiting {
			o.missed = true
			break
		}
		o.waiting = append(o.waiting, c.Operation)
	}
	o.mu.Unlock()
	o.wakeUps.wake()
}

// take returns the waiting operations and empties the list.
func (o *Outbox) take() (ops []store.Operation, missed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ops, missed = o.waiting, o.missed
	o.waiting, o.missed = nil, false
	return ops, missed
}

// putBack returns operations that the queue did not accept to the front of the list.
func (o *Outbox) putBack(ops []store.Operation, missed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.missed = o.missed || missed
	o.waiting = append(ops, o.waiting...)
	if len(o.waiting) > maxWaiting {
		o.waiting, o.missed = o.waiting[:maxWaiting], true
	}
}

// Claim claims an operation: neither the relay nor a lane touches it until Release.
func (o *Outbox) Claim(id string) { o.claimAlone(id) }

// claimAlone is Claim for a caller that needs exclusive access. It returns false if the operation has already been
// claimed.
func (o *Outbox) claimAlone(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.claimed[id] {
		return false
	}
	if o.claimed == nil {
		o.claimed = make(map[string]bool)
	}
	o.claimed[id] = true
	return true
}

func (o *Outbox) Release(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.claimed, id)
}

// Claimed reports whether the operation is claimed.
func (o *Outbox) Claimed(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.claimed[id]
}

// relayOperations synchronizes the queue with the outbox at startup, and then moves committed operations to the queue
// until ctx is done. The lanes begin when this synchronization is complete.
func (out *Outbound) relayOperations(ctx context.Context) {
	for err := out.recoverQueue(ctx); err != nil; err = out.recoverQueue(ctx) {
		if ctx.Err() != nil {
			return
		}
		out.queueFailed(&out.outages.relay, "failed to synchronize the queue with the outbox; retrying", err)
		timed.Sleep(ctx, relayRetry, nil)
	}
	out.queueWorks(&out.outages.relay, "queue synchronized with the outbox")
	close(out.queueReady)
	tick := time.NewTicker(reconcileEvery)
	defer tick.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	if !out.Options.Shared {
		look.Stop()
	}
	for ctx.Err() == nil {
		woken := out.Outbox.wakeUps.listen()
		ops, missed := out.Outbox.take()
		err := out.relay(ctx, ops, missed)
		if err != nil && ctx.Err() == nil {
			out.Outbox.putBack(ops, missed)
			out.queueFailed(&out.outages.relay, "failed to move operations from the outbox to the queue; retrying", err)
			timed.Sleep(ctx, relayRetry, nil)
			continue
		}
		if len(ops) > 0 || missed {
			out.queueWorks(&out.outages.relay, "moving of operations from the outbox to the queue resumed")
		}
		select {
		case <-ctx.Done():
		case <-woken:
		case <-look.C:
			if err := out.look(ctx); err == nil {
				out.queueWorks(&out.outages.look, "reading of the operations of lost nodes resumed")
			} else if ctx.Err() == nil {
				out.queueFailed(&out.outages.look, "failed to read the operations of lost nodes; retrying", err)
			}
		case now := <-tick.C:
			if err := out.reconcile(ctx, "", now.Add(-reconcileAge)); err != nil && ctx.Err() == nil {
				out.queueFailed(nil, "failed to compare the outbox with the queue; retrying", err)
			}
		}
	}
}

func (out *Outbound) relay(ctx context.Context, ops []store.Operation, missed bool) error {
	if len(ops) > 0 {
		now := out.Now()
		// a clock that was set back must not delay operations that are due immediately or after a wait
		for i := range ops {
			if op := &ops[i]; op.AttemptedAt.IsZero() && !op.Unknown && !out.onTheDay(op) {
				if due := now.Add(max(0, op.NextAttemptAt.Sub(op.CreatedAt))); op.NextAttemptAt.After(due) {
					op.NextAttemptAt = due
				}
			}
		}
		if err := out.Queue.Add(ctx, ops...); err != nil {
			return err
		}
		for i := range ops {
			out.ringLaneOf(ops[i].Kind)
		}
	}
	if missed {
		return out.reconcile(ctx, "", out.Now().Add(time.Millisecond))
	}
	return nil
}

// reconcile queues every operation in the outbox that was created before an instant and has an id greater than after.
// It skips claimed operations and those with an unsaved outcome. Operations that are already in the queue do not
// change, except reopened ones.
func (out *Outbound) reconcile(ctx context.Context, after string, before time.Time) error {
	const page = 500
	for {
		list, err := out.store.Outbox(ctx, after, page)
		if err != nil {
			return err
		}
		var add []store.Operation
		for _, op := range list {
			after = op.ID
			if out.Outbox.Claimed(op.ID) || out.unsaved.get(op.ID) != nil || !op.CreatedAt.Before(before) {
				continue
			}
			if err := out.reopened(ctx, op); err != nil {
				return err
			}
			add = append(add, op)
		}
		if len(add) > 0 {
			if err := out.Queue.Add(ctx, add...); err != nil {
				return err
			}
			out.ringLanes()
		}
		if len(list) < page {
			return nil
		}
	}
}

// reopened reopens an operation in the queue that a person retried, in case the process ended before it wrote the retry
// to the queue. op is the outbox's copy. It may be out of date: an operation that has ended since is not reopened.
func (out *Outbound) reopened(ctx context.Context, op store.Operation) error {
	if op.Status.Final() {
		return nil
	}
	if ended, err := out.hasEnded(ctx, op.ID); err != nil || !ended || !out.Outbox.claimAlone(op.ID) {
		return err
	}
	defer out.Outbox.Release(op.ID)
	if ended, err := out.hasEnded(ctx, op.ID); err != nil || !ended {
		return err
	}
	// an ending is in the outbox before it is in the queue, so a copy read now shows whether a retry came after it
	op, promised, err := out.FindPromise(ctx, op.ID)
	if err != nil || !promised || op.Status.Final() {
		return err
	}
	return out.Queue.Change(ctx, op, "retried", "by hand")
}

// hasEnded reports whether an operation has ended in the queue.
func (out *Outbound) hasEnded(ctx context.Context, id string) (bool, error) {
	known, err := out.Queue.Operation(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && known.Status.Final(), err
}

// recoverQueue repairs the queue after startup. Attempts that were in progress when the process ended get an unknown
// outcome. Then BeforeWork runs, and recoverQueue adds the operations in the outbox that are not in the queue.
func (out *Outbound) recoverQueue(ctx context.Context) error {
	now := out.Now()
	for after := ""; ; {
		list, err := out.Queue.Operations(ctx, store.OperationFilter{
			Status: store.OperationProcessing, After: after, Limit: 500,
		})
		if err != nil {
			return err
		}
		for _, op := range list {
			after = op.ID
			err := out.Queue.Change(ctx, out.interrupted(op, now), "recovered",
				"the program stopped during the attempt")
			// operations with these errors belong to another node
			if err != nil && !errors.Is(err, store.ErrVersion) && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		if len(list) < 500 {
			break
		}
	}
	if _, err := out.Queue.Recover(ctx, now); err != nil {
		return err
	}
	if err := out.Options.Hooks.BeforeWork(ctx, now); err != nil {
		return err
	}
	if out.Options.QueueRebuilt {
		if err := out.addForgotten(ctx); err != nil {
			return err
		}
	}
	return out.reconcile(ctx, "", out.started)
}

// addForgotten queues every operation in the outbox whose outcome is unknown because the queue lost its attempts. It
// adds all of them in one step, even if there are none: until then, the queue counts as rebuilt, so the next process
// starts over if this one ends first.
func (out *Outbound) addForgotten(ctx context.Context) error {
	var add []store.Operation
	for op, err := range store.AllOutbox(ctx, out.store) {
		if err != nil {
			return err
		}
		change := out.delivery(op.Kind).Forgotten
		if change == nil || !op.CreatedAt.Before(out.started) {
			continue
		}
		if change(&op); op.Unknown {
			add = append(add, op)
		}
	}
	return out.Queue.Add(ctx, add...)
}

// interrupted returns an operation whose attempt was cut short by the end of its process: its outcome is unknown.
func (out *Outbound) interrupted(op store.Operation, now time.Time) store.Operation {
	op.Status, op.Unknown, op.NextAttemptAt = store.OperationPending, true, now
	if change := out.delivery(op.Kind).Interrupted; change != nil {
		change(&op)
	}
	return op
}

// outages contains the queue calls that are being retried until they succeed.
type outages struct{ relay, look, due, start timed.Outage }

// queueFailed logs that the queue does not work. It calls OnFatal if the queue will not work again in this process.
func (out *Outbound) queueFailed(of *timed.Outage, what string, err error) {
	if of == nil || of.Begins() {
		out.log.Error(what, "error", err)
	}
	if errors.Is(err, store.ErrUnavailable) && out.Queue.Ping(context.Background()) != nil &&
		out.Options.OnFatal != nil {
		out.Options.OnFatal(err)
	}
}

// queueWorks ends an outage.
func (out *Outbound) queueWorks(of *timed.Outage, what string) {
	if of.Ends() {
		out.log.Info(what)
	}
}

// FindPromise returns the outbox's copy of an operation, or false if it is no longer in the outbox.
func (out *Outbound) FindPromise(ctx context.Context, id string) (store.Operation, bool, error) {
	op, err := out.store.Promised(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return store.Operation{}, false, nil
	}
	return op, err == nil, err
}

// operationIDs creates ids like op-1769335200000-k3f9zq: Unix milliseconds and six characters of a-z0-9. Ids that one
// process creates in the same millisecond sort in order of creation. The chance that two processes create the same id
// in the same millisecond is one in a billion.
type operationIDs struct {
	Ahead time.Duration // added to the clock; a test sets it for a node whose clock is ahead

	mu   sync.Mutex
	ms   int64
	tail uint32
}

const (
	idAlphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	idTails    = 36 * 36 * 36 * 36 * 36 * 36
)

func (o *operationIDs) Next(now time.Time) string {
	var b [4]byte
	rand.Read(b[:]) // never fails; see crypto/rand
	random := binary.BigEndian.Uint32(b[:])
	o.mu.Lock()
	defer o.mu.Unlock()
	if ms := now.Add(o.Ahead).UnixMilli(); ms != o.ms {
		o.ms, o.tail = ms, random%(idTails/2)
	} else {
		o.tail += 1 + random%1024 // leaves at least half a million ids before it overflows
	}
	tail := o.tail
	var s [6]byte
	for i := len(s) - 1; i >= 0; i-- {
		s[i] = idAlphabet[tail%36]
		tail /= 36
	}
	return "op-" + strconv.FormatInt(o.ms, 10) + "-" + string(s[:])
}

// sinceID returns an id that sorts before those of all operations created at since or later.
func sinceID(since time.Time) string { return fmt.Sprintf("op-%d", since.UnixMilli()) }

// wakeUps wakes all listeners. A caller that starts listening before it checks its condition does not miss any signal.
type wakeUps struct {
	mu sync.Mutex
	c  chan struct{}
}

func (b *wakeUps) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

func (b *wakeUps) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}
