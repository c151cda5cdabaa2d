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

// fillTable exists only inside scrub.
const fillTable = "fill"

// Erase empties payloads and then overwrites the file's free pages, which contain replaced and deleted data until
// their space is reused. It waits for running copies of WriteTo, which still read such pages. If ctx ends first, the
// payloads are empty but the pages are not overwritten; another call completes the work.
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

// roundLimit bounds the pages, and so the memory, of one round of scrub.
const roundLimit = 4096

// errReading: a transaction that began before the last change still reads the pages to be overwritten.
var errReading = errors.New("the file is being copied; erase again when the copy is complete")

// scrub overwrites every free page. The only way to write a free page is to allocate it, so scrub allocates pages
// until none are left, and frees them again. It runs in the writer.
func (q *Queue) scrub() error {
	if err := q.fault(); err != nil {
		return err
	}
	tx, err := q.db.Begin(true) // frees pages that no reader needs any longer
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
		// A round leaves one sixteenth for the pages that it needs itself, so that the file does not grow with every
		// call. The pages that it frees in turn, the root and the list of free pages, contain no old data.
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
