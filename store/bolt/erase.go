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

// Erase empties payloads and then has the file's free pages overwritten, which hold what was replaced or deleted since
// somebody last needed the room. It waits for copies being made by WriteTo, which still read such pages; if ctx ends
// first the payloads are empty and the pages are not, and calling again does the rest.
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
			err = fmt.Errorf("queue: the payloads are empty, but %w: %w", errReading, ctx.Err())
		case <-time.After(10 * time.Millisecond):
			err = nil
		}
	}
	return err
}

// roundLimit bounds the pages, and so the memory, of one round of scrub.
const roundLimit = 4096

// errReading: a transaction that began before the last change still reads the pages to be overwritten.
var errReading = errors.New("a copy of the file is being made; erase again when it is done")

// scrub overwrites every free page. The only way to a free page is to be given it, so scrub asks for pages until there
// are none left, and hands them back. It runs in the writer.
func (q *Queue) scrub() error {
	if err := q.fault(); err != nil {
		return err
	}
	tx, err := q.db.Begin(true) // frees what no reader needs any more
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
		// A round leaves a sixteenth over for the pages it needs itself, so that the file does not grow with every call;
		// what it frees in turn, the root and the list of free pages, holds nothing old.
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
		if q.db.Stats().FreePageN == 0 { // the round was given the last one
			break
		}
	}
	if err := q.db.Update(func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(fillTable)) }); err != nil {
		return q.failed(err)
	}
	return nil
}
