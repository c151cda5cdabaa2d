package outbound

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/timed"
	"holdfast/store"
)

// lane delivers some kinds of operations, starting with the one that has been due longest. It is separate from the
// other lanes, so an email never waits for the upstream's pace. It sleeps until an operation is due. Its cost does not
// grow with the number of waiting operations.
type lane struct {
	kinds   []store.OperationKind
	width   int // the number of workers
	group   int // the maximum number of operations that a worker takes at a time; see group.go
	wakeUps wakeUps
	rest    Rest // while the server is unreachable: the lane takes no operation, and the order is preserved
}

// newLanes groups the kinds of operation by what they wait for. Upstream writes are sent one at a time. Cancellations
// and notes are short and not paced, so they are sent in parallel.
func newLanes() []*lane {
	return []*lane{
		{kinds: []store.OperationKind{store.UpstreamBook, store.UpstreamReschedule}, width: 1, group: 1},
		{kinds: []store.OperationKind{store.UpstreamCancel, store.UpstreamComment}, width: 1, group: 1},
		{kinds: []store.OperationKind{store.Webhook}, width: 8, group: 1}, // one call at a time to each address
		{kinds: []store.OperationKind{store.Email}, width: 2, group: 8},   // the mailer has two connections
		{kinds: []store.OperationKind{store.SMS}, width: 2, group: 1},
	}
}

// Work returns the functions that deliver operations: the relay, and the workers of each lane.
func (out *Outbound) Work() []func(context.Context) {
	if out.Queue == nil {
		return nil
	}
	work := []func(context.Context){out.relayOperations, out.saveOutcomes, out.pruneQueue, out.watchClock}
	if out.Options.Shared {
		work = append(work, out.watchQueue)
	}
	for _, l := range newLanes() {
		if out.delivery(l.kinds[0]).Attempt == nil {
			continue
		}
		out.lanes = append(out.lanes, l)
		for range l.width {
			work = append(work, func(ctx context.Context) { out.workLane(ctx, l) })
		}
	}
	return work
}

func (out *Outbound) ringLanes() {
	for _, l := range out.lanes {
		l.wakeUps.wake()
	}
}

// ringLaneOf wakes the lane that delivers a kind, because an operation of that kind changed in the queue. The workers
// of the other lanes are not woken, because each of them would read the queue.
func (out *Outbound) ringLaneOf(kind store.OperationKind) {
	if l := out.laneOf(kind); l != nil {
		l.wakeUps.wake()
	}
}

// laneOf returns the lane that delivers a kind, or nil.
func (out *Outbound) laneOf(kind store.OperationKind) *lane {
	for _, l := range out.lanes {
		for _, k := range l.kinds {
			if k == kind {
				return l
			}
		}
	}
	return nil
}

// WakeFor ends the pause of the lane that delivers a kind, because a person wants an attempt now.
func (out *Outbound) WakeFor(kind store.OperationKind) {
	if l := out.laneOf(kind); l != nil {
		l.rest.End()
		l.wakeUps.wake()
	}
	if awake := out.delivery(kind).Awake; awake != nil {
		awake()
	}
}

// workLane delivers due operations until ctx is done.
func (out *Outbound) workLane(ctx context.Context, l *lane) {
	select {
	case <-out.queueReady:
	case <-ctx.Done():
	}
	size := 1 // of the next group
	for ctx.Err() == nil {
		woken := l.wakeUps.listen()
		out.heedClock(ctx)
		wait := time.Until(l.rest.Until())
		if wait <= 0 {
			wait = -1 // until it is woken
			due, err := out.Queue.NextDue(ctx, l.kinds...)
			switch {
			case err == nil:
				wait = max(0, due.Sub(out.Now()))
				out.queueWorks(&out.outages.due, "reading of due operations resumed")
			case errors.Is(err, store.ErrNotFound):
				out.queueWorks(&out.outages.due, "reading of due operations resumed")
			case ctx.Err() == nil:
				out.queueFailed(&out.outages.due, "failed to read due operations; retrying", err)
				wait = relayRetry
			}
		}
		if wait != 0 {
			timed.Sleep(ctx, wait, woken)
			continue
		}
		var err error
		if size, err = out.workGroup(ctx, l, size); err == nil {
			out.queueWorks(&out.outages.start, "starting of operations resumed")
		} else if ctx.Err() == nil {
			out.queueFailed(&out.outages.start, "failed to start an operation; retrying", err)
			timed.Sleep(ctx, relayRetry, nil)
		}
	}
}

// begin makes one attempt at an operation that one of the lane's workers has taken. It returns ok = false if there is
// no outcome left to record because begin has already stored how the operation ended.
func (out *Outbound) begin(ctx context.Context, l *lane, op *store.Operation) (o Outcome, ok bool) {
	if out.resumed(ctx, op) {
		return o, false
	}
	if out.Outbox.Claimed(op.ID) {
		return Outcome{End: Deferred, Wait: time.Second}, true
	}
	known, promised, err := out.FindPromise(ctx, op.ID)
	switch {
	case err != nil:
		return Outcome{End: Deferred, Wait: 10 * time.Second, Detail: Unread(ctx)}, true
	case !promised: // its end was recorded, but not in the queue, because the process stopped; or it was given up
		op.Status, op.FinishedAt, op.NextAttemptAt, op.Unknown = store.OperationCompleted, out.Now(), time.Time{}, false
		out.keep(ctx, *op, "completed", "its outcome was already recorded")
		return o, false
	case known.Status.Final():
		out.keep(ctx, known, string(known.Status), "its outcome was already recorded")
		return o, false
	}
	o = out.attempt(ctx, op)
	switch {
	case o.End == Unreachable, o.Rest:
		if l.rest.Begin(time.Now(), out.Options.Limits.Backoff) {
			out.log.Warn("deliveries suspended; retrying", "kind", op.Kind, "reason", o.Detail)
		}
	case o.End != Deferred && o.End != NotNeeded && o.End != LookupFailed && o.End != Unknown:
		// the outcomes left out above do not show that the server is reachable
		if l.rest.End() {
			out.log.Info("deliveries resumed", "kind", op.Kind)
		}
	}
	return o, true
}

func (out *Outbound) attempt(ctx context.Context, op *store.Operation) Outcome {
	d := out.delivery(op.Kind)
	switch {
	case op.Result != "": // it took effect, but this could not be written to the database
		return Outcome{End: Delivered, Result: op.Result}
	case d.expired(op, out.Now()):
		return d.late(op)
	}
	return d.Attempt(ctx, op)
}

// IsTooLate reports whether the deadline of op has passed.
func IsTooLate(op *store.Operation, now time.Time) bool {
	return !op.Deadline.IsZero() && !now.Before(op.Deadline)
}

// expired reports whether op is past its deadline and can end without an attempt. If the outcome is unknown and LooksUp
// is set, the outcome must be looked up first.
func (d Delivery) expired(op *store.Operation, now time.Time) bool {
	return IsTooLate(op, now) && !(op.Unknown && d.LooksUp)
}

// late returns the outcome of op at its deadline. The reason includes its last error.
func (d Delivery) late(op *store.Operation) Outcome {
	o := Outcome{End: Refused, Detail: "the message could not be delivered in time"}
	switch {
	case d.TooLate != "":
		o.Detail = d.TooLate
	case op.LastError != "":
		o.Detail += ": " + op.LastError
	case d.Missed != nil && !op.Unknown:
		if why := d.Missed(op); why != "" {
			return Outcome{End: NotNeeded, Detail: why}
		}
	}
	return o
}

// giveUpLate ends the operations that passed their deadline while their lane was paused. A working lane ends them
// itself.
func (out *Outbound) giveUpLate(ctx context.Context, l *lane) error {
	return out.EachPending(ctx, func(op store.Operation) error {
		if d := out.delivery(op.Kind); out.laneOf(op.Kind) == l && d.expired(&op, out.Now()) {
			out.Settle(ctx, op, d.late(&op))
		}
		return nil
	})
}

// EachPending calls do with every pending operation in the queue, by id, until do returns an error. do may change the
// operation.
func (out *Outbound) EachPending(ctx context.Context, do func(store.Operation) error) error {
	const page = 500
	for after := ""; ; {
		list, err := out.Queue.Operations(ctx, store.OperationFilter{
			Status: store.OperationPending, After: after, Limit: page,
		})
		if err != nil {
			return err
		}
		for _, op := range list {
			after = op.ID
			if err := do(op); err != nil {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

// pruneQueue deletes operations that were completed longer ago than Options.Keep, once an hour. If more than
// Limits.Completed are stored, it deletes the oldest ones within a minute, because checking for this costs no write.
func (out *Outbound) pruneQueue(ctx context.Context) {
	var pruned time.Time
	timed.Every(ctx, time.Minute, func(now time.Time) {
		for {
			before, surplus, err := out.surplus(ctx, now.Add(-out.Options.Keep))
			n := 0
			if err == nil && (surplus || now.Sub(pruned) >= time.Hour) {
				n, err = out.Queue.Prune(ctx, before)
				pruned = now
			}
			if err != nil && ctx.Err() == nil {
				out.log.Warn("failed to delete delivered operations; retrying in 1 minute", "error", err)
			}
			if !surplus || n == 0 || err != nil {
				return
			}
		}
	})
}

// surplus returns the instant before which completed operations are deleted: least, or a later instant while more
// than Limits.Completed are stored. One call advances it by at most 500 operations.
func (out *Outbound) surplus(ctx context.Context, least time.Time) (before time.Time, surplus bool, err error) {
	n, err := out.Queue.Counts(ctx)
	most := out.Options.Limits.Completed
	if err != nil || n.Completed <= most {
		return least, false, err
	}
	oldest, err := out.Queue.Operations(ctx, store.OperationFilter{
		Status: store.OperationCompleted, Limit: min(n.Completed-most+1, 500),
	})
	for i := range oldest {
		if finished := oldest[i].FinishedAt; finished.After(least) {
			least = finished
		}
	}
	return least, true, err
}
