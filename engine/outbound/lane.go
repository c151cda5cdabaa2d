package outbound

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/timed"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// lane works off some kinds of operations, the earliest due first, so that an e-mail never waits behind the upstream's
// pace. It sleeps until something is due; its cost does not grow with what is waiting.
type lane struct {
	kinds   []store.OperationKind
	width   int // how many are in delivery at a time
	wakeUps wakeUps
	rest    Rest // while the far side is away: nothing is taken, and everything keeps its place
}

// newLanes sorts the kinds of operation by what they would wait for. Upstream writes go one at a time; what is short and
// has no pace of its own goes beside them.
func newLanes() []*lane {
	return []*lane{
		{kinds: []store.OperationKind{store.UpstreamBook, store.UpstreamReschedule}, width: 1},
		{kinds: []store.OperationKind{store.UpstreamCancel, store.UpstreamComment}, width: 1},
		{kinds: []store.OperationKind{store.Webhook}, width: 8}, // one call at a time to each address
		{kinds: []store.OperationKind{store.Email}, width: 2},
	}
}

// prepareOutbound says how each kind of operation is delivered.
func (out *Outbound) prepareOutbound() {
	out.Queue, out.queueReady, out.directs = out.Options.Queue, make(chan struct{}), make(chan *direct)
	out.deliver = make(map[store.OperationKind]Delivery)
	out.asks = upstream.NewPacer(out.Options.Pacer.Spacing())
	out.ShareLine(out.Options.Pacer, "upstream")
	out.ShareLine(out.asks, "upstream.lookups")
	if out.Options.Upstream != nil {
		write := Delivery{Attempt: out.deliverWrite, Ended: out.upstreamEnded, PromisedOn: true}
		out.deliver[store.UpstreamBook], out.deliver[store.UpstreamReschedule] = write, write
		out.deliver[store.UpstreamCancel] = Delivery{Attempt: out.deliverCancel, Ended: out.upstreamEnded, PromisedOn: true}
		out.deliver[store.UpstreamComment] = Delivery{Attempt: out.deliverComment}
	}
}

// Work is what keeps outbound calls going: the relay, a worker for each place in a lane, and direct attempts.
func (out *Outbound) Work() []func(context.Context) {
	if out.Queue == nil {
		return nil
	}
	work := []func(context.Context){out.relayOperations, out.saveOutcomes, out.pruneQueue, out.runDirects, out.watchClock}
	if out.Options.Shared {
		work = append(work, out.watchQueue)
	}
	for _, l := range newLanes() {
		if _, ok := out.deliver[l.kinds[0]]; !ok {
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

// laneOf is the lane that delivers a kind, or nil.
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

// WakeFor ends the rest of whatever delivers a kind: a person wants it tried now.
func (out *Outbound) WakeFor(kind store.OperationKind) {
	if l := out.laneOf(kind); l != nil {
		l.rest.End()
		l.wakeUps.wake()
	}
	if awake := out.deliver[kind].Awake; awake != nil {
		awake()
	}
}

// workLane delivers what is due, until ctx ends.
func (out *Outbound) workLane(ctx context.Context, l *lane) {
	select {
	case <-out.queueReady:
	case <-ctx.Done():
	}
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
			case ctx.Err() == nil && !errors.Is(err, store.ErrNotFound):
				out.queueFailed("due operations not read; retrying", err)
				wait = relayRetry
			}
		}
		if wait != 0 {
			timed.Sleep(ctx, wait, woken)
			continue
		}
		if err := out.workOne(ctx, l); err != nil && ctx.Err() == nil {
			out.queueFailed("operation not started; retrying", err)
			timed.Sleep(ctx, relayRetry, nil)
		}
	}
}

// workOne takes one operation and makes one attempt at it.
func (out *Outbound) workOne(ctx context.Context, l *lane) error {
	out.clock.mu.RLock()
	op, err := out.Queue.Take(ctx, out.Now(), l.kinds...)
	out.clock.mu.RUnlock()
	if errors.Is(err, store.ErrNotFound) {
		return nil // another worker was first
	}
	if err != nil {
		return err
	}
	if out.resumed(ctx, &op) {
		return nil
	}
	if out.Outbox.Claimed(op.ID) {
		out.settle(ctx, op, Outcome{End: Deferred, At: out.Now().Add(time.Second)})
		return nil
	}
	known, promised, err := out.FindPromise(ctx, op.ID)
	switch {
	case err != nil:
		out.settle(ctx, op, Outcome{End: Deferred, At: out.Now().Add(10 * time.Second), Detail: Unread(ctx)})
		return nil
	case !promised: // its end was recorded, and the process stopped before the queue was told; or it was given up
		op.Status, op.FinishedAt, op.NextAttemptAt, op.Unknown = store.OperationCompleted, out.Now(), time.Time{}, false
		out.keep(ctx, op, "completed", "its end was recorded before")
		return nil
	case known.Status.Final():
		out.keep(ctx, known, string(known.Status), "its end was recorded before")
		return nil
	}
	o := out.attempt(ctx, &op)
	switch {
	case o.End == Unreachable, o.End == unknown && out.doubt.Load() > 1: // one write more that nobody knows of would be no use
		if l.rest.Begin(time.Now(), out.Options.Limits.Backoff) {
			out.log.Warn("deliveries suspended; retrying", "kind", op.Kind, "reason", o.Detail)
		}
	case o.End != Deferred && o.End != NotNeeded && o.End != lookupFailed && o.End != unknown: // those have not seen the far side at work
		if l.rest.End() {
			out.log.Info("deliveries resumed", "kind", op.Kind)
		}
	}
	out.settle(ctx, op, o)
	if o.End == Unreachable {
		return out.giveUpLate(ctx, l)
	}
	return nil
}

func (out *Outbound) attempt(ctx context.Context, op *store.Operation) Outcome {
	switch {
	case op.Result != "": // it took effect, and that could not be recorded
		return Outcome{End: Delivered, Result: op.Result}
	case expired(op, out.Now()):
		return Outcome{End: Refused, Detail: tooLateFor(op)}
	}
	return out.deliver[op.Kind].Attempt(ctx, op)
}

const tooLateDetail = "too late to deliver: the appointment is about to start"

func tooLate(op *store.Operation, now time.Time) bool {
	return !op.Deadline.IsZero() && !now.Before(op.Deadline)
}

// expired reports whether op is too late and can end without being asked after: an upstream write of unknown outcome
// cannot, a mail or a webhook always can.
func expired(op *store.Operation, now time.Time) bool {
	return tooLate(op, now) && !(op.Unknown && booking.ChannelOf(op.Kind) == "upstream")
}

// tooLateFor says why op is given up, with what stood in its way.
func tooLateFor(op *store.Operation) string {
	switch {
	case booking.ChannelOf(op.Kind) == "upstream":
		return tooLateDetail
	case op.LastError == "":
		return "it could not be delivered in time"
	}
	return "it could not be delivered in time: " + op.LastError
}

// giveUpLate ends what became too late while its lane rests: a lane that works sees it by itself.
func (out *Outbound) giveUpLate(ctx context.Context, l *lane) error {
	return out.eachPending(ctx, func(op store.Operation) error {
		if out.laneOf(op.Kind) == l && expired(&op, out.Now()) {
			out.settle(ctx, op, Outcome{End: Refused, Detail: tooLateFor(&op)})
		}
		return nil
	})
}

// eachPending calls do with every operation of the queue that waits, by id, until it fails. do may change the operation.
func (out *Outbound) eachPending(ctx context.Context, do func(store.Operation) error) error {
	const page = 500
	for after := ""; ; {
		list, err := out.Queue.Operations(ctx, store.OperationFilter{Status: store.OperationPending, After: after, Limit: page})
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

// pruneQueue forgets operations that were delivered long ago, once an hour, and the oldest where they have become very many,
// at once: looking whether they have costs no write.
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
				out.log.Warn("delivered operations not deleted; retrying in a minute", "error", err)
			}
			if !surplus || n == 0 || err != nil {
				return
			}
		}
	})
}

// surplus is the instant before which finished operations are to go: at least this one, and later while there are more than
// Limits.Completed. It moves on by some hundred of them at a time.
func (out *Outbound) surplus(ctx context.Context, least time.Time) (before time.Time, surplus bool, err error) {
	n, err := out.Queue.Counts(ctx)
	most := out.Options.Limits.Completed
	if err != nil || n.Completed <= most {
		return least, false, err
	}
	oldest, err := out.Queue.Operations(ctx, store.OperationFilter{Status: store.OperationCompleted, Limit: min(n.Completed-most+1, 500)})
	for i := range oldest {
		if finished := oldest[i].FinishedAt; finished.After(least) {
			least = finished
		}
	}
	return least, true, err
}
