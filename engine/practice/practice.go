// Package practice connects the clinic to its practice-management system (the upstream). It decides which writes a
// change requires, delivers them, responds to an agent's booking while its caller waits, and fetches the upstream's
// openings.
//
// # Writes
//
// A change's upstream write is recorded in the change's own transaction, as an operation in the outbox (MarkUpstream,
// Operations). Package outbound moves the operation into the queue and calls the functions that Delivery returns.
//
// # An unknown outcome is not a failure
//
// The upstream has no idempotency keys. So the queue records an attempt before this package sends anything. If the
// outcome of a write is unknown (a timeout, a reset, an incomplete response), the operation waits until the quarantine
// is over, and then this package looks up the appointment. It adopts an appointment that exists, writes one that does
// not, and leaves the operation to a person if it cannot find out. If the upstream is unreachable, the operation is
// deferred, which does not count as an attempt. A refusal does count.
//
// # Openings
//
// Work fetches the openings for each appointment type up to its booking horizon, the nearest days of all types first.
// It makes one query at a time, at the pacer's spacing, and lets waiting writes go first. Package occupancy stores the
// results and uses them until they are too old. If the upstream does not respond, Work retries after a back-off, and
// the last results remain in use.
//
// # Where to read
//
//	operation.go  which writes a change requires, and the payload of a write
//	direct.go     a booking that is written while its caller waits
//	write.go      an appointment is written from the queue
//	cancel.go     cancellations and notes
//	lookup.go     look-ups of appointments with an unknown outcome
//	start.go      the state that is restored at startup: the pacer, interrupted writes
//	opening.go    the upstream's openings
//	pace.go       one pace for all nodes
//	log.go        the delivery log
//	rollback.go   writes after the instant of a restored snapshot
package practice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/outbound"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// Upstream is the part of the clinic's practice-management system that this package needs. *upstream.Client implements
// it. The class of its errors shows what happened (see upstream.ClassOf). Only a call with an upstream.Unknown error
// can have taken effect.
type Upstream interface {
	SetPatient(ctx context.Context, n upstream.NewPatient) (patientGUID string, err error)
	// FindPatients and PatientInformation return upstream.Misconfigured for vendors that do not offer them.
	FindPatients(ctx context.Context, firstName, lastName string) ([]upstream.KnownPatient, error)
	PatientInformation(ctx context.Context, patientGUID string) (upstream.KnownPatient, error)
	SetPatientComment(ctx context.Context, patientGUID, comment string) error
	SetAppointment(ctx context.Context, n upstream.NewAppointment) (upstream.Created, error)
	SetAppointmentStatusCanceled(ctx context.Context, appointmentGUID string) error
	GetAppointmentListByPatient(ctx context.Context, patientGUID string, zone *time.Location) ([]upstream.Appointment,
		error)
	GetOnlineReservations(ctx context.Context, o upstream.Openings) (list []upstream.Opening, dropped int, err error)
}

// Limits contains the time limits for upstream calls. The zero value of each field means its default.
type Limits struct {
	RetryDelay     time.Duration // before the one retry of a rate-limited booking while an agent waits; default 5 s
	OpeningsEvery  time.Duration // the interval between two fetches of the openings; if zero, they are not fetched
	OpeningsMaxAge time.Duration // the age at which fetched openings are no longer used; default 1 h
}

// WithDefaults returns l with zero values replaced by the defaults.
func (l Limits) WithDefaults() Limits {
	if l.RetryDelay <= 0 {
		l.RetryDelay = 5 * time.Second
	}
	if l.OpeningsMaxAge <= 0 {
		l.OpeningsMaxAge = time.Hour
	}
	return l
}

// Options configure a Practice.
type Options struct {
	Store    store.Store
	Logger   *slog.Logger
	Clinic   *clinic.Clinic
	Booking  *booking.Booking
	Occupied *occupancy.Time // stores openings and refusals
	Outbound *outbound.Outbound

	Upstream   Upstream        // nil if the clinic has none: only Holdfast's own appointments exist
	Pacer      *upstream.Pacer // spaces writes; default: one with the default spacing
	Pace       Pace            // spaces the calls of all nodes together; zero if this process is the only node
	AgentBound time.Duration   // how long an agent waits for the response to a booking; default DefaultAgentBound
	Limits     Limits
	// AfterRollback means that the data may be older than the upstream's data. Bookings from earlier runs are looked up
	// before they are written.
	AfterRollback bool
}

// Practice writes to the practice-management system and reads from it. It is safe for concurrent use.
type Practice struct {
	Options Options

	store     store.Store
	log       *slog.Logger
	clinic    *clinic.Clinic
	booking   *booking.Booking
	occupancy *occupancy.Time
	outbound  *outbound.Outbound

	directs  chan *direct    // bookings to write while an agent waits
	doubt    atomic.Int32    // writes with an unknown outcome since the upstream's last usable response
	asks     *upstream.Pacer // spaces look-ups, as Options.Pacer spaces writes
	rollback rollback

	mu sync.Mutex
	// when the first query for openings since the last response failed; zero if the last query succeeded
	failed   time.Time
	failedBy string // the reason, for people
}

// New returns a Practice. The functions returned by Work fetch openings and write agents' bookings. New returns an
// error if AgentBound is out of range, or if there is an Upstream but no queue.
func New(o Options) (*Practice, error) {
	if o.Upstream != nil && !o.Outbound.HasQueue() {
		return nil, errors.New("an Upstream needs a Queue")
	}
	if o.AgentBound == 0 {
		o.AgentBound = DefaultAgentBound
	}
	if o.AgentBound < MinAgentBound || o.AgentBound > MaxAgentBound {
		return nil, fmt.Errorf("AgentBound is %s; it must be %s to %s", o.AgentBound, MinAgentBound, MaxAgentBound)
	}
	if o.Pacer == nil {
		o.Pacer = upstream.NewPacer(0)
	}
	pr := &Practice{
		Options: o, store: o.Store, log: o.Logger, clinic: o.Clinic, booking: o.Booking, occupancy: o.Occupied,
		outbound: o.Outbound, directs: make(chan *direct), asks: upstream.NewPacer(o.Pacer.Spacing()),
	}
	pr.rollback.known.Store(o.AfterRollback)
	pr.shareLine(o.Pacer, "upstream")
	pr.shareLine(pr.asks, "upstream.lookups")
	return pr, nil
}

// IsConnected reports whether the clinic has a practice-management system.
func (pr *Practice) IsConnected() bool { return pr.Options.Upstream != nil }

// Work returns the functions that write agents' bookings and fetch openings. If there is no upstream, it returns none.
func (pr *Practice) Work() []func(context.Context) {
	if !pr.IsConnected() {
		return nil
	}
	work := []func(context.Context){pr.runDirects}
	if pr.Options.Limits.OpeningsEvery > 0 {
		work = append(work, pr.fetchOpenings)
	}
	return work
}

// Delivery returns how package outbound handles operations of a kind. Without an upstream, the Delivery has no Attempt.
// For the kinds of other packages, it is empty.
func (pr *Practice) Delivery(kind store.OperationKind) outbound.Delivery {
	if booking.ChannelOf(kind) != "upstream" {
		return outbound.Delivery{}
	}
	d := outbound.Delivery{LooksUp: true, TooLate: tooLate, Interrupted: pr.interrupted, Forgotten: forgotten}
	if kind != store.UpstreamComment {
		d.Reopened = pr.reopened
	}
	if !pr.IsConnected() {
		return d
	}
	switch kind {
	case store.UpstreamBook, store.UpstreamReschedule:
		d.Attempt, d.Find = pr.deliverWrite, pr.findResult
	case store.UpstreamCancel:
		d.Attempt = pr.deliverCancel
	default:
		d.Attempt = pr.deliverComment
		return d
	}
	d.Ended, d.PromisedOn = pr.ended, true
	return d
}
