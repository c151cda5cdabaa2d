package bolt

import (
	"context"

	"go.etcd.io/bbolt"
)

// Marker identifies the database that the queue's file belongs to, and the last change seen in it. A database with
// another id, or one that ends before that change, is not the database that was served.
type Marker struct {
	DatabaseID string `json:"database"`
	Change     int64  `json:"change"`
}

const markerKey = "witness" // in the bucket meta, sealed like the records; the name is part of the file format

// Marker returns the stored marker. It is the zero value in a new file.
func (q *Queue) Marker(ctx context.Context) (m Marker, err error) {
	err = q.read(ctx, func(t *tables) error {
		m, err = readMarker(t.bucket(metaTable, ""))
		return err
	})
	return m, err
}

// SetMarker stores m. It is durable when the call returns.
func (q *Queue) SetMarker(ctx context.Context, m Marker) error {
	sealed, err := seal(m)
	if err != nil {
		return err
	}
	return q.write(ctx, func(t *tables) error {
		t.changed = true
		return t.bucket(metaTable, "").Put([]byte(markerKey), sealed)
	})
}

func readMarker(meta *bbolt.Bucket) (m Marker, err error) {
	if meta == nil {
		return m, nil
	}
	if sealed := meta.Get([]byte(markerKey)); sealed != nil {
		err = unseal(sealed, &m)
	}
	return m, err
}
