// Package memory is the live state of a single process: the embedded holds.Backend.
//
// # Who locks what
//
// Specialists are dealt out over shards. Everything that can conflict lies in one shard, so a claim is decided under one
// lock, and every entry into a shard first ends what has lapsed there. No call ever meets a hold past its deadline and
// none waits for a sweeper, whose only task is to see that a release is published on time when nobody calls.
//
// The quota crosses shards, so each client has a lock too, taken before the shard's and held through the claim. A hold
// changes under both locks; either is enough to read it. What ends a hold without its client's lock (a lapse, a
// displacement) marks it as gone and leaves it to the sweeper to take it out of its client's chain.
//
// The order is client, shard, log; selections and presence have a lock each and take only the log's within it. Busy
// time is under the shard's lock. Nothing sleeps, waits or does I/O while it holds one.
//
// # Time
//
// Deadlines are kept on the monotonic clock, as the time since the backend was opened; the wall clock is only read to
// tell people. All of it works in the virtual time of testing/synctest.
package memory

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"holdfast/holds"
	"holdfast/holds/broadcast"
)

// Options of New. The zero value is a table in which every lapsed hold was not booked.
type Options struct {
	// Booked answers whether the booking of a pinned hold was written although the hold lapsed: EventConfirm is
	// published if so, else EventRelease. It may read the database, is called outside every lock by one goroutine,
	// and has to end by itself before Close can. The interval is free from the deadline on, whatever it answers.
	// Nil means that none was.
	Booked func(holds.Hold) bool

	// Shards over which specialists are dealt out, rounded up to a power of two; 0 means 64, and 256 is the most.
	Shards int

	// WatchQueue is how many events a watcher can fall behind before it is cut off, rounded up to whole pages of 256;
	// 0 means 65,536, which outlasts 100,000 holds lapsing at once. The memory is taken only while somebody is
	// behind.
	WatchQueue int
}

const (
	defaultShards = 64
	mostShards    = 256 // a hold's id has eight bits for its shard
)

// Backend is the live state of one process. The zero value is not usable; see New.
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

// New returns an empty backend and starts the goroutines that publish lapses; Close ends them.
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

// Mode is always "memory".
func (b *Backend) Mode() string { return "memory" }

// Ping answers nil until Close.
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

// Close implements holds.Backend. It is idempotent. Every later call answers holds.ErrClosed.
func (b *Backend) Close() error {
	if b.closed.CompareAndSwap(false, true) {
		close(b.done)
		b.log.Close()
	}
	b.running.Wait()
	return nil
}
