// Package pool lends connections to PostgreSQL. Both of the backends that are kept there borrow from one, each from its own: what is
// remembered (store/postgres) and what is true only for now (holds/postgres).
//
// It is puddle, the pool below pgxpool, with the care that pgxpool takes of its connections, and without the types of pgx, which
// neither backend uses and which are most of a megabyte of the program (docs/decisions/0061-a-pool-of-our-own.md).
//
// # What it takes care of
//
// A connection that was idle for more than a second is asked whether it is alive before it is lent, and replaced if it is not. One
// that is given back broken, in the middle of an answer or inside a transaction is closed. One that is older than an hour is not lent
// again, and it, or one that nobody used for half an hour, is closed within the next minute.
package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/puddle/v2"
)

// Conn is what the pool asks of a connection. A *pgconn.PgConn is one.
type Conn interface {
	Ping(context.Context) error
	Close(context.Context) error
	CleanupDone() chan struct{} // closed once a connection that broke has let go of everything
	IsClosed() bool
	IsBusy() bool   // an answer was not read to its end
	TxStatus() byte // 'I' outside of a transaction
}

const (
	lifetime    = time.Hour        // after which a connection is replaced
	idleTime    = 30 * time.Minute // after which one that nobody uses is closed
	checkPeriod = time.Minute      // between two looks at those that are idle
	pingAfter   = time.Second      // of idleness, a connection is asked whether it is alive
	pingAlone   = time.Minute      // for a ping whose caller has gone
	closeWithin = 15 * time.Second // for taking leave of the server
)

// ErrClosed says that the pool was closed.
var ErrClosed = puddle.ErrClosedPool

// errAllBroken says that no connection lived long enough to be lent, new ones included.
var errAllBroken = errors.New("every connection broke before it was used")

// Pool is up to a number of connections, made when they are needed.
type Pool[C Conn] struct {
	conns   *puddle.Pool[C]
	size    int
	stop    context.CancelFunc
	checked sync.WaitGroup
}

// New makes a pool of at most size connections. connect makes one, ready for use; it has to bound itself, for its context ends with
// the pool and not with the caller who waits. Nothing is connected before the first Acquire.
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

// leave closes a connection and waits until it is gone, but not for long.
func leave[C Conn](c C) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = c.Close(ctx)
	select {
	case <-c.CleanupDone():
	case <-ctx.Done():
	}
}

// Lent is a connection until it is given back, with Release or Drop, exactly once.
type Lent[C Conn] struct {
	resource *puddle.Resource[C]
}

// Conn is the connection itself.
func (l Lent[C]) Conn() C { return l.resource.Value() }

// Release gives the connection back. One that cannot serve the next caller is closed, and its place is free once it is.
func (l Lent[C]) Release() {
	c := l.resource.Value()
	if c.IsClosed() || c.IsBusy() || c.TxStatus() != 'I' {
		l.resource.Destroy()
		return
	}
	l.resource.Release()
}

// Drop leaves the connection to its own end: its place is free at once, and the pool neither closes it nor waits for it.
func (l Lent[C]) Drop() { l.resource.Hijack() }

// Acquire borrows a connection, and makes one if none is free and there is room. It waits as long as ctx allows. ErrClosed after
// Close; any other error is that of connecting.
func (p *Pool[C]) Acquire(ctx context.Context) (Lent[C], error) {
	for range p.size + 1 { // all of them may have broken; then the last try is a new one
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
				return Lent[C]{}, err // ping has the connection now
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

// ping asks a connection whether it is alive. A caller who goes away while it is asked gets the error of ctx at once; the answer is
// waited for without them, since breaking off would break the connection, and then it goes back to the pool.
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

// check closes idle connections in time, until ctx ends.
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

// Reset closes all connections, those that are lent when they are given back. The pool stays open. It is for when one broke, since
// the others are as old.
func (p *Pool[C]) Reset() { p.conns.Reset() }

// Close refuses every further Acquire, and waits until all connections were given back and closed.
func (p *Pool[C]) Close() {
	p.stop()
	p.checked.Wait()
	p.conns.Close()
}
