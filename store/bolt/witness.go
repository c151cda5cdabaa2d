package bolt

import (
	"context"

	"go.etcd.io/bbolt"
)

// Witness is what the queue's file knows of the database beside it: which one it is, and the last change that was seen
// committed there. A database that has another name, or ends before that change, is not the one that was served.
type Witness struct {
	DatabaseID string `json:"database"`
	Change     int64  `json:"change"`
}

const witnessKey = "witness" // in the bucket meta; sealed as the records are

// Witness returns what was kept last; the zero value if nothing was.
func (q *Queue) Witness(ctx context.Context) (w Witness, err error) {
	err = q.read(ctx, func(t *tables) error {
		w, err = readWitness(t.bucket(metaTable, ""))
		return err
	})
	return w, err
}

// SetWitness keeps w; it is durable when the call returns.
func (q *Queue) SetWitness(ctx context.Context, w Witness) error {
	sealed, err := seal(w)
	if err != nil {
		return err
	}
	return q.write(ctx, func(t *tables) error {
		t.changed = true
		return t.bucket(metaTable, "").Put([]byte(witnessKey), sealed)
	})
}

func readWitness(meta *bbolt.Bucket) (w Witness, err error) {
	if meta == nil {
		return w, nil
	}
	if sealed := meta.Get([]byte(witnessKey)); sealed != nil {
		err = unseal(sealed, &w)
	}
	return w, err
}
