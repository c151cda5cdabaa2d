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

// A file in which more is free than used is written anew beside itself, without the free pages, and takes its own name
// when it is whole and durable. A crash before that leaves the old file as it was and the new one to be removed by the
// next Open; a crash after it finds the new one. The lock of the new file is held from its first byte on, so no other
// process can come in between.

// Files up to these sizes are left alone. bbolt grows one by 16 MB at a time.
const (
	compactAtStart = 4 << 20
	compactRunning = 32 << 20
	compactStep    = 1 << 20 // bytes in one transaction
)

func options(timeout time.Duration) *bbolt.Options {
	return &bbolt.Options{Timeout: timeout, FreelistType: bbolt.FreelistMapType}
}

// shrink compacts the file if it is larger than a size and less than half of it is used. It is the writer's, or of Open
// before there is one. A file that is being copied is left alone, and so is one that has no room beside it: the next call
// tries again.
func (q *Queue) shrink(largerThan int64) error {
	if err := q.fault(); err != nil {
		return err
	}
	if err := os.Remove(q.beside()); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a crash
		return fmt.Errorf("queue: %w", err)
	}
	size, used, err := q.extent()
	if err != nil || size <= largerThan || used > size/2 || runtime.GOOS == "windows" { // where an open file keeps its name
		return err
	}
	if !q.copying.TryLock() {
		return nil
	}
	defer q.copying.Unlock()
	small, err := q.compact()
	if err != nil {
		err = errors.Join(err, os.Remove(q.beside()))
		q.log.Warn("queue: file not compacted; retrying later", "bytes", size, "used", used, "error", err)
		return nil
	}
	q.swap.Lock()
	old := q.db
	q.db = small
	q.swap.Unlock()
	if err := old.Close(); err != nil {
		q.log.Warn("queue: old file not closed", "error", err)
	}
	if err := syncDirectory(q.path); err != nil {
		// Which of the two files a power cut would leave is not known, and what is written from now on goes to one.
		return q.failed(err)
	}
	return nil
}

func (q *Queue) beside() string { return q.path + ".compact" }

// extent is how many bytes the file has, and how many of them are in use.
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

// compact writes the file anew and gives it the name of the old one.
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
	small.NoSync = true // once, at the end
	if err := bbolt.Compact(small, q.db, compactStep); err != nil {
		return nil, err
	}
	if err := small.Sync(); err != nil {
		return nil, err
	}
	small.NoSync = q.db.NoSync
	return small, os.Rename(q.beside(), q.path)
}
