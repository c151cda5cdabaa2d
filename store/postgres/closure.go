package postgres

import (
	"context"
	"errors"

	"holdfast/store"
)

func scanClosure(r *row) store.Closure {
	return store.Closure{ID: r.text(), SpecialistID: r.text(), Start: r.time(), End: r.time(), Since: r.time()}
}

const closureColumns = `id, specialist_id, start_at, end_at, since_at`

func (r reads) Closures(ctx context.Context) ([]store.Closure, error) {
	return list(ctx, r, scanClosure, `SELECT `+closureColumns+` FROM closures ORDER BY since_at, id`)
}

func (t *tx) PutClosure(_ context.Context, c store.Closure) error {
	t.changed(store.Change{Noun: store.NounClosure, ID: c.ID, Assigned: c.SpecialistID})
	return t.run(`
		INSERT INTO closures (`+closureColumns+`) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET specialist_id = excluded.specialist_id, start_at = excluded.start_at, end_at = excluded.end_at,
			since_at = excluded.since_at`, c.ID, c.SpecialistID, c.Start, c.End, c.Since)
}

func (t *tx) DeleteClosure(ctx context.Context, id string) error {
	c, err := one(ctx, t.reads, scanClosure, `SELECT `+closureColumns+` FROM closures WHERE id = $1`, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	t.changed(store.Change{Noun: store.NounClosure, ID: id, Assigned: c.SpecialistID})
	return t.run(`DELETE FROM closures WHERE id = $1`, id)
}
