package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/store"
)

// maxBatch is the maximum number of requests in a batch. It limits how long the first request waits for the commit.
// With more than a few hundred requests, a shared fsync saves no noticeable time.
const maxBatch = 256

// writer changes the database with group commit. One goroutine takes all queued requests, runs them in one transaction,
// and returns their outcomes after the one fsync. It never waits for further requests, so a single caller does not wait
// for others. If no request is being written, the caller takes the turn and runs its request in its own goroutine.
//
// Two rules isolate the requests in a batch from each other. If a constraint refuses a statement of a request, or its
// function returns an error, the writer undoes that request. Usually the request has not written anything yet. If it
// has, the writer rolls the batch back and runs it again with a savepoint for each request. It does not always use
// savepoints, because a savepoint copies every page that the request changes, and refusals are rare. Any other error
// may have undone more than one statement, so it ends the batch: nothing more runs, everything is rolled back, and
// every request in the batch returns the error.
type writer struct {
	conn    *conn
	log     *slog.Logger
	onFatal func(error)

	checkpoint *checkpoint
	feed       *feed

	mu     sync.RWMutex // guards closed, so that no request is sent on the closed queue
	closed bool
	queue  chan *request
	turn   chan struct{} // holds one token while no request writes
	done   chan struct{} // closed when the goroutine has ended

	dead    atomic.Pointer[error] // why the store no longer writes
	commits store.Durations       // durations of COMMIT, which writes and syncs the log

	// The fields below, and conn, belong to the goroutine that holds the turn.
	batch   []*request     // the requests whose outcomes wait for the commit
	changes []store.Change // the changes of the batch, in order
	chain   chainEnd       // the head of the audit chain, including the batch
	current *request       // the request whose function runs now
	careful bool           // each request of this batch has a savepoint
	again   []*request     // the requests of the batch that repeat has not run yet
}

// request is one call of Write.
type request struct {
	*store.WriteCall
	isTrial bool         // it will be undone, so it gets a savepoint in the first run
	then    func() error // runs after the commit, before the next write; the request returns its error
}

// write runs fn immediately if no other request writes. Otherwise it queues fn and waits for its outcome.
func (w *writer) write(ctx context.Context, fn func(store.Tx) error) error {
	return w.do(ctx, &request{WriteCall: store.NewWriteCall(fn), isTrial: store.Trial(ctx) != nil})
}

// do works like write, but for an existing request.
func (w *writer) do(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	atOnce, err := w.admit(r)
	if err != nil {
		return err
	}
	if atOnce {
		w.runAlone(r)
	}
	return r.Wait(ctx)
}

// admit takes the turn for r or adds r to the queue.
func (w *writer) admit(r *request) (atOnce bool, err error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return false, store.ErrClosed
	}
	if dead := w.dead.Load(); dead != nil {
		return false, *dead
	}
	select {
	case <-w.turn:
		return true, nil
	default:
	}
	select {
	case w.queue <- r:
		return false, nil
	default:
		return false, store.ErrOverloaded
	}
}

// runAlone runs r in its caller's goroutine, which holds the turn. It runs no other request: the function of r could
// end the goroutine.
func (w *writer) runAlone(r *request) {
	defer func() {
		if w.current != nil {
			w.abort(store.ErrWriteEnded)
		}
		w.turn <- struct{}{}
	}()
	w.commit(r, func() *request { return nil })
	w.shorten()
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

// run takes requests from the queue, batch by batch, until the queue is closed. It holds the turn when it starts.
func (w *writer) run() {
	defer func() {
		if w.current == nil {
			close(w.done)
			return
		}
		// A function called runtime.Goexit. That cannot be prevented, so a new goroutine continues.
		w.current.Exited()
		w.abort(store.ErrWriteEnded)
		go w.run()
	}()
	ours := true
	for {
		// While batches have several requests, the goroutine keeps the turn. If a caller took the turn, the others
		// would wait for its commit, which they could have shared.
		if ours && len(w.batch) <= 1 {
			w.turn <- struct{}{}
			ours = false
		}
		r, more := <-w.queue
		if !ours {
			<-w.turn
			ours = true
		}
		if !more {
			return
		}
		w.commit(r, w.waiting)
		w.shorten()
	}
}

// commit runs one batch: the request first, and then the requests that next returns, until next returns nil.
func (w *writer) commit(first *request, next func() *request) {
	clear(w.batch)
	w.batch, w.changes, w.careful = w.batch[:0], nil, false
	for r := first; r != nil; r = next() {
		if !r.Start() {
			continue
		}
		if dead := w.dead.Load(); dead != nil {
			r.answer(*dead)
			continue
		}
		w.batch = append(w.batch, r)
		err := w.runOne(r)
		if err == errRepeat {
			err = w.repeat()
		}
		if err != nil {
			w.abort(err)
			return
		}
	}
	if len(w.batch) == 0 {
		return
	}
	err := w.countChanges()
	if err == nil {
		err = w.chain.write(w.conn)
	}
	if err != nil {
		w.abort(err)
		return
	}
	began := time.Now()
	_, err = w.conn.exec("COMMIT")
	w.commits.Observe(time.Since(began))
	if err != nil {
		if fatal(err) {
			err = fmt.Errorf("committing (the outcome is unknown until the next start): %w", err)
		}
		w.abort(err)
		return
	}
	executed := w.conn.executed
	w.conn.executed = 0
	if len(w.changes) > 0 {
		w.feed.handOver(w.changes)
	}
	for _, r := range w.batch {
		if r.then != nil && r.Err == nil {
			r.Err = r.then()
		}
		r.Answer()
	}
	w.checkpoint.committed(executed)
}

// countChanges numbers the changes of the batch and stores the last number in the same transaction.
func (w *writer) countChanges() error {
	if len(w.changes) == 0 {
		return nil
	}
	w.feed.number(w.changes)
	_, err := w.conn.exec(`INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		lastChange, strconv.FormatInt(w.changes[len(w.changes)-1].Number, 10))
	return err
}

// waiting returns the next request in the queue, or nil if it is time to commit.
func (w *writer) waiting() *request {
	if len(w.batch) >= maxBatch {
		return nil
	}
	select {
	case r := <-w.queue: // nil once the queue is closed and empty
		return r
	default:
		return nil
	}
}

// errRepeat means that a refused request must be undone but has no savepoint.
var errRepeat = errors.New("the batch must run again")

// runOne runs r in the open transaction and stores its outcome in r.Err. It returns errRepeat, or an error that ends
// the batch.
//
// The first request of a batch opens the transaction and never needs a savepoint: until the second request starts, a
// rollback undoes only the first. So a single request runs in a plain transaction.
func (w *writer) runOne(r *request) error {
	first := len(w.batch) == 1
	saved := !first && (w.careful || r.isTrial)
	switch {
	case first:
		if _, err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
			return err
		}
	case saved:
		if _, err := w.conn.exec("SAVEPOINT request"); err != nil {
			return err
		}
	}
	w.current = r
	known, chain := len(w.changes), w.chain
	wrote, err := w.call(r)
	r.Err = err
	w.current = nil
	if r.Err != nil {
		w.changes, w.chain = w.changes[:known], chain
	}
	switch {
	case w.conn.fault != nil:
		return w.conn.fault
	case r.Err != nil && first:
		if _, err := w.conn.exec("ROLLBACK"); err != nil {
			return err
		}
		w.batch = w.batch[:0]
		r.Answer()
		return nil
	case !saved && (r.Err == nil || !wrote):
		return nil
	case !saved:
		return errRepeat
	case r.Err != nil:
		if _, err := w.conn.exec("ROLLBACK TO request"); err != nil {
			return err
		}
	}
	_, err = w.conn.exec("RELEASE request")
	return err
}

// repeat rolls the batch back and runs its requests again, each with a savepoint except the first.
func (w *writer) repeat() error {
	if _, err := w.conn.exec("ROLLBACK"); err != nil {
		return err
	}
	w.again = slices.Clone(w.batch)
	w.batch, w.changes, w.chain, w.careful = w.batch[:0], nil, chainEnd{}, true
	for len(w.again) > 0 {
		r := w.again[0]
		w.again = w.again[1:]
		w.batch = append(w.batch, r)
		if err := w.runOne(r); err != nil {
			return err
		}
	}
	return nil
}

// shorten finishes a checkpoint between two commits if the log has become too long, so that the next commit overwrites
// the log from its beginning. This takes little time, because a checkpoint has just run.
func (w *writer) shorten() {
	if !w.checkpoint.tooLong(len(w.queue) > 0) {
		return
	}
	err := w.checkpoint.alone(func() error { _, err := passive(w.conn); return err })
	if err != nil {
		w.log.Warn("failed to truncate the write-ahead log; retrying", "error", err)
		w.conn.fault = nil
	}
}

// finish empties the log and closes the file, after the goroutine has ended and the pool is closed. If it cannot copy
// the log back, for example because the disk is full, the log remains for the next start.
func (w *writer) finish() error {
	w.conn.fault = nil
	if w.dead.Load() == nil {
		if err := w.conn.query(context.Background(), func(*row) {}, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			w.log.Warn("write-ahead log left for the next start", "error", err)
		}
	}
	return w.conn.close()
}

// call runs the function of r. It also reports whether a statement of the function may have changed the database.
func (w *writer) call(r *request) (wrote bool, err error) {
	t := newTx(w.conn, &w.chain)
	defer func() {
		t.over = true
		w.changes = append(w.changes, t.changes...)
	}()
	err = r.Run(t, w.log)
	return t.wrote, err
}

// rollback ends the transaction. SQLite may already have rolled back by itself, for example because the disk is full;
// then there is nothing to roll back.
func (c *conn) rollback() error {
	_, err := c.exec("ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil
	}
	return err
}

// abort ends the batch: it undoes everything and returns cause from every request in it.
func (w *writer) abort(cause error) {
	w.conn.fault = nil
	w.conn.executed = 0
	w.current = nil
	if err := w.conn.rollback(); err != nil {
		w.die(fmt.Errorf("%w: a failed batch could not be rolled back: %w", store.ErrUnavailable, err))
	}
	w.conn.fault = nil
	if fatal(cause) {
		w.die(cause)
	}
	for _, r := range slices.Concat(w.batch, w.again) {
		r.answer(cause)
	}
	w.batch, w.again, w.changes, w.chain = w.batch[:0], nil, nil, chainEnd{}
}

// die stops all writes. Reads continue. The process should end so that the next start recovers the log.
func (w *writer) die(cause error) {
	if !w.dead.CompareAndSwap(nil, &cause) {
		return
	}
	w.log.Error("database not writable; restart needed", "error", cause)
	if w.onFatal != nil {
		w.onFatal(cause)
	}
}

func (r *request) answer(err error) {
	r.Err = err
	r.Answer()
}
