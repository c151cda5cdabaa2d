package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.etcd.io/bbolt"

	"holdfast/store"
)

// WriteTo writes an intact copy of the current queue to path, with mode 0600, while the queue is in use. The copy
// gets path's name only when it is complete and durable. store.ErrDuplicate: path exists.
func (q *Queue) WriteTo(path string) error {
	// This reserves the name first, so that of two copies to one path only one is made.
	name, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("queue: %s: %w", path, store.ErrDuplicate)
	}
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	part := path + ".part"
	err = errors.Join(name.Close(), q.copyTo(part))
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		_, _ = os.Remove(part), os.Remove(path)
		if full(err) {
			return fmt.Errorf("queue: %s: %w: %w", path, store.ErrFull, err)
		}
		return translate(err)
	}
	return syncDirectory(path)
}

func (q *Queue) copyTo(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	q.copying.Lock()
	defer q.copying.Unlock()
	q.swap.RLock()
	defer q.swap.RUnlock()
	err = q.db.View(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(f)
		return err
	})
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
