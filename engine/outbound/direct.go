package outbound

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/timed"
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
	CallReserve = time.Second
	// probeBound is how long a look at a doubtful upstream may take while a caller waits.
	probeBound = 3 * time.Second
)

// direct is one booking that is tried while its caller waits.
type direct struct {
	op       store.Operation
	deadline time.Time
	reply    chan Attempted // holds one
	queued   chan struct{}  // closed when the queue has what a caller who left leaves behind

	mu      sync.Mutex
	decided bool // the attempt has come to its end, and the caller waits for what it says
	left    bool // the caller was told that the booking is queued
}

// Why an attempt was left to the queue, as answers to agents call it.
const (
	ErrorRateLimitedQueued   = "RATE_LIMITED_QUEUED"
	ErrorUnknownQueued       = "OUTCOME_UNKNOWN_QUEUED"
	errorUnreachableQueued   = "UPSTREAM_UNREACHABLE_QUEUED"
	errorMisconfiguredQueued = "UPSTREAM_MISCONFIGURED_QUEUED"
)

// Attempted is what the caller is told of the attempt.
type Attempted struct {
	End        Ending // delivered, refused; anything else is queued
	Guid       string
	Reason     upstream.Reason // with refused
	ErrorType  string          // with queued
	Detail     string
	Attempts   int
	Waited     time.Duration // in the pacer's line
	NoteAdded  bool
	NoteResult string
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

// TryNow lets Run try a promised booking at once and says what came of it in time.
func (out *Outbound) TryNow(op store.Operation, deadline time.Time) Attempted {
	d := &direct{op: op, deadline: deadline, reply: make(chan Attempted, 1), queued: make(chan struct{})}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case out.directs <- d:
		select {
		case r := <-d.reply:
			return r
		case <-timer.C:
		}
		if !d.leave() {
			return <-d.reply
		}
	case <-timer.C: // nothing runs that could try
		out.Outbox.Release(op.ID)
	}
	const detail = "no answer in time"
	out.heedClock(context.Background())
	op.Status, op.LastError = store.OperationPending, detail
	op.NextAttemptAt = out.Now().Add(out.Options.Limits.Quarantine)
	out.keep(context.Background(), op, "added", op.LastError)
	close(d.queued)
	return Attempted{End: unknown, ErrorType: ErrorUnknownQueued, Detail: detail, Attempts: 1}
}

// runDirects makes the attempts that callers wait for, until ctx ends and all of them have.
func (out *Outbound) runDirects(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-out.queueReady: // and the pacer knows of the last write before the start
	}
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-out.directs:
			all.Go(func() {
				defer out.Outbox.Release(d.op.ID)
				d.reply <- out.tryDirect(ctx, d)
			})
		}
	}
}

// tryDirect makes the attempt and records what came of it.
func (out *Outbound) tryDirect(ctx context.Context, d *direct) Attempted {
	op, r, o := d.op, Attempted{}, Outcome{}
	p := payloadOf(&op)
	a, err := out.store.Appointment(ctx, op.AppointmentID)
	if err != nil {
		o, r.ErrorType = Outcome{End: unknown, Detail: "the database could not be read"}, ErrorUnknownQueued
	} else {
		o = out.sendDirect(ctx, d, &op, &p, &a, &r)
	}
	waiting := d.decide()
	r.End, r.Guid, r.Detail = o.End, o.Result, o.Detail
	switch {
	case o.End == Refused && waiting:
		if out.cancelFence(ctx, &a, op.ID, o.Detail) {
			op.Status = store.OperationFailed
			out.ends.count(&op, Refused)
			return r
		}
		o.End, r.End = Retryable, Retryable
	case o.End == Delivered && r.Guid == doneWithoutName:
		r.Guid = ""
	case o.End == Deferred && p.Written:
		r.End = Delivered // which GUID it has is found out by the queue
	}
	if o.End == Unreachable {
		op.NextAttemptAt = out.Now().Add(out.Options.Limits.Backoff)
	}
	op, c, _ := out.conclude(ctx, op, o, nil)
	if op.Status == store.OperationCompleted && c != nil {
		out.noteNow(ctx, d, c, &r)
		out.Enqueue(c.Calls...)
	}
	return r
}

// sendDirect asks, waits for its turn and writes; on a rate limit it writes once more after the retry delay.
func (out *Outbound) sendDirect(ctx context.Context, d *direct, op *store.Operation, p *upstreamPayload, a *store.Appointment, r *Attempted) Outcome {
	r.ErrorType = ErrorRateLimitedQueued
	op.Unknown, op.NextAttemptAt = false, out.Now() // nothing has been sent so far
	bound := min(probeBound, time.Until(d.deadline))
	probe, cancel := context.WithTimeout(ctx, bound)
	o, there := out.isThere(probe, bound)
	cancel()
	if !there {
		r.ErrorType = errorUnreachableQueued
		return o
	}
	began := time.Now()
	err := out.Options.Pacer.Wait(ctx, time.Until(d.deadline)-CallReserve)
	r.Waited = time.Since(began)
	var line *upstream.LineError
	switch {
	case errors.As(err, &line):
		return Outcome{End: Deferred, At: out.Now(), Detail: "others were waiting to be written before it"}
	case err != nil:
		return Outcome{End: Deferred, At: out.Now(), Detail: "the server was stopped"}
	case time.Until(d.deadline) < CallReserve/2:
		// The process was stopped meanwhile: its caller has left, and another node may have taken the booking over. The queue knows.
		return Outcome{End: Deferred, At: out.Now(), Detail: "the turn came too late for its caller"}
	}
	turn := out.Options.Pacer.Turn()
	for {
		r.Attempts++
		op.AttemptedAt = out.Now()
		created, err := out.Options.Upstream.SetAppointment(ctx, p.write(a.UpstreamPatientID, out.clinic.Zone()))
		if upstream.ClassOf(err) == upstream.RateLimited && r.Attempts == 1 && time.Until(d.deadline) > out.Options.Limits.RetryDelay+CallReserve {
			timed.Sleep(ctx, out.Options.Limits.RetryDelay, nil)
			if out.Options.Pacer.Again(ctx, turn) {
				continue
			}
		}
		r.Reason = upstream.ReasonOf(err)
		switch upstream.ClassOf(err) {
		case upstream.Unknown:
			r.ErrorType = ErrorUnknownQueued
		case upstream.NotSent:
			r.ErrorType = errorUnreachableQueued
		case upstream.Misconfigured:
			r.ErrorType = errorMisconfiguredQueued
		}
		return out.written(ctx, op, p, a, created, err)
	}
}

// noteNow sends the note of a booking that was just written, if there is time; else the queue does.
func (out *Outbound) noteNow(ctx context.Context, d *direct, c *booking.Change, r *Attempted) {
	for i, call := range c.Calls {
		if call.Kind != store.UpstreamComment {
			continue
		}
		r.NoteResult = "queued"
		left := time.Until(d.deadline)
		if left < CallReserve {
			return
		}
		short, cancel := context.WithTimeout(ctx, left)
		o := out.deliverComment(short, &call.Operation)
		cancel()
		if o.End != Delivered {
			return
		}
		c.Calls = append(c.Calls[:i:i], c.Calls[i+1:]...)
		out.settle(ctx, call.Operation, o)
		r.NoteAdded, r.NoteResult = true, "added"
		return
	}
}

// cancelFence frees the time of a booking that the upstream refused while its caller waited. It reports false if that
// could not be written: then the booking is still promised, and its caller must not hear that it never was.
func (out *Outbound) cancelFence(ctx context.Context, a *store.Appointment, operationID, detail string) bool {
	ctx = context.WithoutCancel(ctx)
	_, err := out.booking.ChangeAppointment(ctx, a.ID, 0, booking.Change{Kind: booking.ChangeUpstreamRefused, Actor: "system", Reason: detail, Fence: true},
		func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			if a.Status == store.Cancelled {
				return false, tx.Fulfil(ctx, operationID)
			}
			a.Status, a.CancelledAt, a.CancelReason, a.UpstreamState = store.Cancelled, now, detail, store.UpstreamNone
			op := store.Operation{ID: operationID, Kind: store.UpstreamBook, AppointmentID: a.ID, Status: store.OperationFailed, LastError: detail}
			return true, errors.Join(tx.Fulfil(ctx, operationID), tx.FreeNonces(ctx, a.ID), putDelivery(ctx, tx, &op, DeliveryFailed, now))
		})
	if err != nil {
		out.log.Error("refused booking not cancelled; queued instead", "appointment", a.ID, "error", err)
	}
	return err == nil
}
