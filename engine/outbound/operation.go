package outbound

import (
	"context"
	"fmt"
	"sync"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/store"
)

// # How an operation ends
//
// Each attempt has an Ending, and advance applies it to the operation. Only an ending that is certain can lead to a
// retry. After an unknown ending, the operation waits until no call can still be in flight. Then its outcome is looked
// up.

// Limits contains the time limits and other limits for outbound calls. The zero value of each field means its default.
type Limits struct {
	Quarantine  time.Duration // how long a write with an unknown outcome waits before it is looked up; default 90 s
	Backoff     time.Duration // the base of store.Backoff; default 10 s
	MaxAttempts int           // default 10
	NoticeAge   time.Duration // the age at which an email or a webhook is given up; default 24 h
	// the maximum number of delivered operations in the queue; default 10,000, which is several weeks' worth for a busy
	// clinic
	Completed int
}

func (o Limits) WithDefaults() Limits {
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&o.Quarantine, 90 * time.Second}, {&o.Backoff, 10 * time.Second}, {&o.NoticeAge, 24 * time.Hour}} {
		if *d.to <= 0 {
			*d.to = d.value
		}
	}
	if o.MaxAttempts <= 0 {
		o.MaxAttempts = 10
	}
	if o.Completed <= 0 {
		o.Completed = 10_000
	}
	return o
}

// Ending is how an attempt ended.
type Ending int

const (
	Delivered    Ending = iota // the operation took effect
	NotNeeded                  // nothing is left to do
	Refused                    // it certainly did not take effect, and the same call never will
	Retryable                  // it certainly did not take effect, but it may another time
	Unknown                    // it is unknown whether it took effect
	LookupFailed               // the look-up of an unknown outcome failed
	Undecided                  // only a person can find out whether it took effect
	Unreachable                // the remote server is unreachable: nothing was sent, and the lane rests
	Deferred                   // its turn has not come yet; see Outcome.Wait and Outcome.At
)

// MaxLookups is how many look-ups of an unknown outcome can fail before a person must decide.
const MaxLookups = 3

// Outcome is the result of one attempt.
type Outcome struct {
	End    Ending
	Detail string        // for people; it contains no personal data and no secret
	Result string        // the id that the remote server assigned
	Wait   time.Duration // with Deferred: the time until the next attempt; with Retryable: the minimum
	At     time.Time     // with Deferred: a calendar time for the next attempt, instead of Wait
	Rest   bool          // with Unknown: the lane rests, as with Unreachable
}

// counts reports whether the next attempt at op, after this outcome, is due after a length of time. Otherwise it is due
// at a calendar time or already was.
func (o *Outcome) counts(op *store.Operation) bool {
	return op.Status == store.OperationPending && o.End != Unreachable && (o.End != Deferred || o.At.IsZero()) &&
		!op.NextAttemptAt.Equal(op.Deadline)
}

// Delivery defines how one kind of operation is delivered.
type Delivery struct {
	// Attempt makes one attempt at op, which is being processed, and may store notes in op's payload. Nil means that
	// this clinic does not deliver operations of this kind.
	Attempt func(ctx context.Context, op *store.Operation) Outcome
	// Ended applies op's ending to its appointment, in the transaction that records the ending. It may return a change
	// to be recorded and announced. If Ended is nil, there is nothing to apply.
	Ended func(ctx context.Context, tx store.Tx, op *store.Operation) (*booking.Change, error)
	// PromisedOn means that a failed operation remains in the outbox until a person decides.
	PromisedOn bool
	// Awake ends the waits that Attempt imposes, because a person wants an attempt now. If Awake is nil, there are no
	// such waits.
	Awake func()
	// OnTheDay reports whether op waits for a calendar time and not for a length of time. A clock change then does not
	// move it. If OnTheDay is nil, no operation waits for a calendar time.
	OnTheDay func(op *store.Operation) bool
	// LooksUp means that Attempt looks up an unknown outcome. The operation then does not end at its deadline before
	// the look-up.
	LooksUp bool
	// TooLate is the user-facing reason why an operation ends at its deadline. If it is empty, the operation's last
	// error is used.
	TooLate string
	// Missed is the user-facing reason why op, whose deadline passed before an attempt failed, is no longer needed. If
	// it is empty, or Missed is nil, op fails.
	Missed func(op *store.Operation) string
	// Interrupted changes an operation whose attempt was cut short by the end of its process, and which is due now. Nil
	// means no change.
	Interrupted func(op *store.Operation)
	// Forgotten changes an operation in the outbox whose copy in the queue was lost. Nil means no change.
	Forgotten func(op *store.Operation)
	// Find returns the id that the remote server assigned to an operation, after a person has found that it took
	// effect. Nil means that there is no id.
	Find func(ctx context.Context, op *store.Operation) string
	// Reopened applies a person's retry to op's appointment, in the transaction that reopens op. It may return a change
	// to be recorded. If Reopened is nil, there is nothing to apply.
	Reopened func(ctx context.Context, tx store.Tx, op *store.Operation, actor record.Actor,
		now time.Time) (*booking.Change, error)
}

// advance is the state machine of an operation. It applies an outcome to an operation that is being processed, and
// returns the event for the operation's history.
func advance(op store.Operation, o Outcome, now time.Time, rules Limits) (store.Operation, string) {
	if o.Detail != "" || o.End == Delivered || o.End == NotNeeded {
		op.LastError = o.Detail
	}
	pending := func(at time.Time) {
		op.Status, op.NextAttemptAt = store.OperationPending, at
		if !op.Deadline.IsZero() && op.Deadline.After(now) && at.After(op.Deadline) {
			op.NextAttemptAt = op.Deadline // the operation is given up at that time
		}
	}
	final := func(status store.OperationStatus) {
		op.Status, op.FinishedAt, op.NextAttemptAt = status, now, time.Time{}
	}
	switch o.End {
	case Delivered, NotNeeded:
		final(store.OperationCompleted)
		op.Unknown, op.NeedsReview = false, false
		if o.End == Delivered {
			op.Result = o.Result
		}
		return op, "completed"
	case Refused:
		final(store.OperationFailed)
		op.Unknown = false
		return op, "failed"
	case Retryable:
		op.Unknown = false
		if op.Attempts >= op.MaxAttempts {
			final(store.OperationFailed)
			return op, "failed"
		}
		pending(now.Add(max(store.Backoff(rules.Backoff, op.Attempts), o.Wait)))
	case Unknown:
		op.Unknown = true
		op.Status, op.NextAttemptAt = store.OperationPending, now.Add(rules.Quarantine)
	case LookupFailed:
		op.Lookups++
		op.Attempts = max(0, op.Attempts-1)
		if op.Lookups >= MaxLookups {
			final(store.OperationFailed)
			op.NeedsReview = true
			return op, "failed"
		}
		op.Status, op.NextAttemptAt = store.OperationPending, now.Add(store.Backoff(rules.Backoff, op.Lookups))
	case Undecided:
		final(store.OperationFailed)
		op.NeedsReview = true
		return op, "failed"
	case Unreachable:
		op.Attempts = max(0, op.Attempts-1)
		op.Status = store.OperationPending // still due, so that the order is preserved after the outage
	case Deferred:
		op.Attempts = max(0, op.Attempts-1)
		if o.At.IsZero() {
			o.At = now.Add(o.Wait)
		}
		pending(o.At)
	}
	return op, "retried"
}

// deliveryState returns an operation's state for its appointment's delivery log.
func deliveryState(op *store.Operation) string {
	switch {
	case op.Status == store.OperationCompleted:
		return DeliveryDelivered
	case op.NeedsReview:
		return DeliveryReview
	case op.Status == store.OperationFailed:
		return DeliveryFailed
	}
	return booking.DeliveryQueued
}

// ended is an operation and the outcome of its attempt.
type ended struct {
	op store.Operation
	Outcome
}

// Settle records an outcome and passes the operations that follow from it to the queue.
func (out *Outbound) Settle(ctx context.Context, op store.Operation, o Outcome) {
	out.settle(ctx, ended{op, o})
}

// settle is like Settle, for several operations.
func (out *Outbound) settle(ctx context.Context, list ...ended) {
	_, changes, _ := out.conclude(ctx, list, nil) // without a step there is no error
	for _, c := range changes {
		out.Enqueue(c.Calls...)
	}
}

// Conclude records an outcome as Settle does. It returns the operation in its new state and the change that the outcome
// made, if any. The caller must enqueue that change's calls.
func (out *Outbound) Conclude(ctx context.Context, op store.Operation, o Outcome) (store.Operation, *booking.Change) {
	after, changes, _ := out.conclude(ctx, []ended{{op, o}}, nil) // without a step there is no error
	if len(changes) == 0 {
		return after[0], nil
	}
	return after[0], changes[0]
}

// conclude stores outcomes: first in one database transaction, with their effects on the appointments, then in
// concurrent writes to the queue, which can share a commit. It returns the operations in their new states and the
// changes that the outcomes made. The caller must enqueue those changes' calls.
//
// step runs in the same transaction, unless it is nil. If the transaction fails, the outcomes of several operations are
// stored one by one, and an outcome without a step is written again later. With a step, the operations stay unchanged
// and conclude returns the error, so that the person who decided can repeat the decision.
func (out *Outbound) conclude(ctx context.Context, list []ended,
	step func(store.Tx) error) (after []store.Operation, changes []*booking.Change, err error) {
	ctx = context.WithoutCancel(ctx)
	out.heedClock(ctx) // before a new wait is counted from now
	now, began, isFinal := out.Now(), time.Now(), false
	after, events := make([]store.Operation, len(list)), make([]string, len(list))
	for i, e := range list {
		after[i], events[i] = advance(e.op, e.Outcome, now, out.Options.Limits)
		isFinal = isFinal || after[i].Status.Final()
	}
	if isFinal || step != nil {
		changes, err = out.endAll(ctx, list, after, now, step)
		switch {
		case err != nil && step != nil:
			return nil, nil, err
		case err != nil && len(list) > 1:
			for i := range list {
				one, c, _ := out.conclude(ctx, list[i:i+1], nil) // without a step there is no error
				after[i], changes = one[0], append(changes, c...)
			}
			return after, changes, nil
		case err != nil:
			op := list[0].op
			out.log.Error("failed to store the outcome of an operation; retrying",
				"operation", op.ID, "kind", op.Kind, "error", err)
			after[0], events[0] = unrecorded(op, after[0], now), "retried"
		}
	}
	var all sync.WaitGroup
	for i := range after {
		out.logFailed(&after[i])
		var w wait
		if list[i].counts(&after[i]) {
			w = wait{after[i].NextAttemptAt.Sub(now), began}
		}
		u := out.unsaved.add(after[i], events[i], after[i].LastError, w)
		all.Go(func() { out.save(ctx, u) })
	}
	all.Wait()
	for i := range after {
		out.ringLaneOf(after[i].Kind)
		// after the write to the queue, so that the list contains every operation that has been counted
		out.ends.count(&after[i], list[i].End)
	}
	return after, changes, nil
}

// endAll records the endings of those operations in after that have ended, and runs step, in one transaction. If that
// fails, it returns no changes.
func (out *Outbound) endAll(ctx context.Context, list []ended, after []store.Operation, now time.Time,
	step func(store.Tx) error) (changes []*booking.Change, err error) {
	err = out.store.Write(ctx, func(tx store.Tx) error {
		changes = nil
		for i := range after {
			if !after[i].Status.Final() {
				continue
			}
			c, err := out.end(ctx, tx, &after[i], list[i].End, now)
			if err != nil {
				return err
			}
			if c != nil {
				changes = append(changes, c)
			}
		}
		if step != nil {
			return step(tx)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// logFailed logs that an operation failed permanently, if it did.
func (out *Outbound) logFailed(op *store.Operation) {
	if op.Status == store.OperationFailed {
		out.log.Warn("operation failed permanently", "operation", op.ID, "kind", op.Kind, "appointment",
			op.AppointmentID, "needs_review", op.NeedsReview, "attempts", op.Attempts, "reason", op.LastError)
	}
}

// end records in tx how an operation ended.
func (out *Outbound) end(ctx context.Context, tx store.Tx, op *store.Operation, how Ending,
	now time.Time) (*booking.Change, error) {
	kind := out.delivery(op.Kind)
	if late, err := out.tooSlow(ctx, tx, op, how); late || err != nil {
		return nil, err
	}
	if err := tx.Fulfil(ctx, op.ID); err != nil {
		return nil, err
	}
	if op.Status == store.OperationFailed && kind.PromisedOn {
		if err := tx.Promise(ctx, *op); err != nil {
			return nil, err
		}
	}
	state := deliveryState(op)
	if how == NotNeeded {
		state = DeliveryNotNeeded
	}
	if err := PutDelivery(ctx, tx, op, state, now); err != nil {
		return nil, err
	}
	if kind.Ended == nil {
		return nil, nil
	}
	c, err := kind.Ended(ctx, tx, op)
	if err != nil || c == nil {
		return nil, err
	}
	c.At = now
	return c, out.booking.Record(ctx, tx, c)
}

// PutDelivery writes an operation's state to its appointment's delivery log.
func PutDelivery(ctx context.Context, tx store.Tx, op *store.Operation, state string, now time.Time) error {
	if op.AppointmentID == "" {
		return nil
	}
	return tx.PutDelivery(ctx, store.Delivery{
		OperationID: op.ID, AppointmentID: op.AppointmentID, Channel: booking.ChannelOf(op.Kind), State: state,
		Detail: op.LastError, UpdatedAt: now,
	})
}

// unrecorded returns an operation whose ending could not be written to the database. It is pending and due in 10 s,
// with the attempt's error, result and payload. If a person must decide about it, its outcome stays unknown, so that
// the next attempt does not repeat it.
func unrecorded(before, ended store.Operation, now time.Time) store.Operation {
	op := before
	op.LastError, op.Result, op.Payload = ended.LastError, ended.Result, ended.Payload
	op.Unknown = op.Unknown || ended.NeedsReview
	op.Status, op.NextAttemptAt = store.OperationPending, now.Add(10*time.Second)
	if ended.Status == store.OperationCompleted && op.Result == "" {
		op.Result = DoneWithoutName
	}
	return op
}

// DoneWithoutName is the result of an operation that took effect without getting an id from the remote server.
const DoneWithoutName = "done"

// keep stores an operation in the queue. A finished operation that was never in the queue is not added. The payload of
// a delivered email or text message is dropped, because no later call needs it and it makes up most of the operation's
// size. If the write fails, it is retried until the queue has the outcome; see unsaved.go.
func (out *Outbound) keep(ctx context.Context, op store.Operation, event, detail string) {
	out.save(ctx, out.unsaved.add(op, event, detail, wait{}))
	out.ringLaneOf(op.Kind)
}

// save writes an outcome to the queue. If that fails, saveOutcomes retries it.
func (out *Outbound) save(ctx context.Context, u *unsaved) {
	if err := out.saveOutcome(context.WithoutCancel(ctx), u); err != nil {
		out.queueFailed(nil, "failed to store the outcome of an operation in the queue; retrying",
			fmt.Errorf("operation %s: %w", u.op.ID, err))
		out.unsaved.wakeUps.wake()
	}
}

// Postpone records in the queue that an operation has an unknown outcome after its caller attempted it outside the
// queue. The lane takes it after the wait.
func (out *Outbound) Postpone(op store.Operation, by time.Duration, detail string) {
	ctx := context.Background()
	out.heedClock(ctx)
	op.Status, op.LastError, op.NextAttemptAt = store.OperationPending, detail, out.Now().Add(by)
	out.save(ctx, out.unsaved.add(op, "added", detail, wait{by, time.Now()}))
	out.ringLaneOf(op.Kind)
}

// Unread returns the explanation for an attempt that could not begin because its appointment could not be read.
func Unread(ctx context.Context) string {
	if ctx.Err() != nil {
		return "the server stopped before the first attempt"
	}
	return "the database could not be read"
}
