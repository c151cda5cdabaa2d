package practice

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/outbound"
	"holdfast/engine/timed"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Writing while a caller waits
//
// An agent's caller gets a response within Options.AgentBound. During that time, the booking is attempted outside the
// queue. The functions of Work make the attempt, so a call in flight outlives the request that caused it. The operation
// is marked as attempted in the outbox from the beginning. If the attempt does not end the operation, the operation
// goes to the queue.

const (
	// DefaultAgentBound is longer than upstream.DefaultSpacing. So of two consecutive bookings, such as for two
	// siblings, the second waits for its turn and is also confirmed.
	DefaultAgentBound = 12 * time.Second
	// MinAgentBound and MaxAgentBound leave enough time for a call, and for a response before the caller gives up.
	MinAgentBound, MaxAgentBound = 3 * time.Second, 25 * time.Second
	// CallReserve is the part of the time limit that is reserved for a call. A call that begins later would be
	// interrupted by the limit.
	CallReserve = time.Second
	// probeBound is the time limit for probing an upstream whose state is doubtful while a caller waits.
	probeBound = 3 * time.Second
)

// direct is one booking that is attempted while its caller waits.
type direct struct {
	op       store.Operation
	deadline time.Time
	reply    chan Attempted // has room for one value
	queued   chan struct{}  // closed once the operation of a caller who left is in the queue

	mu      sync.Mutex
	decided bool // the attempt has ended, and the caller is waiting for its result
	left    bool // the caller got the response that the booking is queued
}

// The reasons why an attempt was left to the queue, as error types in responses to agents.
const (
	ErrorRateLimitedQueued   = "RATE_LIMITED_QUEUED"
	ErrorUnknownQueued       = "OUTCOME_UNKNOWN_QUEUED"
	errorUnreachableQueued   = "UPSTREAM_UNREACHABLE_QUEUED"
	errorMisconfiguredQueued = "UPSTREAM_MISCONFIGURED_QUEUED"
)

// Attempted is the result of an attempt, for the caller.
type Attempted struct {
	End        outbound.Ending // Delivered or Refused; with any other value, the operation is queued
	Guid       string
	Reason     upstream.Reason // with Refused
	ErrorType  string          // if the operation is queued
	Detail     string
	Attempts   int
	Waited     time.Duration // for the pacer
	NoteAdded  bool
	NoteResult string
}

// decide claims the result for the attempt. It returns false if the caller has left: the operation is then in the
// queue.
func (d *direct) decide() bool {
	d.mu.Lock()
	d.decided = !d.left
	d.mu.Unlock()
	if !d.decided {
		<-d.queued
	}
	return d.decided
}

// leave stops waiting. It returns false if the attempt has already ended and its result is about to arrive.
func (d *direct) leave() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = !d.decided
	return d.left
}

// TryNow has a function of Work attempt a booking that the caller has claimed, and returns the result by the deadline.
func (pr *Practice) TryNow(op store.Operation, deadline time.Time) Attempted {
	d := &direct{op: op, deadline: deadline, reply: make(chan Attempted, 1), queued: make(chan struct{})}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case pr.directs <- d:
		select {
		case r := <-d.reply:
			return r
		case <-timer.C:
		}
		if !d.leave() {
			return <-d.reply
		}
	case <-timer.C: // no function of Work is running
		pr.outbound.Outbox.Release(op.ID)
	}
	const detail = "no answer in time"
	pr.outbound.Postpone(op, pr.outbound.Options.Limits.Quarantine, detail)
	close(d.queued)
	return Attempted{End: outbound.Unknown, ErrorType: ErrorUnknownQueued, Detail: detail, Attempts: 1}
}

// runDirects makes the attempts that callers are waiting for. It returns when ctx is done and all attempts have ended.
func (pr *Practice) runDirects(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-pr.outbound.Ready(): // the pacer now includes the last write before startup
	}
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-pr.directs:
			all.Go(func() {
				defer pr.outbound.Outbox.Release(d.op.ID)
				d.reply <- pr.tryDirect(ctx, d)
			})
		}
	}
}

// tryDirect makes the attempt and records its outcome.
func (pr *Practice) tryDirect(ctx context.Context, d *direct) Attempted {
	op, r, o := d.op, Attempted{}, outbound.Outcome{}
	p := payloadOf(&op)
	a, err := pr.store.Appointment(ctx, op.AppointmentID)
	if err != nil {
		o, r.ErrorType = outbound.Outcome{End: outbound.Unknown, Detail: "the database could not be read"},
			ErrorUnknownQueued
	} else {
		o = pr.sendDirect(ctx, d, &op, &p, &a, &r)
	}
	waiting := d.decide()
	r.End, r.Guid, r.Detail = o.End, o.Result, o.Detail
	switch {
	case o.End == outbound.Refused && waiting:
		if pr.cancelFence(ctx, &a, &p, op.ID, o.Detail) {
			op.Status = store.OperationFailed
			pr.outbound.CountEnd(&op, outbound.Refused)
			return r
		}
		o.End, r.End = outbound.Retryable, outbound.Retryable
	case o.End == outbound.Delivered && r.Guid == outbound.DoneWithoutName:
		r.Guid = ""
	case o.End == outbound.Deferred && p.Written:
		r.End = outbound.Delivered // the queue looks up its GUID
	}
	if o.End == outbound.Unreachable {
		op.NextAttemptAt = pr.outbound.Now().Add(pr.outbound.Options.Limits.Backoff)
	}
	op, c := pr.outbound.Conclude(ctx, op, o)
	if op.Status == store.OperationCompleted && c != nil {
		pr.noteNow(ctx, d, c, &r)
		pr.outbound.Enqueue(c.Calls...)
	}
	return r
}

// sendDirect checks whether the upstream is reachable, waits for its turn and writes. If the upstream limits the rate,
// sendDirect retries the write once after the retry delay.
func (pr *Practice) sendDirect(ctx context.Context, d *direct, op *store.Operation, p *payload, a *store.Appointment,
	r *Attempted) outbound.Outcome {
	r.ErrorType = ErrorRateLimitedQueued
	op.Unknown, op.NextAttemptAt = false, pr.outbound.Now() // nothing has been sent yet
	bound := min(probeBound, time.Until(d.deadline))
	probe, cancel := context.WithTimeout(ctx, bound)
	o, there := pr.isThere(probe, bound)
	cancel()
	if !there {
		r.ErrorType = errorUnreachableQueued
		return o
	}
	began := time.Now()
	err := pr.Options.Pacer.Wait(ctx, time.Until(d.deadline)-CallReserve)
	r.Waited = time.Since(began)
	var line *upstream.LineError
	switch {
	case errors.As(err, &line):
		return outbound.Outcome{End: outbound.Deferred, Detail: "earlier bookings were still waiting"}
	case err != nil:
		return outbound.Outcome{End: outbound.Deferred, Detail: "the server was stopped"}
	case time.Until(d.deadline) < CallReserve/2:
		// The process was suspended, so the caller has left, and another node may have taken over the operation, which
		// is in the queue.
		return outbound.Outcome{End: outbound.Deferred, Detail: "its turn came after the caller's time limit"}
	}
	turn := pr.Options.Pacer.Turn()
	for {
		r.Attempts++
		op.AttemptedAt = pr.outbound.Now()
		created, err := pr.Options.Upstream.SetAppointment(ctx, p.write(a.UpstreamPatientID, pr.clinic.Zone()))
		if upstream.ClassOf(err) == upstream.RateLimited && r.Attempts == 1 &&
			time.Until(d.deadline) > pr.Options.Limits.RetryDelay+CallReserve {
			timed.Sleep(ctx, pr.Options.Limits.RetryDelay, nil)
			if pr.Options.Pacer.Again(ctx, turn) {
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
		return pr.written(ctx, op, p, a, created, err)
	}
}

// noteNow sends the note for a booking that has just been written. If there is too little time, the queue sends the
// note.
func (pr *Practice) noteNow(ctx context.Context, d *direct, c *booking.Change, r *Attempted) {
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
		o := pr.deliverComment(short, &call.Operation)
		cancel()
		if o.End != outbound.Delivered {
			return
		}
		c.Calls = append(c.Calls[:i:i], c.Calls[i+1:]...)
		pr.outbound.Settle(ctx, call.Operation, o)
		r.NoteAdded, r.NoteResult = true, "added"
		return
	}
}

// errMoved means that the desk moved a booking while its first time was being written.
var errMoved = errors.New("the booking was moved")

// cancelFence frees the time of a booking that the upstream refused while the caller was waiting. It returns false if
// the desk has since moved the booking, or if the write to the database failed. In these cases, the operation remains
// in the outbox, and the caller must not be informed that the booking was refused.
func (pr *Practice) cancelFence(ctx context.Context, a *store.Appointment, p *payload, operationID,
	detail string) bool {
	ctx = context.WithoutCancel(ctx)
	_, err := pr.booking.ChangeAppointment(ctx, a.ID, 0, booking.Change{Kind: booking.ChangeUpstreamRefused,
		Actor: "system", Reason: detail, Fence: true},
		func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			if a.Status == store.Cancelled {
				return false, tx.Fulfil(ctx, operationID)
			}
			if !isCurrent(a, p) {
				return false, errMoved
			}
			a.Status, a.CancelledAt, a.CancelReason, a.UpstreamState = store.Cancelled, now, detail, store.UpstreamNone
			op := store.Operation{ID: operationID, Kind: store.UpstreamBook, AppointmentID: a.ID,
				Status: store.OperationFailed, LastError: detail}
			return true, errors.Join(tx.Fulfil(ctx, operationID), tx.FreeNonces(ctx, a.ID),
				outbound.PutDelivery(ctx, tx, &op, outbound.DeliveryFailed, now))
		})
	if err != nil && !errors.Is(err, errMoved) {
		pr.log.Error("failed to cancel a booking that the practice-management system refused; its operation stays in the outbox", "appointment", a.ID, "error", err)
	}
	return err == nil
}
