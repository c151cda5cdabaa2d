// Package outbound is what is promised to the outside and told once. It knows the practice-management system; mail and webhooks
// are delivered by package message, which says so with Deliver.
//
// # A promise is kept
//
// A promise commits with the change that makes it, as a row of the outbox, which stays until the operation is finished. The
// relay copies it into the queue; a lane takes it from there, attempts it, and settles the outcome: in the database first,
// with what it means to the appointment, and then in the queue. So the queue can be rebuilt from the outbox at any time,
// and a crash anywhere in between loses nothing and tells nothing twice.
//
// # Unknown is not failed
//
// The practice-management system has no idempotency key. An attempt is recorded before anything is sent. If its outcome is
// not known (a time-out, a reset, half an answer) the operation waits out a quarantine and then asks whether the appointment
// is there: adopted if so, written if not, and shown to a person where that cannot be found out. What could not be reached
// is deferred and is no attempt; what was refused counts.
//
// # Where to read
//
//	outbox.go     promises, and the relay into the queue        lane.go          workers, one lane for each kind of far side
//	operation.go  how an outcome changes an operation           direct.go        an attempt while an agent waits
//	upstream*.go  the practice-management system                lookup.go        is it there?
//	rollback.go   writes that only a later state of the data knows of
//	rest.go       how long what is not there is left alone      ends.go          how many ended, and how
//	unsaved.go    outcomes that the queue has not stored
//	queue.go      what people see, decide and (retry.go) repeat clock.go         waits, when the clock is set
package outbound

import (
	"log/slog"
	"sync/atomic"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// Outbound keeps what is promised. It is safe for concurrent use.
type Outbound struct {
	store   store.Store
	log     *slog.Logger
	clinic  *clinic.Clinic
	booking *booking.Booking
	Options Options

	Queue      store.Queue // nil: nothing is ever called
	Outbox     Outbox
	unsaved    unsavedSet
	started    time.Time     // what was promised before it was promised by another process
	queueReady chan struct{} // closed when the queue is right after the start
	lanes      []*lane
	deliver    map[store.OperationKind]Delivery          // how each kind is delivered; complete when New returns
	notices    []func(*booking.Change) []booking.Promise // what else a change promises; complete when New returns
	directs    chan *direct                              // bookings to be tried while an agent waits
	doubt      atomic.Int32                              // since the practice system answered well: how many writes nobody knows of
	asks       *upstream.Pacer                           // spaces look-ups as Pacer spaces writes
	rollback   rollback
	clock      queueClock
	ends       ends
}

// Options are what an Outbound is made of.
type Options struct {
	Store   store.Store
	Logger  *slog.Logger
	Clinic  *clinic.Clinic
	Booking *booking.Booking

	Queue         store.Queue   // nil: nothing is ever called
	Shared        bool          // other nodes use the same Store and Queue
	Pace          Pace          // spaces calls of the practice system over all nodes; nil: this process is the only one that makes any
	QueueRebuilt  bool          // it began empty although there may be promises: what was attempted is not known
	AfterRollback bool          // the data may be older than what was written upstream: find earlier writes there first
	Keep          time.Duration // how long a finished operation stays in the queue
	Limits        Limits
	Upstream      Upstream // nil: appointments are only here
	Pacer         *upstream.Pacer
	AgentBound    time.Duration    // how long an agent waits for the answer to a booking
	OnFatal       func(error)      // told when nothing can be written to the queue any more
	Wall          func() time.Time // the wall clock; nil: time.Now
}

// New returns an Outbound. The functions of Work deliver its operations.
func New(o Options) *Outbound {
	e := &Outbound{store: o.Store, log: o.Logger, clinic: o.Clinic, booking: o.Booking, Options: o}
	e.started = e.Now()
	e.rollback.known.Store(o.AfterRollback)
	e.prepareOutbound()
	return e
}

// HasQueue reports whether anything is ever called.
func (out *Outbound) HasQueue() bool { return out.Queue != nil }

// Deliver says how a kind of operation is delivered, and what else a change promises of that kind. It is called before Work.
func (out *Outbound) Deliver(kind store.OperationKind, by Delivery, promised func(*booking.Change) []booking.Promise) {
	out.deliver[kind] = by
	out.notices = append(out.notices, promised)
}

// Ready is closed when the queue is right after the start, and the pacer knows of the last write before it. It is never closed
// where Work is not run.
func (out *Outbound) Ready() <-chan struct{} { return out.queueReady }
