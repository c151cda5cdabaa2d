// Package pool lends connections to PostgreSQL. The two PostgreSQL backends each have their own pool: the durable
// record (store/postgres) and the live state (holds/postgres).
//
// It uses puddle, the library on which pgxpool is built, and checks its connections in the same way as pgxpool. It does
// not use the types of pgx: neither backend needs them, and they would add most of a megabyte to the program
// (docs/decisions/0061-a-pool-of-our-own.md).
//
// # Checks
//
// If a connection has been idle for more than two seconds, the pool pings it before it lends it, and replaces it if the
// ping fails. It closes a connection that is returned broken, in the middle of a response or inside a transaction. It
// does not lend a connection that is older than one hour. Within the next minute, it closes such a connection, and any
// connection that has been idle for 30 minutes.
package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/puddle/v2"
)

// Conn is the part of a connection that the pool needs. *pgconn.PgConn implements it.
type Conn interface {
	Ping(context.Context) error
	Close(context.Context) error
	CleanupDone() chan struct{} // closed once a broken connection has released its resources
	IsClosed() bool
	IsBusy() bool   // a result has not been read to its end
	TxStatus() byte // 'I' outside a transaction
}

const (
	lifetime    = time.Hour        // age after which a connection is replaced
	idleTime    = 30 * time.Minute // time after which an unused connection is closed
	checkPeriod = time.Minute      // time between two checks of the idle connections
	// idle time after which a connection is pinged before use; work that runs every second needs no pings
	pingAfter   = 2 * time.Second
	pingAlone   = time.Minute      // limit for a ping whose caller has stopped waiting
	closeWithin = 15 * time.Second // limit for closing a connection
)

// ErrClosed means that the pool is closed.
var ErrClosed = puddle.ErrClosedPool

// errAllBroken means that every connection broke before it could be lent, including new ones.
var errAllBroken = errors.New("every connection broke before it was used")

// Pool holds a bounded number of connections, which it opens on demand.
type Pool[C Conn] struct {
	conns   *puddle.Pool[C]
	size    int
	stop    context.CancelFunc
	checked sync.WaitGroup
}

// New returns a pool of at most size connections. connect opens a connection that is ready for use. It must limit its
// own time, because its context ends with the pool and not with the waiting caller. New opens no connection; the first
// Acquire does.
func New[C Conn](size int, connect func(context.Context) (C, error)) (*Pool[C], error) {
	conns, err := puddle.NewPool(&puddle.Config[C]{Constructor: connect, Destructor: leave[C], MaxSize: int32(size)})
	if err != nil {
		return nil, fmt.Errorf("a pool of %d connections: %w", size, err)
	}
	running, stop := context.WithCancel(context.Background())
	p := &Pool[C]{conns: conns, size: size, stop: stop}
	p.checked.Go(func() { p.check(running) })
	return p, nil
}

// leave closes a connection and waits at most closeWithin until it is closed.
func leave[C Conn](c C) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = c.Close(ctx)
	select {
	case <-c.CleanupDone():
	case <-ctx.Done():
	}
}

// Lent is a borrowed connection. The caller must return it exactly once, with Release or Drop.
type Lent[C Conn] struct {
	resource *puddle.Resource[C]
}

// Conn returns the connection.
func (l Lent[C]) Conn() C { return l.resource.Value() }

// Release returns the connection to the pool. If the connection cannot serve the next caller, the pool closes it and
// then frees its slot.
func (l Lent[C]) Release() {
	c := l.resource.Value()
	if c.IsClosed() || c.IsBusy() || c.TxStatus() != 'I' {
		l.resource.Destroy()
		return
	}
	l.resource.Release()
}

// Drop removes the connection from the pool and frees its slot immediately. The pool neither closes it nor waits for
// it.
func (l Lent[C]) Drop() { l.resource.Hijack() }

// Acquire borrows a connection. If none is free and the pool is not full, it opens one. It waits as long as ctx allows.
// After Close it returns ErrClosed. Any other error is that of ctx or of connect.
func (p *Pool[C]) Acquire(ctx context.Context) (Lent[C], error) {
	for range p.size + 1 { // if all connections have broken, the last try opens a new one
		resource, err := p.conns.Acquire(ctx)
		if err != nil {
			return Lent[C]{}, err
		}
		switch {
		case isOld(resource):
		case resource.IdleDuration() <= pingAfter:
			return Lent[C]{resource}, nil
		default:
			alive, err := ping(ctx, resource)
			if err != nil {
				return Lent[C]{}, err // the goroutine of ping now owns the connection
			}
			if alive {
				return Lent[C]{resource}, nil
			}
		}
		resource.Destroy()
	}
	return Lent[C]{}, errAllBroken
}

func isOld[C Conn](r *puddle.Resource[C]) bool { return time.Since(r.CreationTime()) > lifetime }

// ping reports whether a connection is alive. If the caller's ctx ends first, ping returns the error of ctx
// immediately. A goroutine then waits for the response and returns the connection to the pool, because cancelling the
// ping would break the connection.
func ping[C Conn](ctx context.Context, r *puddle.Resource[C]) (alive bool, err error) {
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if deadline, ok := ctx.Deadline(); ok {
		asking, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	answered := make(chan error, 1)
	go func() { answered <- r.Value().Ping(asking) }()
	select {
	case err := <-answered:
		cancel()
		return err == nil, nil
	case <-ctx.Done():
	}
	go func() {
		defer cancel()
		defer time.AfterFunc(pingAlone, cancel).Stop()
		if err := <-answered; err != nil {
			r.Destroy()
		} else {
			r.Release()
		}
	}()
	return false, ctx.Err()
}

// check closes idle and old connections until ctx ends.
func (p *Pool[C]) check(ctx context.Context) {
	tick := time.NewTicker(checkPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, r := range p.conns.AcquireAllIdle() {
			if isOld(r) || r.IdleDuration() > idleTime {
				r.Destroy()
			} else {
				r.ReleaseUnused()
			}
		}
	}
}

// Reset closes all connections. It closes lent connections when they are returned. The pool stays open. Call Reset
// after one connection has broken, because the others are probably broken too.
func (p *Pool[C]) Reset() { p.conns.Reset() }

// Close makes every further Acquire fail, and waits until all connections have been returned and closed.
func (p *Pool[C]) Close() {
	p.stop()
	p.checked.Wait()
	p.conns.Close()
}
