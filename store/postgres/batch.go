package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"holdfast/store"
)

// batch is the open transaction of one group commit, on the writer's connection. A statement whose result is not needed
// immediately (BEGIN, SAVEPOINT, an audit entry) waits and is sent together with the next statement whose result is
// needed. So a booking needs few round trips.
//
// Each request runs in the savepoint "request". After an error, PostgreSQL refuses every statement of the transaction
// until a rollback to a savepoint. The contract of store.Tx lets a request continue after a refused row. So after a
// refusal, the batch rolls back to the request's savepoint and repeats the earlier statements of the request. No other
// transaction writes at the same time, so the statements have the same outcome. Therefore not every statement needs its
// own savepoint.
type batch struct {
	conn   *conn
	server server

	// fault is the first error that was not a refusal. After a fault, no statement runs: the batch must be rolled back.
	fault error

	waiting []*statement // to be sent with the next exchange
	saved   bool         // the request's savepoint was sent
	done    []*statement // the changes that the request has made
	begun   int          // number of statements in waiting before those of the request
	spoilt  error        // why the request can no longer succeed

	sent   bool           // something was sent
	wrote  bool           // a successful request changed rows
	xid    string         // the transaction's number, used to look up its outcome
	missed []store.Change // the changes that other nodes committed before this transaction
	behind bool           // some of those changes have been deleted
}

// orderLock is the advisory lock that puts the writes of all nodes in one order.
const orderLock = 4716222640829337646

const (
	savepoint  = `SAVEPOINT request`
	rollbackTo = `ROLLBACK TO SAVEPOINT request`
	release    = `RELEASE SAVEPOINT request`
)

// newBatch prepares a transaction. It sends nothing: the first statement does. last is the number of the last change
// that this node has received.
func newBatch(c *conn, at server, last int64) *batch {
	b := &batch{conn: c, server: at}
	b.waiting = []*statement{
		stmt(`BEGIN ISOLATION LEVEL READ COMMITTED`),
		stmt(`SELECT pg_advisory_xact_lock($1)`, int64(orderLock)),
		// This assigns a number to the transaction. The batch needs it if the response to COMMIT is lost.
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

// ask runs reads. They see the request's changes.
func (b *batch) ask(all ...*statement) error { return b.run(all) }

// change runs one statement that changes rows.
func (b *batch) change(s *statement) error {
	err := b.run([]*statement{s})
	if err == nil {
		b.done = append(b.done, s)
	}
	return err
}

// later queues s for the next exchange.
func (b *batch) later(s *statement) error {
	if b.fault != nil {
		return b.fault
	}
	if b.spoilt == nil {
		b.waiting = append(b.waiting, s)
	}
	return b.spoilt
}

// run sends the waiting statements and then all. If the server refuses one of all, the request is in the same state as
// before.
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
	if err != nil && failed < len(waited) { // the refused statement was queued earlier
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

// undo rolls back to the request's savepoint and repeats the request's earlier statements.
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
			return b.failed(fmt.Errorf("%w: another program changed the rows of this transaction while it ran",
				store.ErrUnavailable))
		}
	}
	return nil
}

// end closes the savepoint of a request. It takes the outcome of the request's function and returns the outcome of the
// request.
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
	if outcome == nil && slices.ContainsFunc(b.done, func(s *statement) bool { return s.changed > 0 }) {
		b.wrote = true
	}
	switch {
	case b.fault != nil:
	case !b.saved:
		b.waiting = b.waiting[:b.begun] // nothing from the request was sent
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

// failed ends the batch with err as its fault.
func (b *batch) failed(err error) error {
	b.fault = translate(err)
	if isCut(err) {
		b.fault = fmt.Errorf("%w: %w", b.fault, errNotCommitted)
	}
	return b.fault
}
