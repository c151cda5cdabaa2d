// Package outbound is the queue for outbound calls. Each call is an operation: an upstream write, an email or a
// webhook. Packages practice and message decide which operations a change requires, and make the attempts (Hooks).
//
// # Each operation is delivered once
//
// An operation is committed with the change that requires it, as a row in the outbox. The row remains until the
// operation has ended. The relay copies it into the queue. A lane takes it from there, has it attempted, and records
// the outcome: first in the database, with its effect on the appointment, and then in the queue. So the queue can be
// rebuilt from the outbox at any time. A crash between two of these steps does not lose an operation or deliver one
// twice.
//
// # An unknown outcome is not a failure
//
// The queue records an attempt before it is made. If its outcome is unknown (a timeout, a reset, an incomplete
// response), the operation waits until the quarantine is over. Its Delivery then finds out whether the operation took
// effect, or leaves that to a person. If the remote server is unreachable, the operation is deferred, which does not
// count as an attempt. A refusal does count.
//
// # Where to read
//
//	outbox.go     the outbox, and the relay into the queue
//	lane.go       workers: one lane for each kind of remote server
//	group.go      operations that a worker takes and stores together
//	operation.go  how an outcome changes an operation
//	order.go      the order of the operations of one appointment
//	rest.go       how long a lane rests if its server is unreachable
//	ends.go       counts of outcomes
//	gauge.go      the size and the age of the queue
//	unsaved.go    outcomes that the queue has not stored
//	node.go       several nodes with one queue
//	queue.go      what people see and decide
//	retry.go      a retry of all failed operations
//	clock.go      waits when the clock is set
//	withdraw.go   operations of a change that is undone
//	compare.go    differences between outbox and queue
package outbound

import (
	"context"
	"log/slog"
	"time"

	"holdfast/engine/booking"
	"holdfast/store"
)

// Outbound delivers operations. It is safe for concurrent use.
type Outbound struct {
	store   store.Store
	log     *slog.Logger
	booking *booking.Booking
	Options Options

	Queue      store.Queue // nil: no outbound call is made
	Outbox     Outbox
	unsaved    unsavedSet
	outages    outages
	started    time.Time     // operations created before that are from another process
	queueReady chan struct{} // closed when the queue is complete after startup
	lanes      []*lane
	clock      queueClock
	ends       ends
	gauges     gauges
}

// Options configure an Outbound.
type Options struct {
	Store   store.Store
	Logger  *slog.Logger
	Booking *booking.Booking

	Queue  store.Queue // nil: no outbound call is made
	Shared bool        // other nodes use the same Store and Queue
	// the queue was empty at startup although the outbox may contain operations: it is unknown which of them were
	// attempted
	QueueRebuilt bool
	Keep         time.Duration // how long the queue stores an operation after it has ended
	Limits       Limits
	OnFatal      func(error)      // called when the queue can no longer be written to; nil: not called
	Wall         func() time.Time // the wall clock; nil: time.Now
	Hooks        Hooks
}

// Hooks contains the functions of the packages that deliver operations. All of them are required.
type Hooks struct {
	// Delivery returns how operations of a kind are delivered.
	Delivery func(store.OperationKind) Delivery
	// Operations returns the operations that a change requires.
	Operations func(*booking.Change) []booking.Promise
	// BeforeWork runs after startup and before the first attempt, once the queue contains the attempts of earlier
	// processes.
	BeforeWork func(ctx context.Context, now time.Time) error
}

// New returns an Outbound. The functions returned by Work deliver its operations.
func New(o Options) *Outbound {
	out := &Outbound{
		store: o.Store, log: o.Logger, booking: o.Booking, Options: o, Queue: o.Queue, queueReady: make(chan struct{}),
	}
	out.started = out.Now()
	return out
}

// HasQueue reports whether outbound calls are made.
func (out *Outbound) HasQueue() bool { return out.Queue != nil }

// Started returns when this process started. Older operations come from another process.
func (out *Outbound) Started() time.Time { return out.started }

// Ready returns a channel that is closed once the queue is complete after startup and BeforeWork has run. It is never
// closed if Work does not run.
func (out *Outbound) Ready() <-chan struct{} { return out.queueReady }

// delivery returns how operations of a kind are delivered.
func (out *Outbound) delivery(kind store.OperationKind) Delivery {
	return out.Options.Hooks.Delivery(kind)
}

// Operations returns the operations that a change requires: its own (Change.Follow), and those of higher-level
// packages. If there is no queue, it returns none.
func (out *Outbound) Operations(c *booking.Change) []booking.Promise {
	if out.Queue == nil {
		return nil
	}
	return append(c.Follow[:len(c.Follow):len(c.Follow)], out.Options.Hooks.Operations(c)...)
}

// NewOperation returns an operation about an appointment that is due now and has no payload.
func (out *Outbound) NewOperation(kind store.OperationKind, a *store.Appointment, at time.Time) store.Operation {
	return store.Operation{
		ID: out.Outbox.Ids.Next(at), Kind: kind, AppointmentID: a.ID, Status: store.OperationPending,
		MaxAttempts: out.Options.Limits.MaxAttempts, CreatedAt: at, NextAttemptAt: at, StartTime: a.SlotStart,
	}
}
