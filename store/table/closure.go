package table

import (
	"context"
	"errors"
	"time"

	"holdfast/store"
)

var closures = nounOf("closures", 1, cols(
	text("id", func(c *store.Closure) *string { return &c.ID }),
	text("specialist_id", func(c *store.Closure) *string { return &c.SpecialistID }),
	instant("start_at", func(c *store.Closure) *time.Time { return &c.Start }),
	instant("end_at", func(c *store.Closure) *time.Time { return &c.End }),
	instant("since_at", func(c *store.Closure) *time.Time { return &c.Since }),
))

// Closures implements store.ClosureReader.
func (r Reads) Closures(ctx context.Context) ([]store.Closure, error) {
	return closures.list(ctx, r.source, `ORDER BY since_at, id`)
}

// PutClosure implements store.ClosureWriter.
func (t *Tx) PutClosure(_ context.Context, c store.Closure) error {
	t.to.Changed(store.Change{Noun: store.NounClosure, ID: c.ID, Assigned: c.SpecialistID})
	return t.run(closures.put, closures.values(&c)...)
}

// DeleteClosure implements store.ClosureWriter.
func (t *Tx) DeleteClosure(ctx context.Context, id string) error {
	c, err := closures.one(ctx, t.source, `WHERE id = ?`, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	t.to.Changed(store.Change{Noun: store.NounClosure, ID: id, Assigned: c.SpecialistID})
	return t.run(`DELETE FROM closures WHERE id = ?`, id)
}
