package bolt

import (
	"bytes"
	"time"

	"go.etcd.io/bbolt"
)

// Verify reads a closed file in this process; the tests trust it not to crash.
func Verify(path string) error {
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: time.Second, PreLoadFreelist: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return verify(db)
}

// ForgetKinds changes the file to that of an older program, which did not count by kind.
func ForgetKinds(q *Queue) error {
	return q.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(countTable))
		return b.ForEach(func(k, _ []byte) error {
			if !bytes.Contains(k, []byte("/")) {
				return nil
			}
			return b.Delete(k)
		})
	})
}

// WithoutSync disables syncs, so that a test does not wait for the disk. Use it in tests that simulate no power cut.
func WithoutSync(q *Queue) *Queue {
	q.db.NoSync, q.db.NoGrowSync = true, true
	return q
}
