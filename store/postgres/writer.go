package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/store"
)

// maxBatch is the maximum number of requests in a batch. It limits how long the first request of the batch, and every
// other node, waits for the commit.
const maxBatch = 256

// writer changes the database with group commit. One goroutine takes all queued requests, runs each in its own
// savepoint of one transaction (batch.go), and returns their outcomes after the one commit. It never waits for further
// requests.
//
// Two rules isolate the requests in a batch from each other. If a constraint refuses a statement of the request, or its
// function returns an error, the writer rolls back to the request's savepoint. Any other error ends the batch: nothing
// more runs, everything is rolled back, and every request in it returns the error. The writer then opens a new
// connection.
type writer struct {
	server server
	log    *slog.Logger
	feed   *feed
	alone  bool // no other node may run

	mu     sync.RWMutex // guards closed, so that no request is sent on the closed queue
	closed bool
	queue  chan *store.WriteCall
	done   chan struct{} // closed when the goroutine has ended

	commits store.Durations // durations of the exchange that ends with COMMIT

	// The fields below belong to the goroutine.
	conn     *conn
	timeline string // timeline of conn
	batch    *batch
	members  []*store.WriteCall // the requests whose outcomes wait for the commit
	changes  []store.Change
	current  *store.WriteCall // the request whose function runs now
}

// write queues fn and waits for its outcome.
func (w *writer) write(ctx context.Context, fn func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := store.NewWriteCall(fn)
	if err := w.admit(r); err != nil {
		return err
	}
	return r.Wait(ctx)
}

func (w *writer) admit(r *store.WriteCall) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return store.ErrClosed
	}
	select {
	case w.queue <- r:
		return nil
	default:
		return store.ErrOverloaded
	}
}

// close waits until the writer has finished the accepted requests.
func (w *writer) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.done
}

// run takes requests from the queue, batch by batch, until the queue is closed.
func (w *writer) run() {
	defer func() {
		if w.current != nil {
			// A function called runtime.Goexit. That cannot be prevented, so a new goroutine continues.
			w.current.Exited()
			w.abort(store.ErrWriteEnded)
			go w.run()
			return
		}
		if w.conn != nil {
			w.conn.close()
		}
		close(w.done)
	}()
	for r := range w.queue {
		w.commit(r)
	}
}

// next returns the next request in the queue, or nil if it is time to commit.
func (w *writer) next() *store.WriteCall {
	if len(w.members) >= maxBatch {
		return nil
	}
	select {
	case r := <-w.queue: // nil once the queue is closed and empty
		return r
	default:
		return nil
	}
}

// maxRepeats is the maximum number of times that a batch runs again because its connection was lost.
const maxRepeats = 3

// commit runs one batch: the request first, and then the waiting requests. If the connection is lost before the commit,
// the batch runs again: the server has restarted, or it ended the transaction because this process paused (maxPause).
// After a timeout, it does not run again, because its callers have waited long enough.
func (w *writer) commit(first *store.WriteCall) {
	w.members = nil
	err := w.attempt(first)
	for n := 0; n < maxRepeats && errors.Is(err, errNotCommitted) && isCut(err); n++ {
		w.log.Warn("batch of writes runs again", "writes", len(w.members), "error", err)
		w.drop()
		err = w.attempt(nil)
	}
	if err != nil {
		w.abort(err)
		return
	}
	w.answer()
}

// attempt runs the members of the batch again, then first and the waiting requests, and commits. If first is nil, it
// takes no further requests.
func (w *writer) attempt(first *store.WriteCall) error {
	w.batch, w.changes = nil, nil
	err := w.connect()
	if err == nil {
		w.batch = newBatch(w.conn, w.server, w.feed.lastChange())
		for _, r := range w.members {
			if err := w.runOne(r); err != nil {
				return err
			}
		}
	}
	for r := first; r != nil; r = w.next() {
		if !r.Start() {
			continue
		}
		w.members = append(w.members, r)
		if err != nil {
			continue // every waiting request gets the error too
		}
		if err := w.runOne(r); err != nil {
			return err
		}
	}
	if err != nil || len(w.members) == 0 || !w.batch.sent {
		return err
	}
	return w.finish()
}

// connect opens the connection if there is none.
func (w *writer) connect() error {
	if w.conn != nil {
		return nil
	}
	c, err := w.server.connect(context.Background())
	if err != nil {
		return fmt.Errorf("%w: no connection to PostgreSQL, %s: %w", store.ErrUnavailable, nothingWasWritten, err)
	}
	ctx, cancel := w.server.bounded(context.Background())
	defer cancel()
	err = w.feed.confirm(ctx, c)
	if err == nil && !w.alone {
		err = tellVersion(ctx, c)
	}
	if err != nil {
		c.close()
		return fmt.Errorf("%w (%s)", translate(err), nothingWasWritten)
	}
	w.conn, w.timeline = c, timelineOf(ctx, c)
	return nil
}

func (w *writer) drop() {
	if w.conn != nil {
		w.conn.close()
		w.conn = nil
	}
}

// runOne runs r in the batch and stores its outcome in r.Err. It returns the error that ends the batch.
func (w *writer) runOne(r *store.WriteCall) error {
	w.batch.begin()
	w.current = r
	known := len(w.changes)
	err := w.call(r)
	w.current = nil
	if r.Err = w.batch.end(err); r.Err != nil {
		w.changes = w.changes[:known]
	}
	return w.batch.fault
}

func (w *writer) call(r *store.WriteCall) error {
	t := newTx(w.batch)
	defer func() {
		t.over = true
		w.changes = append(w.changes, t.changes...)
	}()
	return r.Run(t, w.log)
}

// awaitStandby changes a row without an effect, if the server has a standby that commits wait for. PostgreSQL lets only
// a commit that has changed something wait. So without this statement, a request that finds its work already done would
// be acknowledged although that earlier work is only on the primary, and a failover could lose it.
const awaitStandby = `UPDATE meta SET value = value
	WHERE key = 'database_id' AND current_setting('synchronous_standby_names') <> ''`

// finish commits the batch with its changes and passes them to the followers.
func (w *writer) finish() error {
	last := w.batch.waiting
	if !w.batch.wrote && slices.ContainsFunc(w.members, func(r *store.WriteCall) bool { return r.Err == nil }) {
		last = append(last, stmt(awaitStandby))
	}
	var numbers []int64
	if len(w.changes) > 0 {
		text, err := encodeChanges(w.changes)
		if err != nil {
			return err
		}
		last = append(last,
			asks(func(r *row) { numbers = append(numbers, r.Int64()) }, appendChanges, text),
			stmt(ringBell), stmt(pruneChanges))
	}
	began := time.Now()
	_, err := w.batch.exchange(append(last, stmt(`COMMIT`)))
	w.commits.Observe(time.Since(began))
	if err != nil {
		if isServers(err) {
			return fmt.Errorf("%w (%s)", translate(err), nothingWasWritten)
		}
		w.drop()
		if err := w.server.resolve(w.batch.xid, w.timeline, w.log, err); err != nil {
			return err
		}
		if err := w.feed.catchUp(); err != nil { // the numbers of the changes were lost with the response
			return fmt.Errorf("%w: %s to this node: it was committed but cannot be read back yet: %w",
				store.ErrUnavailable, unknownOutcome, err)
		}
		return nil
	}
	for i, n := range numbers {
		w.changes[i].Number = n
	}
	if w.batch.behind {
		w.feed.lost(errLost)
	}
	w.feed.take(append(w.batch.missed, w.changes...))
	return nil
}

// answer returns the outcome of every request in the batch to its caller.
func (w *writer) answer() {
	for _, r := range w.members {
		r.Answer()
	}
	w.members = nil
}

// abort ends the batch: it undoes everything and returns cause from every request in it.
func (w *writer) abort(cause error) {
	w.current = nil
	if w.batch != nil && w.batch.sent {
		// The state of the connection is unknown. A new one costs milliseconds, and the server rolls back what the old
		// one had begun.
		w.drop()
	}
	w.log.Warn("batch of writes failed", "writes", len(w.members), "error", cause)
	for _, r := range w.members {
		r.Err = cause
	}
	w.answer()
	w.batch, w.changes = nil, nil
}
