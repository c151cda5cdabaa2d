// Package home stores the live state of several nodes in one of two backends, called homes: a primary such as Redis, or
// the PostgreSQL that stores the nodes' durable data. At any time, all nodes use the same home. They decide together
// which one that is.
//
// # One decision
//
// A row in PostgreSQL records the decision: an epoch, its home, and whether that home is open. Every hold is changed
// under an epoch, and each home refuses changes under any epoch except the one for which it is open. A change of home
// takes three steps:
//
//  1. A node decides on the next epoch (holds.Decisions.Move). From then on, nodes begin no change under the previous
//     epoch.
//  2. The previous home is sealed, and its state is copied to the new one, with the time that each hold has left.
//  3. The new home is opened, and every node enters it.
//
// A call that arrives during a change waits for at most 1 s. Then it returns holds.ErrUnavailable.
//
// # A home that cannot be sealed
//
// A Redis that no node can reach cannot be sealed, and a node that is cut off from PostgreSQL may still reach it. So
// each node has a lease, which it renews in PostgreSQL. Once its lease has expired, it acknowledges no result from
// Redis. The new home opens when every node has left the previous epoch, or has not renewed its lease for longer than a
// lease lasts. The waiting node measures that time on its own monotonic clock, so clocks are never compared.
//
// The state of such a Redis is restored from the memory of the nodes: each node first copies the holds that its own
// calls created, and then the holds that it received in events from other nodes. It also copies the specialists whom
// its own calls found online, with their last heartbeats. The same happens after a home has been emptied. Both homes
// detect that: a Redis after FLUSHALL, a restart or a promotion, and a PostgreSQL after a crash.
//
// # When to leave the primary
//
// If a node gets no response from the primary, it tries a second time. An attempt that took longer than its time limit
// does not count: it shows that this process was suspended, not that Redis is down. The nodes return when all of them
// reach Redis and Options.Rest has passed since the departure. Each departure within five minutes of the last one
// doubles that time.
//
// # Events for watchers
//
// Watchers receive one stream, numbered by this process, which a change of home does not interrupt. Events that the new
// home repeats are left out. Missed events are reconstructed from a snapshot and published.
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

// Database is PostgreSQL in its two roles in this package: the nodes make their decisions in it, and it is one of the
// two homes.
type Database interface {
	holds.Homely
	holds.Decisions
}

// Options configures New. Primary and Database are required. The new backend owns them and closes them when it is
// closed.
type Options struct {
	Primary  holds.Sealer
	Database Database

	// Booked reports whether a pinned hold whose end was missed during a change of home was booked; see package memory.
	Booked func(holds.Hold) bool

	// WatchQueue is the number of events that a watcher can fall behind; 0 means 65,536.
	WatchQueue int

	// Probe is the time limit for the primary's response to a ping; 0 means 100 ms.
	Probe time.Duration

	// Lease is how long after a renewal this node is allowed to acknowledge results from the primary. 0 means 800 ms.
	// All nodes need the same value. A call waits for a change of home for up to 25% longer than that.
	Lease time.Duration

	// Rest is the minimum time between leaving the primary and returning to it; 0 means 1.25 s. Each departure that
	// follows within five minutes doubles it, up to 48 times the value.
	Rest time.Duration

	// Logger logs each change of home; nil disables logging.
	Logger *slog.Logger
}

const (
	leaseTime  = 800 * time.Millisecond  // after the renewal was sent
	leaseMore  = 150 * time.Millisecond  // after the end of a lease: a node that has not renewed it by then is dead
	renewEvery = 350 * time.Millisecond  // twice within a lease; each is one transaction, even on an idle node
	probeEvery = time.Second             // while the primary is the home
	awayEvery  = 250 * time.Millisecond  // while PostgreSQL is the home
	probeTime  = 100 * time.Millisecond  // for the response to a ping
	stall      = 50 * time.Millisecond   // beyond a time limit; a longer delay means that this process was stopped
	restLeast  = 1250 * time.Millisecond // of the primary after a departure
	restMost   = 48                      // times Options.Rest at most, after several departures
	calmAfter  = 5 * time.Minute         // after this time without a departure, the rest is short again
	fillTime   = 10 * time.Second        // to copy all state
)

// Backend is live state that can be in either of two homes. The zero value is not usable; see New.
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
	term     *term         // the epoch that this node last entered
	early    early         // the watch of the next home
	changed  chan struct{} // closed at the next change of the decision or the term
	decided  uint64        // the last epoch that this node decided on
	logged   uint64        // the last epoch whose reason this node has logged
	left     uint64        // this node makes no changes under epochs before this one
	since    time.Time     // when this node's lease was last renewed
	departed time.Time     // when the nodes last left the primary, as far as this node knows
	rest     time.Duration // of the primary after that departure
	closed   bool

	leasing sync.Mutex // one renewal at a time
	gone    bool       // guarded by leasing; there will be no more renewals
	probing sync.Mutex // one check of the primary at a time
	reaches atomic.Bool

	renew   chan struct{} // requests a renewal now
	done    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// term is an epoch under which this node serves.
type term struct {
	epoch   uint64
	home    holds.Homely
	primary bool
	until   atomic.Int64   // the end of the lease on this process's monotonic clock; used only if primary
	calls   sync.WaitGroup // calls that have not returned
	end     context.CancelFunc
}

// early is a watch that was started before the home opened.
type early struct {
	epoch uint64
	watch holds.Watch
}

var (
	_ holds.Backend = (*Backend)(nil)
	_ holds.Served  = (*Backend)(nil)
)

// errUnsettled is returned while this node cannot confirm which home holds the live state.
var errUnsettled = errors.Join(holds.ErrUnavailable, errors.New("this node cannot confirm which store has the live state"))

// New starts a backend. It waits until this node serves from a home, until ctx is done, or for at most 2 s (longer if
// Lease exceeds 1.6 s). If the start has not finished by then, it continues in the background.
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
		changed: make(chan struct{}), renew: make(chan struct{}, 1), leaseTime: o.Lease, leastRest: o.Rest,
		rest: o.Rest,
	}
	b.ledger.open(b)
	b.done, b.stop = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, max(2*time.Second, b.waitTime()))
	defer cancel()
	b.reaches.Store(b.primary.Ping(ctx) == nil)
	if err := b.lease(ctx); err != nil {
		b.logger.Warn("location of the live state not yet known; holds refused", "error", err)
	}
	b.running.Go(b.keepLease)
	b.running.Go(b.keepProbing)
	b.awaitHome(ctx)
	return b
}

// deadAfter is how long a node can go without a renewal before the other nodes continue without it. It is measured on
// one node's clock.
func (b *Backend) deadAfter() time.Duration { return b.leaseTime + leaseMore }

// waitTime is the maximum time that a call waits for a change of home.
func (b *Backend) waitTime() time.Duration { return b.leaseTime * 5 / 4 }

// renewTime is the time limit for a renewal or a decision.
func (b *Backend) renewTime() time.Duration { return b.leaseTime * 3 / 4 }

// awaitHome waits until this node serves and receives events, from the primary if it is reachable.
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

// Mode returns the primary's mode, or "fallback" while PostgreSQL is the home.
func (b *Backend) Mode() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.term != nil && b.term.primary {
		return b.primary.Mode()
	}
	return "fallback"
}

// Ping returns nil if this node can create holds now.
func (b *Backend) Ping(ctx context.Context) error {
	return b.do(ctx, func(at holds.Homely) error { return at.Ping(ctx) })
}

// Stats implements holds.Backend. Watches counts the watches of this process.
func (b *Backend) Stats(ctx context.Context) (s holds.Stats, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { s, err = at.Stats(ctx); return err })
	s.Watches = b.log.Watching()
	return s, err
}

// Server implements holds.Served with the primary's server. While the primary is not the home, it returns
// holds.ErrUnavailable.
func (b *Backend) Server(ctx context.Context) (holds.Server, error) {
	if of, ok := b.primary.(holds.Served); ok && b.Mode() == b.primary.Mode() {
		return of.Server(ctx)
	}
	return holds.Server{}, holds.ErrUnavailable
}

// Close implements holds.Backend. It also closes the primary and the database.
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

// leave removes this node from the members, so that the other nodes do not wait for it.
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
		b.logger.Debug("failed to release the lease of this node; it expires on its own", "error", err)
	}
}
