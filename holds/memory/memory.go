// Package memory stores the live state of a single process: the embedded holds.Backend.
//
// # Locks
//
// Specialists are distributed over shards. All holds on one specialist's time are in one shard, so one lock decides a
// claim. Every entry into a shard first ends the expired holds in it. So no call sees a hold after its deadline, and no
// call waits for a sweeper. The sweeper's only task is to publish a release on time when there are no calls.
//
// The quota applies across shards, so each client has a lock too, which is acquired before the shard's and held during
// the claim. A hold changes under both locks; either one is enough to read it. If a hold ends without its client's lock
// (it expires or is displaced), it is marked as gone, and the sweeper removes it from its client's chain.
//
// The order is client, shard, log. Selections and presence have one lock each; code that holds one of these acquires
// only the log's lock. The shard's lock guards busy time. No code sleeps, waits or does I/O while it holds one of these
// locks.
//
// # Time
//
// Deadlines are on the monotonic clock, as the time since the backend was opened. The wall clock is read only for the
// times that are displayed. All of this works in testing/synctest's virtual time.
package memory

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"holdfast/holds"
	"holdfast/holds/broadcast"
)

// Options configures New. With the zero value, no expired hold counts as booked.
type Options struct {
	// Booked reports whether the booking of a pinned hold was written even though the hold had expired. If so, the
	// backend publishes EventConfirm, otherwise EventRelease. Booked can read the database. One goroutine calls it,
	// outside every lock, and Close waits until it returns. The interval is free from the deadline onward, whatever
	// Booked returns. Nil means that no such hold was booked.
	Booked func(holds.Hold) bool

	// Shards is the number of shards over which specialists are distributed, rounded up to a power of two; 0 means
	// 64, and the maximum is 256.
	Shards int

	// WatchQueue is the number of events that a watcher can fall behind before it is cut off, rounded up to whole pages
	// of 256. 0 means 65,536, which is enough even if 100,000 holds expire at the same time. Memory is allocated only
	// while a watcher is behind.
	WatchQueue int
}

const (
	defaultShards = 64
	mostShards    = 256 // a hold's id contains eight bits for its shard
)

// Backend is the live state of a single process. The zero value is not usable; see New.
type Backend struct {
	booked func(holds.Hold) bool
	clock  clock
	seed   maphash.Seed

	shards     []shard
	resources  resources
	clients    [64]clients
	ids        ids
	log        *broadcast.Log
	wake       wakeUp
	doubts     doubts
	selections selections
	presence   presence

	closed  atomic.Bool
	done    chan struct{}
	running sync.WaitGroup
}

var _ holds.Backend = (*Backend)(nil)

// New returns an empty backend and starts the goroutines that end expired holds; Close stops them.
func New(o Options) *Backend {
	b := &Backend{
		booked: o.Booked,
		seed:   maphash.MakeSeed(),
		shards: make([]shard, powerOfTwo(o.Shards)),
		done:   make(chan struct{}),
	}
	b.clock.open()
	b.resources.open()
	b.log = broadcast.New(o.WatchQueue)
	b.ids.open()
	b.wake.open()
	b.doubts.open()
	for i := range b.shards {
		b.shards[i].open(b, i)
	}
	for i := range b.clients {
		b.clients[i].open()
	}
	b.selections.open(b)
	b.presence.open()
	b.running.Go(b.sweep)
	b.running.Go(b.resolve)
	return b
}

func powerOfTwo(shards int) int {
	if shards <= 0 {
		return defaultShards
	}
	n := 1
	for n < min(shards, mostShards) {
		n *= 2
	}
	return n
}

// Mode returns "memory".
func (b *Backend) Mode() string { return "memory" }

// Ping returns nil until Close.
func (b *Backend) Ping(context.Context) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	return nil
}

// Stats implements holds.Backend.
func (b *Backend) Stats(context.Context) (holds.Stats, error) {
	if b.closed.Load() {
		return holds.Stats{}, holds.ErrClosed
	}
	n := holds.Stats{
		Selections: b.selections.count(),
		Online:     b.presence.online(),
		Watches:    b.log.Watching(),
	}
	for i := range b.shards {
		s := &b.shards[i]
		s.enter()
		n.Holds += len(s.deadlines)
		s.Unlock()
	}
	return n, nil
}

// Close implements holds.Backend. It is idempotent. Every later call returns holds.ErrClosed.
func (b *Backend) Close() error {
	if b.closed.CompareAndSwap(false, true) {
		close(b.done)
		b.log.Close()
	}
	b.running.Wait()
	return nil
}
