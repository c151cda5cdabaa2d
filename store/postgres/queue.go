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

// QueueOptions configures OpenQueue. Only URL is required.
type QueueOptions struct {
	URL     string       // see Options.URL
	Logger  *slog.Logger // receives messages, such as about operations taken over; nil discards them
	Timeout time.Duration
	// Conns is the number of connections. 0 means 4.
	Conns int
	// Waiting is the number of writes that may wait for a connection before they get ErrOverloaded. 0 means 4,096.
	Waiting int
	// Lease is how long an operation belongs to this node after the last renewal, by the server's clock. A node renews
	// its leases three times within that time. After a lease has expired, another node takes the operation over, with
	// an unknown outcome. 0 means 30 s.
	Lease time.Duration
	// Settle is how long an upstream write may be in flight after it was recorded. A write that another node takes over
	// is not due until that time has passed. 0 means that it is due immediately, as in Recover.
	Settle time.Duration
	// Alone means that there is no other node (Options.Alone). This node then takes over the operations of a stopped
	// node immediately.
	Alone bool
}

// Queue is one node's view of the queue in the database. See store.Queue.
//
// Any number of nodes share the queue. One node takes an operation (FOR UPDATE SKIP LOCKED) and holds a lease on it
// until it changes the operation. If the lease has expired and another node has taken the operation over, Change
// returns store.ErrVersion to the first node.
type Queue struct {
	pool    *pool
	log     *slog.Logger
	owner   string // identifies this process
	lease   time.Duration
	settle  time.Duration
	room    int64
	rebuilt bool
	waiting atomic.Int64
	now     func() time.Time // the clock of this node

	held heldSet

	gate    sync.RWMutex // guards closed; a call begins under the read lock
	closed  bool
	calls   sync.WaitGroup
	stop    context.CancelFunc
	running sync.WaitGroup
	closing sync.Once
}

var _ store.Queue = (*Queue)(nil)

// OpenQueue connects and migrates the schema. ctx applies only to opening the queue.
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
		if rebuilt, err = oneOn(ctx, c, (*row).Bool, `SELECT NOT EXISTS (SELECT 1 FROM operations)`); err != nil ||
			!o.Alone {
			return err
		}
		_, err = c.exchange(ctx, stmt(releaseAllLeases))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening the queue: %w", translate(err))
	}
	q := &Queue{
		log: common.Logger, owner: newOwner(), lease: o.Lease, settle: o.Settle, room: int64(o.Waiting),
		rebuilt: rebuilt, now: time.Now,
	}
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

// Rebuilt reports whether the queue was empty when it was opened, as it is after a restore or a move of a clinic. If
// so, the outcome of the attempts recorded in the outbox is unknown.
func (q *Queue) Rebuilt() bool { return q.rebuilt }

// newOwner returns an id that is unique among all processes that ever use the database.
func newOwner() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// begin admits a call, or returns an error. The caller must end an admitted call with q.calls.Done.
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

// read runs reads in one exchange.
func (q *Queue) read(ctx context.Context, all ...*statement) error {
	if err := q.begin(ctx); err != nil {
		return err
	}
	defer q.calls.Done()
	return q.pool.ask(ctx, all)
}

// write runs statements in one transaction and returns when it is durable. ctx limits only the wait for a connection.
func (q *Queue) write(ctx context.Context, all ...*statement) error {
	_, err := q.attempt(ctx, all)
	return err
}

// repeat works like write, for idempotent statements: if the connection breaks, it runs them again.
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

// Close waits for the calls already accepted and releases the operations of this node, so that another node can take
// them over immediately. It is idempotent.
func (q *Queue) Close() error {
	var err error
	q.closing.Do(func() {
		q.gate.Lock()
		q.closed = true
		q.gate.Unlock()
		q.calls.Wait()
		q.stop()
		q.running.Wait()
		if _, err = q.pool.write(context.Background(), []*statement{stmt(releaseLeases, q.owner)}); errors.Is(err,
			store.ErrUnavailable) {
			err = nil // not an error: the leases expire
		}
		q.pool.close()
	})
	return err
}
