package sqlite

import (
	"context"
	"errors"
	"fmt"

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
		err := fn(ctx, c)
		c.fault = nil
		if _, endErr := c.exec("ROLLBACK"); err == nil {
			err = endErr
		}
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

// limit reads a filter's Limit: 1..500, and 0 means 100.
func limit(n int) int {
	if n <= 0 {
		return 100
	}
	return min(n, 500)
}

// pool is the connections that read. There is a fixed number of them, so reading never takes more memory than agreed.
type pool struct {
	idle   chan *conn
	closed chan struct{}
}

func openPool(dsn string, n int) (*pool, error) {
	p := &pool{idle: make(chan *conn, n), closed: make(chan struct{})}
	for range n {
		c, err := openConn(dsn)
		if err != nil {
			return nil, errors.Join(err, p.drain(len(p.idle)))
		}
		p.idle <- c
	}
	return p, nil
}

func (p *pool) take(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-p.closed:
		return nil, store.ErrClosed
	default:
	}
	select {
	case c := <-p.idle:
		return c, nil
	case <-p.closed:
		return nil, store.ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a reading connection: %w", ctx.Err())
	}
}

func (p *pool) give(c *conn) {
	c.fault = nil
	p.idle <- c
}

// close waits until every connection was given back.
func (p *pool) close() error {
	close(p.closed)
	return p.drain(cap(p.idle))
}

func (p *pool) drain(n int) (err error) {
	for range n {
		err = errors.Join(err, (<-p.idle).close())
	}
	return err
}
