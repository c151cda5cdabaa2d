package outbound

import (
	"context"
	"fmt"
	"time"

	"holdfast/engine/booking"
	"holdfast/store"
)

// # How an operation ends
//
// One attempt has an ending; advance says what it makes of the operation. Only an ending that is certain may lead to a
// repeat: after an unknown one the operation waits until nothing can be in flight any more, and then asks.

// Limits are the times and limits of outbound calls; the zero value of each is its default.
type Limits struct {
	RetryDelay  time.Duration // before the one quick retry while an agent waits; default 5 s
	Quarantine  time.Duration // how long a write of unknown outcome is left alone before it is looked up; default 90 s
	Backoff     time.Duration // the base of store.Backoff; default 10 s
	MaxAttempts int           // default 10
	NoticeAge   time.Duration // how old a mail or a webhook may become before it is given up; default 24 h
	Completed   int           // delivered operations that the queue keeps, whatever their age; default 10,000, weeks of a busy clinic

	OpeningsEvery  time.Duration // how often the practice system's openings are fetched ahead; zero: never
	OpeningsMaxAge time.Duration // how old they may become and still be believed; default 1 h
}

func (o Limits) WithDefaults() Limits {
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&o.RetryDelay, 5 * time.Second}, {&o.Quarantine, 90 * time.Second}, {&o.Backoff, 10 * time.Second}, {&o.NoticeAge, 24 * time.Hour}, {&o.OpeningsMaxAge, time.Hour}} {
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
	Delivered    Ending = iota // it took effect
	NotNeeded                  // nothing is left to be done
	Refused                    // it certainly did not, and the same call never will
	Retryable                  // it certainly did not, and may another time
	unknown                    // nobody knows
	lookupFailed               // it was to be found out what became of an unknown one, and that failed
	undecided                  // only a person can find it out
	Unreachable                // the far side is not there: nothing was sent, and the others of the lane need not try
	Deferred                   // it is not its turn yet; see outcome.at
)

// maxLookups is how often an unknown outcome is looked up in vain before a person has to.
const maxLookups = 3

// Outcome is what one attempt came to.
type Outcome struct {
	End    Ending
	Detail string    // in words, for people; never personal data or a secret
	Result string    // what the far side called it
	At     time.Time // with later: when to try again
}

// Delivery is how one kind of operation is delivered.
type Delivery struct {
	// Attempt makes one Attempt at op, which is being processed, and may leave notes in op's payload.
	Attempt func(ctx context.Context, op *store.Operation) Outcome
	// Ended says what the end of op means to its appointment, in the transaction that records it. It may return a
	// change to be recorded and announced. Nil where it means nothing.
	Ended func(ctx context.Context, tx store.Tx, op *store.Operation) (*booking.Change, error)
	// PromisedOn: what failed stays in the outbox until a person decides.
	PromisedOn bool
	// Awake has what Attempt leaves alone tried again: a person wants it tried now. Nil where nothing is left alone.
	Awake func()
	// OnTheDay reports whether op, which was never attempted, waits for an instant of the calendar and not for a while: it stays
	// where it is when the clock is set. Nil: none does.
	OnTheDay func(op *store.Operation) bool
}

// advance is the state machine of an operation: what an outcome makes of one that is being processed, and the line for
// its story.
func advance(op store.Operation, o Outcome, now time.Time, rules Limits) (store.Operation, string) {
	if o.Detail != "" || o.End == Delivered || o.End == NotNeeded {
		op.LastError = o.Detail
	}
	pending := func(at time.Time) {
		op.Status, op.NextAttemptAt = store.OperationPending, at
		if !op.Deadline.IsZero() && op.Deadline.After(now) && at.After(op.Deadline) {
			op.NextAttemptAt = op.Deadline // that is when it is given up
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
		pending(now.Add(store.Backoff(rules.Backoff, op.Attempts)))
	case unknown:
		op.Unknown = true
		op.Status, op.NextAttemptAt = store.OperationPending, now.Add(rules.Quarantine)
	case lookupFailed:
		op.Lookups++
		op.Attempts = max(0, op.Attempts-1)
		if op.Lookups >= maxLookups {
			final(store.OperationFailed)
			op.NeedsReview = true
			return op, "failed"
		}
		op.Status, op.NextAttemptAt = store.OperationPending, now.Add(store.Backoff(rules.Backoff, op.Lookups))
	case undecided:
		final(store.OperationFailed)
		op.NeedsReview = true
		return op, "failed"
	case Unreachable:
		op.Attempts = max(0, op.Attempts-1)
		op.Status = store.OperationPending // due when it was: the first one is tried first when the far side is back
	case Deferred:
		op.Attempts = max(0, op.Attempts-1)
		pending(o.At)
	}
	return op, "retried"
}

// deliveryState is how the end of an operation is said beside its appointment.
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

// settle makes an outcome durable and hands over what follows from it.
func (out *Outbound) settle(ctx context.Context, op store.Operation, o Outcome) {
	if _, c, _ := out.conclude(ctx, op, o, nil); c != nil { // without a step there is no error
		out.Enqueue(c.Calls...)
	}
}

// conclude makes an outcome durable: in the database first, with what it means to the appointment, then in the queue. It
// returns the operation as it is afterwards, and the change that was made, whose calls are the caller's to hand over.
//
// step is written in the same transaction; nil: nothing. If the transaction fails, an outcome without a step is written again later. With a step
// the operation stays unchanged and conclude returns the error, so that the person who decided can repeat the decision.
func (out *Outbound) conclude(ctx context.Context, op store.Operation, o Outcome, step func(store.Tx) error) (store.Operation, *booking.Change, error) {
	ctx = context.WithoutCancel(ctx)
	out.heedClock(ctx) // before the next wait is counted from now
	now := out.Now()
	before := op
	op, event := advance(op, o, now, out.Options.Limits)
	var c *booking.Change
	if op.Status.Final() || step != nil {
		err := out.store.Write(ctx, func(tx store.Tx) (err error) {
			if op.Status.Final() {
				c, err = out.end(ctx, tx, &op, o.End, now)
			}
			if err == nil && step != nil {
				err = step(tx)
			}
			return err
		})
		if err != nil && step != nil {
			return before, nil, err
		}
		if err != nil {
			out.log.Error("outcome of an operation not stored; retrying", "operation", op.ID, "kind", op.Kind, "error", err)
			op, event, c = unrecorded(before, op, now), "retried", nil
		} else if op.Status == store.OperationFailed {
			out.log.Warn("operation failed permanently", "operation", op.ID, "kind", op.Kind, "appointment", op.AppointmentID,
				"needs_review", op.NeedsReview, "attempts", op.Attempts, "reason", op.LastError)
		}
	}
	out.keep(ctx, op, event, op.LastError)
	out.ends.count(&op, o.End) // after the queue has it: what the figures say is also in the list
	return op, c, nil
}

// end records the end of an operation in tx.
func (out *Outbound) end(ctx context.Context, tx store.Tx, op *store.Operation, how Ending, now time.Time) (*booking.Change, error) {
	kind := out.deliver[op.Kind]
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
	if err := putDelivery(ctx, tx, op, state, now); err != nil {
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

// putDelivery says beside the appointment how far its operation is.
func putDelivery(ctx context.Context, tx store.Tx, op *store.Operation, state string, now time.Time) error {
	if op.AppointmentID == "" {
		return nil
	}
	list, err := tx.Deliveries(ctx, op.AppointmentID)
	if err != nil {
		return err
	}
	d := store.Delivery{OperationID: op.ID, AppointmentID: op.AppointmentID, Channel: booking.ChannelOf(op.Kind)}
	for _, known := range list {
		if known.OperationID == op.ID {
			d = known
		}
	}
	d.State, d.Detail, d.UpdatedAt = state, op.LastError, now
	return tx.PutDelivery(ctx, d)
}

// unrecorded is an operation whose end could not be written to the database: it goes on, and what is known of it is not
// forgotten.
func unrecorded(before, ended store.Operation, now time.Time) store.Operation {
	op := before
	op.LastError, op.Result, op.Payload = ended.LastError, ended.Result, ended.Payload
	op.Status, op.NextAttemptAt = store.OperationPending, now.Add(10*time.Second)
	if ended.Status == store.OperationCompleted && op.Result == "" {
		op.Result = doneWithoutName
	}
	return op
}

// doneWithoutName is the result of what was done and has no name of its own.
const doneWithoutName = "done"

// keep stores an operation in the queue. A finished operation that was never in the queue is not added. The payload of a delivered
// notice is dropped: no later call needs it, and it is most of the operation's size. If the write fails, it is retried until the
// queue has the outcome; see unsaved.go.
func (out *Outbound) keep(ctx context.Context, op store.Operation, event, detail string) {
	if op.Status == store.OperationCompleted && (op.Kind == store.Email || op.Kind == store.Webhook) {
		op.Payload = nil
	}
	u := &unsaved{op: op, event: event, detail: detail}
	out.unsaved.put(u)
	if err := out.saveOutcome(context.WithoutCancel(ctx), u); err != nil {
		out.queueFailed("outcome of an operation not stored in the queue; retrying", fmt.Errorf("operation %s: %w", op.ID, err))
		out.unsaved.wakeUps.wake()
	}
	out.ringLanes()
}
