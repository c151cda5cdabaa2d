package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"holdfast/store"
)

// batchLimit is the maximum number of writes in one transaction, so that the first of them does not wait for too many
// others.
const batchLimit = 1024

// request is one write that waits for its turn. apply may run more than once, and only its last transaction takes
// effect. So each run must overwrite the results of the previous one.
type request struct {
	apply func(*tables) error
	alone func() error // instead of apply: the writer runs it outside any transaction
	begun atomic.Bool  // the writer sets it to run the request, or the caller sets it to stop waiting
	err   error        // the outcome; read it after done is closed
	done  chan struct{}
}

// write runs apply in a transaction and returns once the transaction is durable.
func (q *Queue) write(ctx context.Context, apply func(*tables) error) error {
	return q.await(ctx, &request{apply: apply, done: make(chan struct{})})
}

func (q *Queue) await(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := q.submit(r); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.begun.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-r.done
	}
	return r.err
}

func (q *Queue) submit(r *request) error {
	q.gate.RLock()
	defer q.gate.RUnlock()
	if q.closed {
		return store.ErrClosed
	}
	select {
	case q.requests <- r:
		return nil
	default:
		return fmt.Errorf("queue: %w", store.ErrOverloaded)
	}
}

// batch holds the requests of one transaction.
type batch struct {
	list  []*request
	alone []*request // these run after the transaction
}

func (b *batch) add(r *request) {
	switch {
	case !r.begun.CompareAndSwap(false, true): // its caller has stopped waiting
	case r.alone != nil:
		b.alone = append(b.alone, r)
	default:
		b.list = append(b.list, r)
	}
}

// gather adds all requests that are waiting now.
func (b *batch) gather(waiting <-chan *request) {
	for len(b.list) < batchLimit {
		select {
		case r, open := <-waiting:
			if !open {
				return
			}
			b.add(r)
		default:
			return
		}
	}
}

// run is the writer's goroutine. It takes all waiting requests, commits them with one fsync and returns their outcomes.
// It ends when the channel of requests is closed and empty.
func (q *Queue) run() {
	defer close(q.stopped)
	for first := range q.requests {
		b := new(batch)
		b.add(first)
		q.commit(b)
		for _, r := range b.alone {
			r.err = r.alone()
			close(r.done)
		}
	}
}

// commit runs a batch and returns the outcome of each of its requests to its caller. If a request fails after it wrote
// something, commit returns the error to that caller and runs the other requests again.
func (q *Queue) commit(b *batch) {
	for len(b.list) > 0 {
		failed, err := q.attempt(b)
		if failed < 0 {
			for _, r := range b.list {
				if err != nil {
					r.err = err
				}
				close(r.done)
			}
			return
		}
		b.list[failed].err = translate(err)
		close(b.list[failed].done)
		b.list = slices.Delete(b.list, failed, failed+1)
	}
}

// attempt runs the requests of b in one transaction, and adds the requests that are waiting by then. If a request fails
// after it wrote something, attempt rolls back and returns the index and the error of the request. Otherwise it returns
// -1 and the outcome of the commit, and each request has its own outcome in err.
func (q *Queue) attempt(b *batch) (failed int, err error) {
	if err := q.fault(); err != nil {
		return -1, err
	}
	tx, err := q.db.Begin(true)
	if err != nil {
		return -1, translate(err)
	}
	t := view(tx)
	changed := false
	for i := 0; ; i++ {
		if i == len(b.list) {
			// The callers of the last batch are about to send their next requests. Letting them run first delays no
			// request. Otherwise there would be a small commit before every large one.
			runtime.Gosched()
			if b.gather(q.requests); i == len(b.list) {
				break
			}
		}
		r := b.list[i]
		t.changed = false
		if r.err = r.apply(t); r.err == nil {
			changed = changed || t.changed
			continue
		}
		if t.changed {
			_ = tx.Rollback()
			return i, r.err
		}
		r.err = translate(r.err)
	}
	if !changed { // there is nothing to make durable
		_ = tx.Rollback()
		return -1, nil
	}
	if err := t.flush(); err != nil {
		_ = tx.Rollback()
		return -1, translate(err)
	}
	if err := tx.Commit(); err != nil {
		return -1, q.failed(err)
	}
	return -1, nil
}

// failed translates the error of a commit. After a full disk, the queue continues: bbolt writes new pages next to the
// old ones and the meta page last, so nothing has changed. After any other error, the content of the disk is unknown.
// The queue then accepts no further write until a restart has read the file again.
func (q *Queue) failed(err error) error {
	if full(err) {
		q.log.Error("queue: disk full; write refused", "error", err)
		return fmt.Errorf("queue: %w: %w", store.ErrFull, err)
	}
	fault := fmt.Errorf(
		"queue: %w: the outcome of the last write is unknown, so writes are refused; restart to read the file "+
			"again: %w",
		store.ErrUnavailable, err,
	)
	q.broken.Store(&fault)
	q.log.Error("queue: write failed; restart needed", "error", err)
	return fault
}

// fault returns the failure after which the queue accepts no write, or nil.
func (q *Queue) fault() error {
	if err := q.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// full reports whether err means that the disk is full. If bbolt fails to grow the file, its error contains the cause
// only as text.
func full(err error) bool {
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		resize := strings.HasPrefix(err.Error(), "file resize error:") && strings.HasSuffix(err.Error(), no.Error())
		if resize || errors.Is(err, no) {
			return true
		}
	}
	return false
}

// translate converts an error of bbolt or the file system to one of package store.
func translate(err error) error {
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrInvalid):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return store.ErrClosed
	default:
		return fmt.Errorf("queue: %w: %w", store.ErrUnavailable, err)
	}
}
