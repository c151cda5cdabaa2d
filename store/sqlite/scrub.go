package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"holdfast/store"
)

// Blanking a row does not take its old content off the disk. The log still holds the page as it was, and even with
// secure_delete SQLite leaves pieces of rows in the gaps of pages it once rearranged. So erasing a person ends with
// writing zeros into the gaps of every page (wipe.go), a bounded number of pages in each transaction, and then with
// emptying the log. Everybody else reads and writes meanwhile; only the last step, which copies the few pages that the log
// still holds back into the file, keeps writers waiting, and it gives up rather than wait for a reader.
//
// A page that was wiped stays clean: SQLite moves whole rows between pages, never what lies between them, and a page that
// it sets free is filled with zeros.
//
// The row scrubDue commits with the erasure and goes when the scrub is through, so that a crash in between, a full disk or
// a reader who stays very long is made up for: at the next start, or a minute later.
const scrubDue = "scrub_due"

const (
	wipeStep   = 128 // pages in one transaction
	scrubRetry = time.Minute
	// A reader of an old moment, such as a backup, keeps the log from being emptied.
	emptyTries = 20
	emptyPause = 100 * time.Millisecond
)

func (t *tx) wantScrub() error {
	return t.run(`INSERT INTO meta (key, value) VALUES (?, '1') ON CONFLICT (key) DO NOTHING`, scrubDue)
}

func needsScrub(ctx context.Context, c *conn) (bool, error) {
	n, err := oneOn(ctx, c, (*row).Int, `SELECT count(*) FROM meta WHERE key = ?`, scrubDue)
	return n > 0, err
}

// scrubbing is whose turn it is to erase or to scrub, one at a time.
type scrubbing struct {
	turn   chan struct{} // holds one token while no erasure or scrub runs
	wake   chan struct{}
	cancel context.CancelFunc
	ctx    context.Context // ends when the store is closed
	all    sync.WaitGroup

	step func() // called after each bounded step; for tests
}

func newScrubbing() *scrubbing {
	s := &scrubbing{turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.turn <- struct{}{}
	s.all.Add(1)
	return s
}

func (s *scrubbing) take(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return store.ErrClosed
	}
	select {
	case <-s.turn:
		return nil
	case <-s.ctx.Done():
		return store.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("waiting for another erasure: %w", ctx.Err())
	}
}

func (s *scrubbing) give() { s.turn <- struct{}{} }

func (s *scrubbing) stepped() {
	if s.step != nil {
		s.step()
	}
}

// later schedules a retry. Committed changes stay committed.
func (s *scrubbing) later(err error, log *slog.Logger) {
	log.Error("erased data not yet scrubbed from the database files; retrying", "error", err)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close ends the retries and waits for one that runs.
func (s *scrubbing) close() {
	s.cancel()
	s.all.Wait()
}

// keepScrubbing makes up for scrubs that did not get to their end: at once if one was left by an earlier process, and a
// minute after one that failed here.
func (s *Store) keepScrubbing(due bool) {
	defer s.scrubbing.all.Done()
	for {
		if !due {
			select {
			case <-s.scrubbing.ctx.Done():
				return
			case <-s.scrubbing.wake:
			}
			pause := time.NewTimer(scrubRetry)
			select {
			case <-s.scrubbing.ctx.Done():
				pause.Stop()
				return
			case <-pause.C:
			}
		}
		due = false
		<-s.scrubbing.turn
		err := s.scrub(context.Background()) // to its end, also when the store is about to be closed
		s.scrubbing.give()
		if err != nil {
			s.scrubbing.later(err, s.writer.log)
		}
	}
}

// scrub takes what was blanked off the disk.
func (s *Store) scrub(ctx context.Context) error {
	var pages, vacuum int
	err := s.reads.use(ctx, func(ctx context.Context, c *conn) (err error) {
		if pages, err = oneOn(ctx, c, (*row).Int, `SELECT page_count FROM pragma_page_count`); err != nil {
			return err
		}
		vacuum, err = oneOn(ctx, c, (*row).Int, `SELECT auto_vacuum FROM pragma_auto_vacuum`)
		return err
	})
	if err != nil {
		return err
	}
	if vacuum != 0 {
		return errors.New("the file was made with auto_vacuum, whose pages cannot be told apart")
	}
	for first := 1; first <= pages; first += wipeStep {
		err := s.Write(ctx, func(x store.Tx) error { return x.(*tx).wipe(ctx, first, min(pages, first+wipeStep-1)) })
		if err != nil {
			return err
		}
		s.scrubbing.stepped()
	}
	if err := s.emptyLog(ctx); err != nil {
		return err
	}
	return s.Write(ctx, func(x store.Tx) error { return x.(*tx).run(`DELETE FROM meta WHERE key = ?`, scrubDue) })
}

// emptyLog copies all of the log back into the file and cuts it to nothing. Most of it is copied beside the commits, so
// that little is left for the moment in which writers wait.
func (s *Store) emptyLog(ctx context.Context) error {
	c, err := openConn(s.dsn)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.script("PRAGMA busy_timeout = 20"); err != nil { // writers wait as long as this does
		return err
	}
	for try := 1; ; try++ {
		err := s.checkpoint.alone(func() error { _, err := passive(c); return err })
		if err != nil {
			return err
		}
		busy := false
		err = s.writer.do(ctx, &request{
			fn: func(store.Tx) error { return nil }, answered: make(chan struct{}),
			then: func() error {
				c.fault = nil
				return s.checkpoint.alone(func() error {
					return c.query(context.Background(), func(r *row) { busy = r.Bool() }, "PRAGMA wal_checkpoint(TRUNCATE)")
				})
			},
		})
		switch {
		case err != nil:
			return err
		case !busy:
			return nil
		case try == emptyTries:
			return fmt.Errorf("%w: a reader holds an old snapshot of the database", store.ErrUnavailable)
		}
		pause := time.NewTimer(emptyPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}
