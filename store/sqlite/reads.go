package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/store"
	"holdfast/store/table"
)

// reads runs SELECTs for the Store and for a transaction. The Store borrows a connection from the pool for each call. A
// transaction reads on its own connection, so it sees its own changes. reads is a table.Source.
type reads struct {
	pool *pool
	tx   *tx
}

var _ table.Source = reads{}

var errTxOver = errors.New("sqlite: the transaction was used after its function returned")

// use runs fn with a connection that only fn uses until it returns. Inside a transaction, the context carries values
// only, because the interruption of one statement would also undo the other requests of the batch.
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

// snapshot works like use, but all reads of fn see the same snapshot of the database.
func (r reads) snapshot(ctx context.Context, fn func(context.Context, *conn) error) error {
	if r.tx != nil {
		return r.use(ctx, fn)
	}
	return r.use(ctx, func(ctx context.Context, c *conn) error {
		if _, err := c.exec("BEGIN"); err != nil {
			return err
		}
		if err := fn(ctx, c); err != nil {
			c.fault = err // the connection is still inside this transaction, so no other read may use it
			return err
		}
		_, err := c.exec("ROLLBACK")
		return err
	})
}

// Query implements table.Source.
func (r reads) Query(ctx context.Context, each func(table.Row), text string, args ...any) error {
	return r.use(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, func(r *row) { each(r) }, text, args...)
	})
}

// Find implements table.Querier. The driver starts a goroutine for each statement that a context can interrupt, and the
// goroutine costs as much as the search for a row. So Find does not interrupt its statement.
func (r reads) Find(ctx context.Context, each func(table.Row), text string, args ...any) error {
	return r.use(ctx, func(_ context.Context, c *conn) error {
		return c.query(context.Background(), func(r *row) { each(r) }, text, args...)
	})
}

// Snapshot implements table.Source.
func (r reads) Snapshot(ctx context.Context, all ...table.Question) error {
	return r.snapshot(ctx, func(ctx context.Context, c *conn) error {
		for _, q := range all {
			if err := c.query(ctx, func(r *row) { q.Each(r) }, q.Text, q.Args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Moment implements table.Source.
func (r reads) Moment(ctx context.Context, fn func(table.Querier) error) error {
	return r.snapshot(ctx, func(ctx context.Context, c *conn) error { return fn(querier{ctx, c}) })
}

// querier runs queries on one connection. Inside a transaction, ctx carries values only.
type querier struct {
	ctx  context.Context
	conn *conn
}

// Query implements table.Querier.
func (q querier) Query(_ context.Context, each func(table.Row), text string, args ...any) error {
	return q.conn.query(q.ctx, func(r *row) { each(r) }, text, args...)
}

// Find implements table.Querier.
func (q querier) Find(_ context.Context, each func(table.Row), text string, args ...any) error {
	return q.conn.query(context.Background(), func(r *row) { each(r) }, text, args...)
}

// one returns the row that the query finds, or ErrNotFound.
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

// pool holds the connections for reading. It opens a connection when one is first needed, up to a fixed maximum.
type pool struct {
	dsn    string
	idle   chan *conn
	room   chan struct{} // a token for each connection that is open or reserved; its capacity is the maximum
	closed chan struct{}
}

func newPool(dsn string, n int) *pool {
	return &pool{dsn: dsn, idle: make(chan *conn, n), room: make(chan struct{}, n), closed: make(chan struct{})}
}

// open returns an error if the pool is closed or ctx has ended.
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
		// The state of the connection is unknown, and a new one costs a millisecond.
		c.close()
		<-p.room
		return
	}
	p.idle <- c
}

// close waits until every connection has been returned.
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
