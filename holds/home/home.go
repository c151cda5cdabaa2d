// Package home is the live state of several nodes that has one of two homes: a primary such as Redis, and the PostgreSQL that has
// their record. All nodes use the same home at any time; which one is a decision of all of them.
//
// # One decision
//
// A row in PostgreSQL has the decision: an epoch, its home, and whether it is open. Every change of a hold is made under an epoch,
// and each home refuses a change under any epoch but the one for which it is open. A change of home goes in three steps:
//
//  1. A node decides on the next epoch (holds.Decisions.Move). From then on nodes begin no change under the epoch before.
//  2. The home before is sealed, and its state is copied to the new one, with the time that each hold has left.
//  3. The new home is opened, and every node enters it.
//
// A call that comes meanwhile waits, for a second at most, and then answers holds.ErrUnavailable.
//
// # A home that cannot be sealed
//
// A Redis that no node can reach cannot be sealed, and a node that is cut off from PostgreSQL may still reach it. So each node has a
// lease, which it renews in PostgreSQL, and acknowledges nothing that Redis did once its lease is over. The new home opens when every
// node has left the epoch before, or has not renewed its lease for longer than a lease lasts. That time is measured on the monotonic
// clock of the node that waits: no two clocks are compared.
//
// What was in such a Redis is what the nodes remember: each brings what its own calls made, and then what it heard from the others. The
// same is done for a home that was emptied, which both homes notice: a Redis after FLUSHALL, a restart or a promotion, and a
// PostgreSQL after a crash.
//
// # When to leave the primary
//
// A node that gets no answer asks a second time. An attempt that took longer than its time limit says that this process was stopped,
// not that Redis is gone, and does not count. The nodes return when all of them have reached Redis for a while; the while is longer
// after each departure that follows soon.
//
// # What watchers see
//
// One stream, numbered by this process, that a change of home does not break: what the new home repeats is left out, and what was
// missed is made up for from a snapshot.
package home

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
	"holdfast/holds/broadcast"
	"holdfast/holds/node"
)

// Database is what a PostgreSQL is to this package: where the nodes decide, and one of the two homes.
type Database interface {
	holds.Homely
	holds.Decisions
}

// Options of New. Primary and Database are required, belong to the backend from then on, and are closed with it.
type Options struct {
	Primary  holds.Sealer
	Database Database

	// Booked answers for pinned holds whose end was missed during a change of home, as in package memory.
	Booked func(holds.Hold) bool

	// WatchQueue is how many events a watcher can fall behind; 0 means 65,536.
	WatchQueue int

	// Probe is how long the primary has to answer when it is asked whether it is there; 0 means 100 ms.
	Probe time.Duration

	// Lease is how long this node may acknowledge what the primary did without a renewal; 0 means 800 ms. All nodes need the same. A
	// call waits a quarter longer than that for a change of home.
	Lease time.Duration

	// Rest is how long the primary is left alone after a departure; 0 means 1.25 s. It doubles, up to 48 times as long, with each
	// departure that follows within five minutes.
	Rest time.Duration

	// Logger receives each change of home; nil discards them.
	Logger *slog.Logger
}

const (
	leaseTime  = 800 * time.Millisecond // after the renewal was sent
	leaseMore  = 150 * time.Millisecond // past a lease: a node that has not renewed it is dead
	renewEvery = 300 * time.Millisecond
	probeEvery = time.Second             // while the primary is home
	awayEvery  = 250 * time.Millisecond  // while it is not
	probeTime  = 100 * time.Millisecond  // for the answer
	stall      = 50 * time.Millisecond   // past a time limit: this process was stopped
	restLeast  = 1250 * time.Millisecond // of the primary after a departure
	restMost   = 48                      // times as long, after several
	calmAfter  = 5 * time.Minute         // without a departure the rest is short again
	fillTime   = 10 * time.Second        // to copy all state
)

// Backend is live state with two homes. The zero value is not usable; see New.
type Backend struct {
	primary   holds.Sealer
	database  Database
	booked    func(holds.Hold) bool
	probe     time.Duration
	leaseTime time.Duration
	leastRest time.Duration
	logger    *slog.Logger
	log       *broadcast.Log
	ledger    ledger
	name      string // of this node

	mu       sync.Mutex
	decision holds.Decision
	term     *term         // the epoch that this node has entered, or has left last
	early    early         // the events of the home to come
	changed  chan struct{} // closed at the next change of decision or term
	decided  uint64        // the last epoch that this node decided on
	left     uint64        // this node makes no change under an epoch before this one
	since    time.Time     // when its lease was new
	departed time.Time     // when the nodes left the primary last, as far as this node knows
	rest     time.Duration // of the primary since then
	closed   bool

	leasing sync.Mutex // one renewal at a time
	gone    bool       // under leasing: there will be none
	probing sync.Mutex // one look at the primary at a time
	reaches atomic.Bool

	renew   chan struct{} // asks for a renewal now
	done    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// term is an epoch that this node serves under.
type term struct {
	epoch   uint64
	home    holds.Homely
	primary bool
	until   atomic.Int64   // the end of the lease on this process's monotonic clock; it counts where primary
	calls   sync.WaitGroup // that have not returned
	end     context.CancelFunc
}

// early is a watch of a home that was opened before the home was.
type early struct {
	epoch uint64
	watch holds.Watch
}

var (
	_ holds.Backend = (*Backend)(nil)
	_ holds.Served  = (*Backend)(nil)
)

// errUnsettled: this node cannot confirm where live state is.
var errUnsettled = errors.Join(holds.ErrUnavailable, errors.New("this node cannot confirm the home of live state"))

// New starts a backend. It waits until the nodes have a home, for ctx or two seconds at most; what is not settled then goes on.
func New(ctx context.Context, o Options) *Backend {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Probe <= 0 {
		o.Probe = probeTime
	}
	if o.Lease <= 0 {
		o.Lease = leaseTime
	}
	if o.Rest <= 0 {
		o.Rest = restLeast
	}
	b := &Backend{
		primary: o.Primary, database: o.Database, booked: o.Booked, probe: o.Probe, logger: o.Logger,
		log: broadcast.New(o.WatchQueue), name: node.NewID(time.Now()),
		changed: make(chan struct{}), renew: make(chan struct{}, 1), leaseTime: o.Lease, leastRest: o.Rest, rest: o.Rest,
	}
	b.ledger.open(b)
	b.done, b.stop = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, max(2*time.Second, b.waitTime()))
	defer cancel()
	b.reaches.Store(b.primary.Ping(ctx) == nil)
	if err := b.lease(ctx); err != nil {
		b.logger.Warn("home of live state not known yet; holds refused", "error", err)
	}
	b.running.Go(b.keepLease)
	b.running.Go(b.keepProbing)
	b.awaitHome(ctx)
	return b
}

// deadAfter is how long a node renews no lease before the others go on without it. It is measured on one node's clock.
func (b *Backend) deadAfter() time.Duration { return b.leaseTime + leaseMore }

// waitTime is how long a call waits for a change of home.
func (b *Backend) waitTime() time.Duration { return b.leaseTime * 5 / 4 }

// renewTime is for the answer to a renewal, or to a decision.
func (b *Backend) renewTime() time.Duration { return b.leaseTime * 3 / 4 }

// awaitHome waits until this node serves and hears events, of the primary if it can be reached.
func (b *Backend) awaitHome(ctx context.Context) {
	for {
		b.mu.Lock()
		ready := b.mayServe() && (b.term.primary || !b.reaches.Load()) && b.ledger.isSettled(b.term.epoch)
		changed := b.changed
		b.mu.Unlock()
		if ready {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Mode is the primary's, or "fallback" while PostgreSQL is the home.
func (b *Backend) Mode() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.term != nil && b.term.primary {
		return b.primary.Mode()
	}
	return "fallback"
}

// Ping answers nil if this node can give holds now.
func (b *Backend) Ping(ctx context.Context) error {
	return b.do(ctx, func(at holds.Homely) error { return at.Ping(ctx) })
}

// Stats implements holds.Backend. Watches are those of this process.
func (b *Backend) Stats(ctx context.Context) (s holds.Stats, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { s, err = at.Stats(ctx); return err })
	s.Watches = b.log.Watching()
	return s, err
}

// Server implements holds.Served with the primary's. holds.ErrUnavailable while it is not the home.
func (b *Backend) Server(ctx context.Context) (holds.Server, error) {
	if of, ok := b.primary.(holds.Served); ok && b.Mode() == b.primary.Mode() {
		return of.Server(ctx)
	}
	return holds.Server{}, holds.ErrUnavailable
}

// Close implements holds.Backend. It closes all that the backend is made of.
func (b *Backend) Close() error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	b.tell()
	b.mu.Unlock()
	if !first {
		return nil
	}
	b.log.Close()
	b.stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	b.leave(ctx)
	err := errors.Join(b.primary.Close(), b.database.Close())
	b.running.Wait()
	return err
}

// leave has the other nodes not wait for this one.
func (b *Backend) leave(ctx context.Context) {
	b.leasing.Lock()
	defer b.leasing.Unlock()
	b.gone = true
	list, err := b.database.Members(ctx)
	for _, m := range list {
		if m.Node == b.name && err == nil {
			err = b.database.Forget(ctx, m.Node, m.Beat)
		}
	}
	if err != nil {
		b.logger.Debug("lease of this node not released; it expires on its own", "error", err)
	}
}
