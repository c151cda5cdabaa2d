package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"go.etcd.io/bbolt"
)

// If more than half of a file is free, shrink writes a new file without the free pages next to it. When the new file is
// complete and durable, shrink renames it to the old name. If the program crashes before the rename, the old file is
// unchanged and the next Open removes the new one. If it crashes after the rename, the next Open finds the new file.
// The new file is locked from its first byte on, so no other process can open it in between.

// Files up to compactAtStart or compactRunning bytes are not compacted. bbolt grows a file by 16 MB at a time.
const (
	compactAtStart = 4 << 20
	compactRunning = 32 << 20
	compactStep    = 1 << 20 // bytes in one transaction
)

func options(timeout time.Duration) *bbolt.Options {
	return &bbolt.Options{Timeout: timeout, FreelistType: bbolt.FreelistMapType}
}

// shrink compacts the file if it is larger than largerThan and less than half of it is used. Only the writer calls it,
// or Open before there is a writer. If there is no space for the smaller copy, shrink only logs this, and a later call
// tries again.
func (q *Queue) shrink(largerThan int64) error {
	if err := q.fault(); err != nil {
		return err
	}
	if err := os.Remove(q.beside()); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a crash
		return fmt.Errorf("queue: %w", err)
	}
	size, used, err := q.extent()
	// Windows cannot rename an open file.
	if err != nil || size <= largerThan || used > size/2 || runtime.GOOS == "windows" {
		return err
	}
	small, err := q.compact()
	if err != nil {
		err = errors.Join(err, os.Remove(q.beside()))
		q.log.Warn("queue: failed to compact the file; retrying later", "bytes", size, "used", used, "error", err)
		return nil
	}
	q.swap.Lock()
	old := q.db
	q.db = small
	q.swap.Unlock()
	if err := old.Close(); err != nil {
		q.log.Warn("queue: failed to close the old file", "error", err)
	}
	if err := syncDirectory(q.path); err != nil {
		// It is unknown which of the two files would exist after a power cut, and later writes go to only one of them.
		return q.failed(err)
	}
	return nil
}

func (q *Queue) beside() string { return q.path + ".compact" }

// extent returns the size of the file and how many bytes of it are in use.
func (q *Queue) extent() (size, used int64, err error) {
	info, err := os.Stat(q.path)
	if err != nil {
		return 0, 0, fmt.Errorf("queue: %w", err)
	}
	err = q.db.View(func(tx *bbolt.Tx) error { used = tx.Size(); return nil })
	stats := q.db.Stats()
	used -= int64(stats.FreePageN+stats.PendingPageN) * int64(q.db.Info().PageSize)
	return info.Size(), used, translate(err)
}

// compact writes a compacted copy of the file and renames it to the name of the old one.
func (q *Queue) compact() (_ *bbolt.DB, err error) {
	small, err := bbolt.Open(q.beside(), 0o600, options(time.Second))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, small.Close())
		}
	}()
	small.NoSync = true // one sync at the end
	if err := bbolt.Compact(small, q.db, compactStep); err != nil {
		return nil, err
	}
	if err := small.Sync(); err != nil {
		return nil, err
	}
	small.NoSync = q.db.NoSync
	return small, os.Rename(q.beside(), q.path)
}
