package bolt

import (
	"context"

	"go.etcd.io/bbolt"
)

// Marker identifies the database that the queue's file belongs to, and the last change seen in that database. If a
// database has a different id, or ends before that change, it is not the one that the server last used.
type Marker struct {
	DatabaseID string `json:"database"`
	Change     int64  `json:"change"`
}

const markerKey = "witness" // key in the bucket meta, part of the file format; the value is sealed like a record

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
