package postgres

import (
	"cmp"
	"context"
	"fmt"

	"holdfast/store"
)

// batch is the open transaction of one group commit, on the writer's connection. Statements whose answer is not needed at once
// (BEGIN, SAVEPOINT, an audit entry) go out together with the next one whose answer is, so that a booking costs few round trips.
//
// Each request runs in the savepoint "request". PostgreSQL lets a transaction do nothing more after an error until it was
// rolled back to a savepoint; the contract lets a request go on after a refused row. So a refusal is undone to the request's
// savepoint and what the request had done before is done again: no other transaction writes at the same time, so it has the same outcome, and
// a savepoint around every statement is not needed.
type batch struct {
	conn   *conn
	server server

	// fault is the first error that was not a refusal. Once it is set nothing more runs: the batch is to be rolled back.
	fault  error
	broken bool // the connection was cut: neither did the server answer, nor was it silent

	waiting []*statement // to go out with the next exchange
	saved   bool         // the request's savepoint went out
	done    []*statement // what the request changed so far
	begun   int          // how many of waiting are from before the request
	spoilt  error        // why the request cannot succeed any more

	sent   bool           // something went out at all
	xid    string         // the transaction's number, to ask for its outcome
	missed []store.Change // what other nodes committed before it
	behind bool           // some of that is gone
}

// orderLock is the advisory lock of the one order of all nodes.
const orderLock = 4716222640829337646

const (
	savepoint  = `SAVEPOINT request`
	rollbackTo = `ROLLBACK TO SAVEPOINT request`
	release    = `RELEASE SAVEPOINT request`
)

// newBatch begins a transaction: nothing goes out before it has something to do. last is the number of the last change that
// this node has.
func newBatch(c *conn, at server, last int64) *batch {
	b := &batch{conn: c, server: at}
	b.waiting = []*statement{
		stmt(`BEGIN ISOLATION LEVEL READ COMMITTED`),
		stmt(`SELECT pg_advisory_xact_lock($1)`, int64(orderLock)),
		// It has a number from here on: the answer of its COMMIT may be lost.
		asks(func(r *row) { b.xid = r.Text() }, `SELECT pg_current_xact_id()::text`),
		asks(func(r *row) { b.missed = append(b.missed, scanChange(r)) }, changesAfter, last),
		asks(func(*row) { b.behind = true }, prunedAfter, last),
	}
	return b
}

// begin opens the savepoint of a request.
func (b *batch) begin() {
	b.begun, b.saved, b.done, b.spoilt = len(b.waiting), false, nil, nil
	b.waiting = append(b.waiting, stmt(savepoint))
}

// ask runs questions. They see what the request changed.
func (b *batch) ask(all ...*statement) error { return b.run(all) }

// change runs one statement that changes rows.
func (b *batch) change(s *statement) error {
	err := b.run([]*statement{s})
	if err == nil {
		b.done = append(b.done, s)
	}
	return err
}

// later has s go out with the next exchange.
func (b *batch) later(s *statement) error {
	if b.fault != nil {
		return b.fault
	}
	if b.spoilt == nil {
		b.waiting = append(b.waiting, s)
	}
	return b.spoilt
}

// run sends what waits and then all. What is refused leaves the request as it was before.
func (b *batch) run(all []*statement) error {
	switch {
	case b.fault != nil:
		return b.fault
	case b.spoilt != nil:
		return b.spoilt
	}
	waited, before := b.waiting, b.begun
	b.waiting, b.begun, b.saved = nil, 0, true
	failed, err := b.exchange(append(waited, all...))
	if err != nil && (!refusal(err) || failed < before) {
		return b.failed(err)
	}
	if err != nil && failed < len(waited) { // one that went out late
		b.done, b.spoilt = nil, translate(err)
		return cmp.Or(b.undo(), b.spoilt)
	}
	for _, s := range waited[before:] {
		if s.text != savepoint {
			b.done = append(b.done, s)
		}
	}
	if err != nil {
		return cmp.Or(b.undo(), translate(err))
	}
	return nil
}

// undo takes the request back to its savepoint and does again what had been done.
func (b *batch) undo() error {
	counts := make([]int64, len(b.done))
	for i, s := range b.done {
		counts[i] = s.changed
	}
	if _, err := b.exchange(append([]*statement{stmt(rollbackTo)}, b.done...)); err != nil {
		return b.failed(err)
	}
	for i, s := range b.done {
		if s.changed != counts[i] {
			return b.failed(fmt.Errorf("%w: another program changed the rows of this transaction while it ran", store.ErrUnavailable))
		}
	}
	return nil
}

// end closes the savepoint of a request that had this outcome, and returns the outcome it has.
func (b *batch) end(outcome error) error {
	unsent := len(b.waiting) - b.begun
	if !b.saved {
		unsent-- // the savepoint itself
	}
	if outcome == nil && unsent > 0 {
		outcome = b.run(nil)
	}
	if outcome == nil {
		outcome = b.spoilt
	}
	switch {
	case b.fault != nil:
	case !b.saved:
		b.waiting = b.waiting[:b.begun] // nothing of it went out
	case outcome != nil:
		b.waiting = []*statement{stmt(rollbackTo), stmt(release)}
	default:
		b.waiting = append(b.waiting, stmt(release))
	}
	return outcome
}

func (b *batch) exchange(all []*statement) (failed int, err error) {
	ctx, cancel := b.server.bounded(context.Background())
	defer cancel()
	b.sent = true
	return b.conn.exchange(ctx, all...)
}

// failed ends the batch.
func (b *batch) failed(err error) error {
	b.fault, b.broken = translate(err), isCut(err)
	return b.fault
}
