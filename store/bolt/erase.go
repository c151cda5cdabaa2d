package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/store"
)

// fillTable is a bucket that exists only while scrub runs.
const fillTable = "fill"

// Erase empties payloads and then overwrites the file's free pages, which contain replaced and deleted data until their
// space is reused. It waits for running reads that may still use such pages. If ctx ends first, the payloads are empty
// but the pages are not overwritten. Another call then completes the work.
func (q *Queue) Erase(ctx context.Context, ids ...string) error {
	now := time.Now()
	err := q.write(ctx, func(t *tables) error {
		for _, id := range ids {
			old, err := t.operation(id)
			if errors.Is(err, store.ErrNotFound) || old.erased {
				continue
			}
			if err != nil {
				return err
			}
			blank := stored{old.Operation, true}
			blank.Payload = nil
			if err := t.store(old, blank); err != nil {
				return err
			}
			if err := t.note(id, now, "erased", ""); err != nil {
				return err
			}
		}
		return nil
	})
	for err == nil {
		err = q.await(ctx, &request{alone: q.scrub, done: make(chan struct{})})
		if !errors.Is(err, errReading) {
			return err
		}
		select {
		case <-ctx.Done():
			err = fmt.Errorf("queue: the payloads were erased, but %w: %w", errReading, ctx.Err())
		case <-time.After(10 * time.Millisecond):
			err = nil
		}
	}
	return err
}

// roundLimit is the maximum number of pages in one round of scrub. It limits the memory of the round.
const roundLimit = 4096

// errReading means that a read that began before the last change may still use the pages to be overwritten.
var errReading = errors.New("another read of the file is still running; repeat the erasure when that read has ended")

// scrub overwrites every free page. bbolt can write a free page only after it has allocated the page. So scrub
// allocates pages until none are left, and frees them again. It runs in the writer's goroutine.
func (q *Queue) scrub() error {
	if err := q.fault(); err != nil {
		return err
	}
	tx, err := q.db.Begin(true) // this frees the pages that no read needs any longer
	if err != nil {
		return translate(err)
	}
	_ = tx.Rollback()
	if q.db.Stats().PendingPageN > 0 {
		return errReading
	}
	// Eight values fill a page: 16 bytes of page header, then 16 of element header, 4 of key and the value for each.
	value := make([]byte, q.db.Info().PageSize/8-16-4-4)
	last := uint32(0)
	for round := 1; ; round++ {
		// A round leaves one sixteenth of the free pages for its own transaction, so that the file does not grow with
		// every call. The pages that the transaction itself frees, the root and the list of free pages, contain no old
		// data.
		free := q.db.Stats().FreePageN
		pages := min(free-free/16, roundLimit) + round/16
		err := q.db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(fillTable))
			if err != nil {
				return err
			}
			b.FillPercent = 1
			for range pages * 8 {
				last++
				if err := b.Put(binary.BigEndian.AppendUint32(nil, last), value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return q.failed(err)
		}
		if q.db.Stats().FreePageN == 0 { // the round allocated the last one
			break
		}
	}
	if err := q.db.Update(func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(fillTable)) }); err != nil {
		return q.failed(err)
	}
	return nil
}
