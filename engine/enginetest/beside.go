package enginetest

import (
	"context"

	"holdfast/engine"
	"holdfast/store"
)

// between is a store that calls its function first just before its next Write begins.
type between struct {
	store.Store
	first func()
}

func (b *between) Write(ctx context.Context, fn func(store.Tx) error) error {
	if first := b.first; first != nil {
		b.first = nil
		first()
	}
	return b.Store.Write(ctx, fn)
}

// Beside opens a second server on the clinic's database. first runs just before that server's next write, so that its
// changes are committed first.
func (c *TestClinic) Beside(first func()) *engine.Engine {
	c.T.Helper()
	db := &between{Store: c.Store}
	e, err := engine.New(context.Background(), engine.Options{Store: db, Holds: c.Holds, QuickPasswords: true})
	if err != nil {
		c.T.Fatal(err)
	}
	db.first = first
	return e
}
