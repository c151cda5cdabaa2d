package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/store"
)

// reads answers the whole of store.Reader, once for both of its users: the Store, which borrows a connection of the
// pool for each question, and a transaction, which asks on its own and so sees its own changes.
type reads struct {
	pool *pool
	tx   *tx
}

var errTxOver = errors.New("sqlite: the transaction was used after its function returned")

// use runs fn with a connection that is fn's alone until it returns. Inside a transaction the context carries values
// only, because interrupting one statement there would undo the neighbours' as well.
func (r reads) use(ctx context.Context, fn func(context.Context, *conn) error) error {
	if r.tx != nil {
		if r.tx.over {
			return errTxOver
		}
		return fn(context.WithoutCancel(ctx), r.tx.conn)
	}
	defer store.SpentReading(ctx, time.Now())
	c, err := r.pool.take(ctx)
	if err != nil {
		return err
	}
	defer r.pool.give(c)
	return fn(ctx, c)
}

// snapshot is use with all of fn's questions answered from one moment.
func (r reads) snapshot(ctx context.Context, fn func(context.Context, *conn) error) error {
	if r.tx != nil {
		return r.use(ctx, fn)
	}
	return r.use(ctx, func(ctx context.Context, c *conn) error {
		if _, err := c.exec("BEGIN"); err != nil {
			return err
		}
		if err := fn(ctx, c); err != nil {
			c.fault = err // not to be used again inside this transaction
			return err
		}
		_, err := c.exec("ROLLBACK")
		return err
	})
}

// one returns the row the query finds, or ErrNotFound.
func one[T any](ctx context.Context, r reads, scan func(*row) T, query string, args ...any) (found T, err error) {
	err = r.use(ctx, func(ctx context.Context, c *conn) error {
		found, err = oneOn(ctx, c, scan, query, args...)
		return err
	})
	return found, err
}

func oneOn[T any](ctx context.Context, c *conn, scan func(*row) T, query string, args ...any) (found T, err error) {
	rows := 0
	err = c.query(ctx, func(r *row) { found, rows = scan(r), rows+1 }, query, args...)
	if err == nil && rows == 0 {
		err = store.ErrNotFound
	}
	return found, err
}

// list returns all the rows the query finds, nil if there are none.
func list[T any](ctx context.Context, r reads, scan func(*row) T, query string, args ...any) (all []T, err error) {
	err = r.use(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, func(r *row) { all = append(all, scan(r)) }, query, args...)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// limit reads a filter's Limit: 1..500, and 0 means 100. In a statement it is written `LIMIT +?`: SQLite looks into a bare `LIMIT ?` for its
// plan, and compiles the statement anew at every execution.
func limit(n int) int {
	if n <= 0 {
		return 100
	}
	return min(n, 500)
}

// pool is the connections that read. Each is opened when it is first needed, and there are never more than agreed.
type pool struct {
	dsn    string
	idle   chan *conn
	room   chan struct{} // a token for each connection that is open or was given up: full, and none may be opened
	closed chan struct{}
}

func newPool(dsn string, n int) *pool {
	return &pool{dsn: dsn, idle: make(chan *conn, n), room: make(chan struct{}, n), closed: make(chan struct{})}
}

// open says whether a question may be asked now.
func (p *pool) open(ctx context.Context) error {
	select {
	case <-p.closed:
		return store.ErrClosed
	default:
		return ctx.Err()
	}
}

func (p *pool) take(ctx context.Context) (*conn, error) {
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	select {
	case c := <-p.idle:
		return c, nil
	default:
	}
	select {
	case c := <-p.idle:
		return c, nil
	case p.room <- struct{}{}:
		c, err := openConn(p.dsn)
		if err != nil {
			<-p.room
			return nil, err
		}
		return c, nil
	case <-p.closed:
		return nil, store.ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a reading connection: %w", ctx.Err())
	}
}

func (p *pool) give(c *conn) {
	if c.fault != nil {
		// Whatever state it is in, a new one costs a millisecond.
		c.close()
		<-p.room
		return
	}
	p.idle <- c
}

// close waits until every connection was given back.
func (p *pool) close() (err error) {
	close(p.closed)
	for range cap(p.room) {
		select {
		case c := <-p.idle:
			err = errors.Join(err, c.close())
		case p.room <- struct{}{}:
		}
	}
	return err
}
