package table

import (
	"context"
	"errors"

	"holdfast/store"
)

var closures = nounOf[store.Closure]("closures", "id")

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
