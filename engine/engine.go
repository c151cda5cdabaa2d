// Package engine is what Holdfast decides: which slots exist, who is assigned, who may hold, book, move and cancel.
//
// One use case is one file. The package knows no SQL, no HTTP and no Redis: it is given a store.Store (what is
// remembered), a holds.Backend (what is true only for now) and a store.Queue (calls still to be made), and it gives
// package web one *Engine. Availability and assignment are pure functions that take now; everything else is a method.
//
// # The law and the courtesy
//
// A hold is a courtesy, the table is the law. Every booking path ends in one Write whose insert the database may refuse;
// nothing before it is needed for safety. What comes before it (availability, the busy bits, the hold) makes refusals
// rare and early.
//
// # After commit
//
// Whatever is kept in memory of what is remembered (the schedule, the taken time, the generations, the busy bits) and every
// event of it is fed by the store's feed, in commit order, and by nothing else: follow.go. Write returns after the feed was
// taken in, so a caller finds its own change. Operations are handed to the queue after the Write has returned.
//
// # Errors
//
// Methods return the sentinels and typed errors of error.go, of package store and of package holds; package web has
// the one table from them to a status and a code.
package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/holds"
	"holdfast/store"
)

// Engine decides. It is safe for concurrent use.
type Engine struct {
	store    store.Store
	holds    *countedHolds
	log      *slog.Logger
	options  Options
	schedule scheduleCache
	slots    *slotCache
	recent   recentHolds
	answers  answers
	taken    takenTime
	presence presenceState
	live     liveDays
	pulse    pulse

	usedTickets usedTickets
	revoked     revoked
	requested   chan struct{} // a session was asked for
	knownKeys   knownKeys
	guesses     guesses
	passwords   passwords
	keyring     atomic.Pointer[token.Keyring]
	adminKey    []byte                  // SHA-256 of the bootstrap admin key; nil if there is none
	work        []func(context.Context) // what Run keeps running

	stopFollowing context.CancelFunc

	outside           Outside
	specialistChanged func(context.Context, store.Specialist)

	started    time.Time   // what was promised before it was promised by another process
	queue      store.Queue // nil: nothing is ever called
	outbox     outbox
	queueReady chan struct{} // closed when the queue is right after the start
	lanes      []*lane
	deliver    map[store.OperationKind]delivery // how each kind is delivered; complete when New returns
	notices    []func(*change) []outbound       // what else a change promises; complete when New returns
	directs    chan *direct                     // bookings to be tried while an agent waits
	doubt      atomic.Int32                     // since the practice system answered well: how many writes nobody knows of
	asks       *upstream.Pacer                  // spaces look-ups as Pacer spaces writes
	agents     agentSessions
	closed     closedTime
	clock      queueClock
	hookRests  rests   // webhook addresses that were not reached
	posting    posting // webhook addresses that are being posted to
}

// Options configure an Engine; the zero value of each field is its default.
type Options struct {
	Store  store.Store   // required
	Holds  holds.Backend // required
	Logger *slog.Logger  // default: discard

	// Keyring signs manage links and agent tokens. Default: keys made now, which die with the process.
	Keyring *token.Keyring
	// AdminKey is a bootstrap key with every scope, of at least MinAdminKey characters. Default: none.
	AdminKey string

	Presence PresenceOptions

	// Queue keeps the outbound calls still to be made. Default: none, and nothing outside is ever called.
	Queue store.Queue
	// QueueRebuilt says that the queue began empty although there may be promises: what was attempted is not known.
	QueueRebuilt bool
	// Outbound are the times and limits of outbound calls.
	Outbound OutboundOptions
	// Upstream is the clinic's practice-management system. It needs a Queue. Default: none, appointments are only here.
	Upstream Upstream
	// Pacer spaces the writes of Upstream; it must be the one that Upstream restarts. Default: one of its own.
	Pacer *upstream.Pacer
	// AgentAllowLegacy lets agents book with a bare patientGUID, without a token.
	AgentAllowLegacy bool
	// AgentBound is how long an agent waits for the answer to a booking, MinAgentBound to MaxAgentBound. Default
	// DefaultAgentBound. Where it is shorter than the spacing of Pacer, the second of two bookings in a row is queued.
	AgentBound time.Duration
	// DebugReplies adds _debug to the answers to agents.
	DebugReplies bool
	// Notices are how people and programs are told of changes.
	Notices NoticeOptions
	// Copies lists the copies of the data that erasing a person does not reach. Nil: none are known.
	Copies func() ([]Copy, error)
	// OnFatal is told when nothing can be written to the queue any more and the process should be restarted.
	OnFatal func(error)

	// Retention is how long what is over is kept.
	Retention Retention

	// TimeslotsCacheTTL bounds how long a computed day list is reused. Default 300 s; negative switches the cache off.
	TimeslotsCacheTTL time.Duration
	// TimeslotsCacheBytes bounds the memory of the slot cache. Default 32 MiB.
	TimeslotsCacheBytes int64

	wall func() time.Time // the wall clock; for tests that set it
}

// New reads the schedule and returns an Engine. Run must be called for its background work.
func New(ctx context.Context, o Options) (*Engine, error) {
	if o.Store == nil || o.Holds == nil {
		return nil, errors.New("engine: Store and Holds are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.TimeslotsCacheTTL == 0 {
		o.TimeslotsCacheTTL = 300 * time.Second
	}
	if o.TimeslotsCacheBytes == 0 {
		o.TimeslotsCacheBytes = 32 << 20
	}
	o.Presence = o.Presence.withDefaults()
	if o.Keyring == nil {
		o.Keyring = token.Generate(time.Now())
	}
	o.Outbound = o.Outbound.withDefaults()
	o.Retention = o.Retention.withDefaults()
	if o.Upstream != nil && o.Queue == nil {
		return nil, errors.New("engine: an Upstream needs a Queue")
	}
	if o.AgentBound == 0 {
		o.AgentBound = DefaultAgentBound
	}
	if o.AgentBound < MinAgentBound || o.AgentBound > MaxAgentBound {
		return nil, fmt.Errorf("engine: AgentBound is %s; it must be %s to %s", o.AgentBound, MinAgentBound, MaxAgentBound)
	}
	if o.Pacer == nil {
		o.Pacer = upstream.NewPacer(0)
	}
	e := &Engine{store: o.Store, holds: &countedHolds{Backend: o.Holds}, log: o.Logger, options: o, passwords: newPasswords(), requested: make(chan struct{}, 1)}
	e.outside, e.specialistChanged, e.presence.options = e, e.followActive, o.Presence
	e.started = e.now()
	e.taken.filled = e.fillBusy
	e.prepareOutbound()
	e.prepareNotices()
	e.keyring.Store(o.Keyring)
	if o.AdminKey != "" {
		if len(o.AdminKey) < MinAdminKey {
			return nil, fmt.Errorf("the admin key has %d characters; it needs at least %d", len(o.AdminKey), MinAdminKey)
		}
		sum := sha256.Sum256([]byte(o.AdminKey))
		e.adminKey = sum[:]
	}
	e.schedule.clock.Store(uint64(time.Now().UnixMilli()))
	var err error
	if e.slots, err = newSlotCache(o.TimeslotsCacheBytes, o.TimeslotsCacheTTL); err != nil {
		return nil, fmt.Errorf("slot cache: %w", err)
	}
	if err := e.beginToFollow(ctx); err != nil {
		return nil, err
	}
	if err := e.seedPresence(ctx); err != nil {
		return nil, fmt.Errorf("seed presence: %w", err)
	}
	e.work = append(e.work, e.forgetRecords, e.keepPresence, e.expireSessions)
	e.work = append(e.work, e.outboundWork()...)
	return e, nil
}

// Run does the background work until ctx ends, and returns when all of it has stopped.
func (e *Engine) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, work := range e.work {
		all.Go(func() { work(ctx) })
	}
	all.Wait()
	e.stopFollowing()
	e.OpenAll()
	e.CloseCache()
}

// Ready answers nil if requests can be served: the database and the live state both answer.
func (e *Engine) Ready(ctx context.Context) error {
	if err := e.store.Ping(ctx); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if err := e.holds.Ping(ctx); err != nil {
		return fmt.Errorf("live state: %w", err)
	}
	if e.queue != nil {
		if err := e.queue.Ping(ctx); err != nil {
			return fmt.Errorf("queue: %w", err)
		}
	}
	return nil
}
