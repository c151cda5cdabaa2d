package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/store"
)

// QueueOptions say where the queue is and how its nodes share it. Only URL is required.
type QueueOptions struct {
	URL     string       // as Options.URL
	Logger  *slog.Logger // told of operations that were taken over; nil discards
	Timeout time.Duration
	// Conns is how many connections it uses. 0 means 4.
	Conns int
	// Waiting is how many writes may wait for a connection before they are answered ErrOverloaded. 0 means 4,096.
	Waiting int
	// Lease is for how long an operation is this node's after it was last heard of, by the server's clock. A node renews what it
	// attempts three times in that time; what lapses is taken over by another, its outcome unknown. 0 means 30 s.
	Lease time.Duration
	// Settle is how long a write to the practice system may be in flight after it was recorded: one that is taken over is not due
	// before. 0: it is due at once, as in Recover.
	Settle time.Duration
	// Alone says that no other node is there (Options.Alone): what a node left that has gone is anybody's at once.
	Alone bool
}

// Queue is one node's view of the queue in the database. See store.Queue.
//
// Any number of nodes take from it: an operation is taken by one of them (FOR UPDATE SKIP LOCKED), which holds a lease on it
// until it changes it. Change answers store.ErrVersion to a node whose lease lapsed and whose operation another has taken over.
type Queue struct {
	pool    *pool
	log     *slog.Logger
	owner   string // this process
	lease   time.Duration
	settle  time.Duration
	room    int64
	rebuilt bool
	waiting atomic.Int64

	held heldSet

	gate    sync.RWMutex // closed changes under it, and calls begin under its read side
	closed  bool
	calls   sync.WaitGroup
	stop    context.CancelFunc
	running sync.WaitGroup
	closing sync.Once
}

var _ store.Queue = (*Queue)(nil)

// OpenQueue connects and brings the schema up to date. ctx bounds the opening.
func OpenQueue(ctx context.Context, o QueueOptions) (*Queue, error) {
	common := Options{URL: o.URL, Logger: o.Logger, Timeout: o.Timeout}
	if err := common.fill(); err != nil {
		return nil, err
	}
	if o.Conns <= 0 {
		o.Conns = 4
	}
	if o.Waiting <= 0 {
		o.Waiting = 4096
	}
	if o.Lease <= 0 {
		o.Lease = 30 * time.Second
	}
	at, err := newServer(common)
	if err != nil {
		return nil, err
	}
	rebuilt := false
	err = at.with(ctx, func(ctx context.Context, c *conn) (err error) {
		if err := migrate(ctx, c, program, common.Logger, !o.Alone); err != nil {
			return err
		}
		if rebuilt, err = oneOn(ctx, c, (*row).Bool, `SELECT NOT EXISTS (SELECT 1 FROM operations)`); err != nil || !o.Alone {
			return err
		}
		_, err = c.exchange(ctx, stmt(letGoAll))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening the queue: %w", translate(err))
	}
	q := &Queue{log: common.Logger, owner: newOwner(), lease: o.Lease, settle: o.Settle, room: int64(o.Waiting), rebuilt: rebuilt}
	tell := tellVersion
	if o.Alone {
		tell = nil
	}
	if q.pool, err = newPool(at, o.Conns, tell); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	q.stop = stop
	q.running.Go(func() { q.keepLeases(running) })
	return q, nil
}

// Rebuilt reports whether the queue was empty when it was opened, as it is after a backup was put back or a clinic was moved here.
// What the outbox says was attempted is then not known to have failed.
func (q *Queue) Rebuilt() bool { return q.rebuilt }

// newOwner names this process among all that ever use the database.
func newOwner() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// begin admits a call, which must end with q.calls.Done.
func (q *Queue) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.gate.RLock()
	defer q.gate.RUnlock()
	if q.closed {
		return store.ErrClosed
	}
	q.calls.Add(1)
	return nil
}

// read asks questions.
func (q *Queue) read(ctx context.Context, all ...*statement) error {
	if err := q.begin(ctx); err != nil {
		return err
	}
	defer q.calls.Done()
	return q.pool.ask(ctx, all)
}

// write runs statements in one transaction and returns when that is durable. ctx bounds the wait for a connection only.
func (q *Queue) write(ctx context.Context, all ...*statement) error {
	_, err := q.attempt(ctx, all)
	return err
}

// repeat is write for what does no harm when it is done twice: where the connection broke it is done again.
func (q *Queue) repeat(ctx context.Context, all ...*statement) error {
	cut, err := q.attempt(ctx, all)
	if cut {
		_, err = q.attempt(ctx, all)
	}
	return err
}

func (q *Queue) attempt(ctx context.Context, all []*statement) (cut bool, err error) {
	if err := q.begin(ctx); err != nil {
		return false, err
	}
	defer q.calls.Done()
	defer q.waiting.Add(-1)
	if q.waiting.Add(1) > q.room {
		return false, store.ErrOverloaded
	}
	return q.pool.write(ctx, all)
}

// Ping implements store.Queue.
func (q *Queue) Ping(ctx context.Context) error {
	_, err := q.Counts(ctx)
	return err
}

// Close waits for the calls already accepted, and releases the operations of this node: another node takes them over at once. It is idempotent.
func (q *Queue) Close() error {
	var err error
	q.closing.Do(func() {
		q.gate.Lock()
		q.closed = true
		q.gate.Unlock()
		q.calls.Wait()
		q.stop()
		q.running.Wait()
		if _, err = q.pool.write(context.Background(), []*statement{stmt(letGo, q.owner)}); errors.Is(err, store.ErrUnavailable) {
			err = nil // the leases lapse
		}
		q.pool.close()
	})
	return err
}
