package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/store"
	connpool "holdfast/store/pool"
	"holdfast/store/table"
)

// reads runs SELECTs for the Store and for a transaction. The Store borrows a connection from the pool for each call. A
// transaction reads on its own connection, so it sees its own changes. reads is a table.Source.
type reads struct {
	pool *pool
	tx   *tx
}

var _ table.Source = reads{}

var errTxOver = errors.New("postgres: the transaction was used after its function returned")

// ask runs all reads in one exchange.
func (r reads) ask(ctx context.Context, all ...*statement) error {
	if r.tx != nil {
		return r.tx.ask(all...)
	}
	defer store.SpentReading(ctx, time.Now())
	return r.pool.ask(ctx, all)
}

// Query implements table.Source.
func (r reads) Query(ctx context.Context, each func(table.Row), text string, args ...any) error {
	return r.ask(ctx, asks(func(r *row) { each(r) }, text, args...))
}

// Find implements table.Querier.
func (r reads) Find(ctx context.Context, each func(table.Row), text string, args ...any) error {
	return r.Query(ctx, each, text, args...)
}

// Snapshot implements table.Source.
func (r reads) Snapshot(ctx context.Context, all ...table.Question) error {
	questions := make([]*statement, len(all))
	for i, q := range all {
		questions[i] = asks(func(r *row) { q.Each(r) }, q.Text, q.Args...)
	}
	return r.snapshot(ctx, questions...)
}

// Moment implements table.Source. Each query has the time limit of one exchange.
func (r reads) Moment(ctx context.Context, fn func(table.Querier) error) error {
	if r.tx != nil {
		return fn(r) // no other transaction writes at the same time
	}
	defer store.SpentReading(ctx, time.Now())
	return r.pool.moment(ctx, fn)
}

// querier runs queries on one connection.
type querier struct {
	conn    *conn
	bounded func(context.Context) (context.Context, context.CancelFunc) // nil means without a time limit
}

// Query implements table.Querier.
func (q querier) Query(asked context.Context, each func(table.Row), text string, args ...any) error {
	ctx := asked
	if q.bounded != nil {
		bounded, cancel := q.bounded(asked)
		defer cancel()
		ctx = bounded
	}
	_, err := q.conn.exchange(ctx, asks(func(r *row) { each(r) }, text, args...))
	if err != nil && asked.Err() != nil {
		return asked.Err()
	}
	return translate(err)
}

// Find implements table.Querier.
func (q querier) Find(ctx context.Context, each func(table.Row), text string, args ...any) error {
	return q.Query(ctx, each, text, args...)
}

// snapshot works like ask, but all reads see the same snapshot of the database.
func (r reads) snapshot(ctx context.Context, all ...*statement) error {
	if r.tx != nil {
		return r.tx.ask(all...) // no other transaction writes at the same time
	}
	moment := append([]*statement{stmt(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)}, all...)
	return r.ask(ctx, append(moment, stmt(`COMMIT`))...)
}

// one returns the row that the query finds, or ErrNotFound.
func one[T any](ctx context.Context, r reads, scan func(*row) T, text string, args ...any) (found T, err error) {
	rows := 0
	err = r.ask(ctx, asks(func(r *row) { found, rows = scan(r), rows+1 }, text, args...))
	if err == nil && rows == 0 {
		err = store.ErrNotFound
	}
	return found, err
}

// list returns all rows that the query finds, or nil if there are none.
func list[T any](ctx context.Context, r reads, scan func(*row) T, text string, args ...any) (all []T, err error) {
	err = r.ask(ctx, asks(func(r *row) { all = append(all, scan(r)) }, text, args...))
	if err != nil {
		return nil, err
	}
	return all, nil
}

// pool holds the connections for reading, or those of the queue.
type pool struct {
	conns  *connpool.Pool[*pgconn.PgConn]
	server server
	closed chan struct{}
}

// ownData is the name under which a connection of the pool stores its conn.
const ownData = "holdfast"

// newPool returns a pool of size connections. prepare, if not nil, prepares each connection for its first use.
func newPool(at server, size int, prepare func(context.Context, *conn) error) (*pool, error) {
	conns, err := connpool.New(size, func(ctx context.Context) (*pgconn.PgConn, error) {
		pg, err := pgconn.ConnectConfig(ctx, at.config.Copy()) // its configuration limits how long this takes
		if err != nil || prepare == nil {
			return pg, err
		}
		ctx, cancel := at.bounded(ctx)
		defer cancel()
		if err := prepare(ctx, own(pg)); err != nil {
			own(pg).close()
			return nil, err
		}
		return pg, nil
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &pool{conns: conns, server: at, closed: make(chan struct{})}, nil
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

// ask sends all reads within the time of one exchange. A restart of the server breaks idle connections. If a connection
// breaks, ask repeats the reads on a new one, unless it has already passed rows on.
func (p *pool) ask(asked context.Context, all []*statement) error {
	if err := p.open(asked); err != nil {
		return err
	}
	ctx, cancel := p.server.bounded(asked)
	defer cancel()
	again, err := p.askOnce(ctx, all)
	if again && ctx.Err() == nil {
		p.conns.Reset()
		_, err = p.askOnce(ctx, all)
	}
	switch {
	case err == nil:
		return nil
	case asked.Err() != nil:
		return asked.Err()
	case p.open(asked) != nil:
		return store.ErrClosed
	}
	return translate(err)
}

// askOnce reads on one connection and reports whether the caller may repeat the reads on another.
func (p *pool) askOnce(ctx context.Context, all []*statement) (again bool, err error) {
	borrowed, err := p.conns.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer borrowed.Release() // Release closes a connection that is broken or still in a transaction
	c := own(borrowed.Conn())
	before := c.rows
	_, err = c.exchange(ctx, all...)
	return isCut(err) && c.rows == before, err
}

// moment runs fn in a transaction that reads one snapshot of the database. The transaction makes the planner use the
// indexes: while a table has no statistics, for example after a migration, the planner would read the whole table to
// find a few rows. If the connection broke while it was idle, moment retries on a new one.
func (p *pool) moment(ctx context.Context, fn func(table.Querier) error) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	for again := true; ; again = false {
		err := p.momentOnce(ctx, fn)
		if again && errors.Is(err, errNotBegun) && ctx.Err() == nil {
			p.conns.Reset()
			continue
		}
		if err != nil && p.open(ctx) != nil {
			return p.open(ctx)
		}
		return err
	}
}

// errNotBegun is part of the error of a moment whose connection broke before fn was called.
var errNotBegun = errors.New("the connection was lost")

func (p *pool) momentOnce(ctx context.Context, fn func(table.Querier) error) error {
	first, cancel := p.server.bounded(ctx)
	defer cancel()
	borrowed, err := p.conns.Acquire(first)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return translate(err)
	}
	defer borrowed.Release() // Release closes a connection that is broken or still in a transaction
	c := own(borrowed.Conn())
	_, err = c.exchange(first, stmt(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`),
		stmt(`SET LOCAL enable_seqscan = off`), stmt(`SET LOCAL enable_hashjoin = off`),
		stmt(`SET LOCAL enable_mergejoin = off`))
	if isCut(err) {
		return errors.Join(errNotBegun, translate(err))
	}
	if err != nil {
		return translate(err)
	}
	if err := fn(querier{c, p.server.bounded}); err != nil {
		return err
	}
	last, cancelLast := p.server.bounded(ctx)
	defer cancelLast()
	_, err = c.exchange(last, stmt(`COMMIT`))
	return translate(err)
}

// own returns the conn of a connection of the pool.
func own(pg *pgconn.PgConn) *conn {
	data := pg.CustomData()
	c, ok := data[ownData].(*conn)
	if !ok {
		c = &conn{pg: pg, prepared: map[string]*pgconn.StatementDescription{}}
		data[ownData] = c
	}
	return c
}

// close waits until every connection is back in the pool.
func (p *pool) close() {
	close(p.closed)
	p.conns.Close()
}

// write runs statements in one transaction. asked limits only the wait for a connection. If cut is true, the connection
// broke, and the outcome of the commit is unknown.
func (p *pool) write(asked context.Context, all []*statement) (cut bool, err error) {
	ctx, cancel := p.server.bounded(asked)
	defer cancel()
	borrowed, err := p.conns.Acquire(ctx)
	if err != nil {
		if asked.Err() != nil {
			return false, asked.Err()
		}
		return false, translate(err)
	}
	defer borrowed.Release()
	begun, cancelBegun := p.server.bounded(context.WithoutCancel(asked))
	defer cancelBegun()
	_, err = own(borrowed.Conn()).exchange(begun, all...)
	if isCut(err) {
		p.conns.Reset() // the other connections are probably broken too
	}
	return isCut(err), translate(err)
}
