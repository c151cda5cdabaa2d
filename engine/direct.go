package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Writing upstream while a caller waits
//
// An agent's caller hears an answer within Options.AgentBound. Meanwhile the booking is tried at once, beside the queue: Run
// makes the attempt, so that a call in flight outlives the request that asked for it. The promise in the outbox says from
// the first moment that it was attempted. Whatever the answer leaves open goes into the queue.

const (
	// DefaultAgentBound is longer than upstream.DefaultSpacing, so that of two bookings in a row, as for a brother and a sister,
	// the second waits its turn and is confirmed, too.
	DefaultAgentBound = 12 * time.Second
	// MinAgentBound and MaxAgentBound leave time for a call, and an answer before whoever asked gives up.
	MinAgentBound, MaxAgentBound = 3 * time.Second, 25 * time.Second
	// callReserve is what is left of the bound for a call: one that begins later would be cut off by it.
	callReserve = time.Second
	// probeBound is how long a look at a doubtful upstream may take while a caller waits.
	probeBound = 3 * time.Second
)

// direct is one booking that is tried while its caller waits.
type direct struct {
	op       store.Operation
	deadline time.Time
	reply    chan attempted // holds one
	queued   chan struct{}  // closed when the queue has what a caller who left leaves behind

	mu      sync.Mutex
	decided bool // the attempt has come to its end, and the caller waits for what it says
	left    bool // the caller was told that the booking is queued
}

// Why an attempt was left to the queue, as answers to agents call it.
const (
	errorRateLimitedQueued   = "RATE_LIMITED_QUEUED"
	errorUnknownQueued       = "OUTCOME_UNKNOWN_QUEUED"
	errorUnreachableQueued   = "UPSTREAM_UNREACHABLE_QUEUED"
	errorMisconfiguredQueued = "UPSTREAM_MISCONFIGURED_QUEUED"
)

// attempted is what the caller is told of the attempt.
type attempted struct {
	end        ending // delivered, refused; anything else is queued
	guid       string
	reason     upstream.Reason // with refused
	errorType  string          // with queued
	detail     string
	attempts   int
	waited     time.Duration // in the pacer's line
	noteAdded  bool
	noteResult string
}

// decide claims the end for the attempt. It reports false if the caller has left; then the queue has the operation.
func (d *direct) decide() bool {
	d.mu.Lock()
	d.decided = !d.left
	d.mu.Unlock()
	if !d.decided {
		<-d.queued
	}
	return d.decided
}

// leave gives up waiting. It reports false if the answer is about to come.
func (d *direct) leave() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = !d.decided
	return d.left
}

// tryNow lets Run try a promised booking at once and says what came of it in time.
func (e *Engine) tryNow(op store.Operation, deadline time.Time) attempted {
	d := &direct{op: op, deadline: deadline, reply: make(chan attempted, 1), queued: make(chan struct{})}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case e.directs <- d:
		select {
		case r := <-d.reply:
			return r
		case <-timer.C:
		}
		if !d.leave() {
			return <-d.reply
		}
	case <-timer.C: // nothing runs that could try
		e.outbox.letGo(op.ID)
	}
	const detail = "no answer in time"
	e.heedClock(context.Background())
	op.Status, op.LastError = store.OperationPending, detail
	op.NextAttemptAt = e.now().Add(e.options.Outbound.Quarantine)
	e.keep(context.Background(), op, "added")
	close(d.queued)
	return attempted{end: unknown, errorType: errorUnknownQueued, detail: detail, attempts: 1}
}

// runDirects makes the attempts that callers wait for, until ctx ends and all of them have.
func (e *Engine) runDirects(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-e.queueReady: // and the pacer knows of the last write before the start
	}
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-e.directs:
			all.Go(func() {
				defer e.outbox.letGo(d.op.ID)
				d.reply <- e.tryDirect(ctx, d)
			})
		}
	}
}

// tryDirect makes the attempt and records what came of it.
func (e *Engine) tryDirect(ctx context.Context, d *direct) attempted {
	op, r, o := d.op, attempted{}, outcome{}
	p := payloadOf(&op)
	a, err := e.store.Appointment(ctx, op.AppointmentID)
	if err != nil {
		o, r.errorType = outcome{end: unknown, detail: "the database could not be read"}, errorUnknownQueued
	} else {
		o = e.sendDirect(ctx, d, &op, &p, &a, &r)
	}
	waiting := d.decide()
	r.end, r.guid, r.detail = o.end, o.result, o.detail
	switch {
	case o.end == refused && waiting:
		if e.cancelFence(ctx, &a, op.ID, o.detail) {
			return r
		}
		o.end, r.end = again, again
	case o.end == delivered && r.guid == doneWithoutName:
		r.guid = ""
	case o.end == later && p.Written:
		r.end = delivered // which GUID it has is found out by the queue
	}
	if o.end == away {
		op.NextAttemptAt = e.now().Add(e.options.Outbound.Backoff)
	}
	op, c := e.conclude(ctx, op, o)
	if op.Status == store.OperationCompleted && c != nil {
		e.noteNow(ctx, d, c, &r)
		e.HandOver(c.calls...)
	}
	return r
}

// sendDirect asks, waits for its turn and writes; on a rate limit it writes once more after the retry delay.
func (e *Engine) sendDirect(ctx context.Context, d *direct, op *store.Operation, p *upstreamPayload, a *store.Appointment, r *attempted) outcome {
	r.errorType = errorRateLimitedQueued
	op.Unknown, op.NextAttemptAt = false, e.now() // nothing has been sent so far
	bound := min(probeBound, time.Until(d.deadline))
	probe, cancel := context.WithTimeout(ctx, bound)
	o, there := e.isThere(probe, bound)
	cancel()
	if !there {
		r.errorType = errorUnreachableQueued
		return o
	}
	began := time.Now()
	err := e.options.Pacer.Wait(ctx, time.Until(d.deadline)-callReserve)
	r.waited = time.Since(began)
	var line *upstream.LineError
	switch {
	case errors.As(err, &line):
		return outcome{end: later, at: e.now(), detail: "others were waiting to be written before it"}
	case err != nil:
		return outcome{end: later, at: e.now(), detail: "the server was stopped"}
	}
	turn := e.options.Pacer.Turn()
	for {
		r.attempts++
		op.AttemptedAt = e.now()
		created, err := e.options.Upstream.SetAppointment(ctx, p.write(a.UpstreamPatientID, e.Zone()))
		if upstream.ClassOf(err) == upstream.RateLimited && r.attempts == 1 && time.Until(d.deadline) > e.options.Outbound.RetryDelay+callReserve {
			sleep(ctx, e.options.Outbound.RetryDelay, nil)
			if e.options.Pacer.Again(turn) {
				continue
			}
		}
		r.reason = upstream.ReasonOf(err)
		switch upstream.ClassOf(err) {
		case upstream.Unknown:
			r.errorType = errorUnknownQueued
		case upstream.NotSent:
			r.errorType = errorUnreachableQueued
		case upstream.Misconfigured:
			r.errorType = errorMisconfiguredQueued
		}
		return e.written(ctx, op, p, a, created, err)
	}
}

// noteNow sends the note of a booking that was just written, if there is time; else the queue does.
func (e *Engine) noteNow(ctx context.Context, d *direct, c *change, r *attempted) {
	for i, call := range c.calls {
		if call.Kind != store.UpstreamComment {
			continue
		}
		r.noteResult = "queued"
		left := time.Until(d.deadline)
		if left < callReserve {
			return
		}
		short, cancel := context.WithTimeout(ctx, left)
		o := e.deliverComment(short, &call.Operation)
		cancel()
		if o.end != delivered {
			return
		}
		c.calls = append(c.calls[:i:i], c.calls[i+1:]...)
		e.settle(ctx, call.Operation, o)
		r.noteAdded, r.noteResult = true, "added"
		return
	}
}

// cancelFence frees the time of a booking that the upstream refused while its caller waited. It reports false if that
// could not be written: then the booking is still promised, and its caller must not hear that it never was.
func (e *Engine) cancelFence(ctx context.Context, a *store.Appointment, operationID, detail string) bool {
	ctx = context.WithoutCancel(ctx)
	_, err := e.changeAppointment(ctx, a.ID, 0, change{kind: changeUpstreamRefused, actor: "system", reason: detail, fence: true},
		func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			if a.Status == store.Cancelled {
				return false, tx.Fulfil(ctx, operationID)
			}
			a.Status, a.CancelledAt, a.CancelReason, a.UpstreamState = store.Cancelled, now, detail, store.UpstreamNone
			op := store.Operation{ID: operationID, Kind: store.UpstreamBook, AppointmentID: a.ID, Status: store.OperationFailed, LastError: detail}
			return true, errors.Join(tx.Fulfil(ctx, operationID), tx.FreeNonces(ctx, a.ID), putDelivery(ctx, tx, &op, deliveryFailed, now))
		})
	if err != nil {
		e.log.Error("a refused booking still keeps its time and goes to the queue", "appointment", a.ID, "error", err)
	}
	return err == nil
}
