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

// Blanking a row does not remove its old content from the disk. The log still contains the old page. Even with
// secure_delete, SQLite leaves pieces of rows in the gaps of pages that it once rearranged. So an erasure ends with a
// scrub. The scrub writes zeros into the gaps of every page (wipe.go), a bounded number of pages in each transaction,
// and then empties the log. Other callers can read and write during the scrub. Only the last step makes writers wait:
// it copies the few remaining pages of the log into the file. This step stops if it would have to wait for a reader.
//
// A wiped page stays clean. SQLite moves whole rows between pages, never the bytes between rows, and fills a page that
// it frees with zeros.
//
// The row scrubDue is committed with the erasure, and the scrub deletes it at its end. So the server repeats a scrub
// that was interrupted by a crash, a full disk or a long reader: at the next start, or one minute later.
const scrubDue = "scrub_due"

const (
	wipeStep   = 128 // pages in one transaction
	scrubRetry = time.Minute
	// A reader of an old snapshot, such as a backup, prevents emptying the log.
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

// scrubbing ensures that only one erasure or scrub runs at a time.
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

// close stops the retries and waits for a running scrub.
func (s *scrubbing) close() {
	s.cancel()
	s.all.Wait()
}

// keepScrubbing repeats incomplete scrubs: immediately if an earlier process left a scrub incomplete, and one minute
// after a scrub of this process has failed.
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
		err := s.scrub(context.Background()) // not cancelled, even if the store is about to be closed
		s.scrubbing.give()
		if err != nil {
			s.scrubbing.later(err, s.writer.log)
		}
	}
}

// scrub removes the blanked content from the disk.
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
		return errors.New("the file was created with auto_vacuum, so its pages cannot be distinguished")
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

// emptyLog copies the whole log into the file and truncates it. It copies most of it while commits continue, so that
// writers wait only for the small rest.
func (s *Store) emptyLog(ctx context.Context) error {
	c, err := openConn(s.dsn)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.script("PRAGMA busy_timeout = 20"); err != nil { // writers wait for it, so keep it short
		return err
	}
	for try := 1; ; try++ {
		err := s.checkpoint.alone(func() error { _, err := passive(c); return err })
		if err != nil {
			return err
		}
		busy := false
		err = s.writer.do(ctx, &request{
			WriteCall: store.NewWriteCall(func(store.Tx) error { return nil }),
			then: func() error {
				c.fault = nil
				return s.checkpoint.alone(func() error {
					return c.query(context.Background(), func(r *row) { busy = r.Bool() },
						"PRAGMA wal_checkpoint(TRUNCATE)")
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
