package sqlite

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// checkpoint copies the log back into the database. It has its own connection and goroutine, so that no caller's commit
// waits for it. Two concurrent checkpoints fail immediately, so other code runs its checkpoints through the method
// alone.
type checkpoint struct {
	dsn   string
	conn  *conn // opened by the first checkpoint
	log   *slog.Logger
	wake  chan struct{}
	asked chan func()
	done  chan struct{}

	every   int // pages between two checkpoints
	written int // estimated pages since the last one; only the writer uses it

	pages atomic.Int64 // the length of the log at the end of the last checkpoint
}

func newCheckpoint(dsn string, every int, log *slog.Logger) *checkpoint {
	return &checkpoint{dsn: dsn, log: log, every: every,
		wake: make(chan struct{}, 1), asked: make(chan func()), done: make(chan struct{})}
}

// committed adds the estimated pages of a commit. The writer calls it after each commit, with the number of statements.
// A single appointment writes about six pages. In a large batch, the appointments share most of these pages.
func (k *checkpoint) committed(statements int) {
	if k.written += 5 + statements; k.written < k.every {
		return
	}
	k.written = 0
	select {
	case k.wake <- struct{}{}:
	default: // a checkpoint is already due
	}
}

func (k *checkpoint) run() {
	defer close(k.done)
	for {
		select {
		case fn := <-k.asked:
			fn()
		case _, more := <-k.wake:
			if !more {
				return
			}
			pages, err := k.once()
			if err != nil {
				k.log.Warn("failed to checkpoint the write-ahead log; retrying", "error", err)
			}
			k.pages.Store(int64(pages))
		}
	}
}

// tooLong reports whether the writer should finish the checkpoint. It returns true at most once for each checkpoint.
// During an unbroken stream of commits, a concurrent checkpoint never finishes, so the log would grow without limit. A
// growing log is also slow: a commit that overwrites an old part of the file takes half the time of a commit that makes
// the file longer.
func (k *checkpoint) tooLong(isWriterWaiting bool) bool {
	limit := int64(2 * k.every)
	if isWriterWaiting {
		limit = int64(8 * k.every)
	}
	pages := k.pages.Load()
	return pages > limit && k.pages.CompareAndSwap(pages, 0)
}

// alone runs fn while no checkpoint runs, and waits for fn.
func (k *checkpoint) alone(fn func() error) (err error) {
	done := make(chan struct{})
	k.asked <- func() {
		defer close(done)
		err = fn()
	}
	<-done
	return err
}

func (k *checkpoint) once() (pages int, err error) {
	if k.conn == nil {
		if k.conn, err = openConn(k.dsn); err != nil {
			return 0, err
		}
	}
	return passive(k.conn)
}

// close ends the goroutine. Call it after the writer has ended.
func (k *checkpoint) close() error {
	close(k.wake)
	<-k.done
	if k.conn == nil {
		return nil
	}
	return k.conn.close()
}

// passive copies back the pages of the log that no reader needs any longer. It does not wait for any reader. It returns
// the length of the log in pages.
func passive(c *conn) (pages int, err error) {
	c.fault = nil
	return oneOn(context.Background(), c, func(r *row) int {
		r.next() // whether a reader or writer prevented it from finishing
		return r.Int()
	}, "PRAGMA wal_checkpoint(PASSIVE)")
}
