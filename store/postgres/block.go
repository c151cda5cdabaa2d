package postgres

import (
	"context"

	"holdfast/store"
)

const blockColumns = `blocks.id, specialist_id, start_at, end_at, reason, set_id, source`

const recentBlocks = `SELECT ` + blockColumns + ` FROM blocks JOIN specialists ON specialists.id = specialist_id
	WHERE end_at > $1 AND NOT archived ORDER BY specialist_id, start_at, blocks.id`

func scanBlock(r *row) store.Block {
	return store.Block{ID: r.text(), SpecialistID: r.text(), Start: r.time(), End: r.time(), Reason: r.text(), SetID: r.text(), Source: store.BlockSource(r.text())}
}

func (t *tx) PutBlock(ctx context.Context, b store.Block) error {
	if err := t.specialist(ctx, b.SpecialistID); err != nil {
		return err
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: b.SpecialistID})
	return t.run(`
		INSERT INTO blocks (id, specialist_id, start_at, end_at, reason, set_id, source) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (id) DO UPDATE SET specialist_id = excluded.specialist_id, start_at = excluded.start_at,
			end_at = excluded.end_at, reason = excluded.reason, set_id = excluded.set_id, source = excluded.source`,
		b.ID, b.SpecialistID, b.Start, b.End, b.Reason, b.SetID, string(b.Source))
}

func (t *tx) DeleteBlock(ctx context.Context, id string) (store.Block, error) {
	b, err := one(ctx, t.reads, scanBlock, `SELECT `+blockColumns+` FROM blocks WHERE id = $1`, id)
	if err != nil {
		return store.Block{}, err
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: b.SpecialistID})
	return b, t.run(`DELETE FROM blocks WHERE id = $1`, id)
}

func (t *tx) DeleteBlocks(ctx context.Context, setID string) ([]store.Block, error) {
	all, err := list(ctx, t.reads, scanBlock, `SELECT `+blockColumns+` FROM blocks WHERE set_id = $1 AND set_id <> '' ORDER BY start_at, blocks.id`, setID)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, store.ErrNotFound
	}
	for _, b := range all {
		t.changed(store.Change{Noun: store.NounSpecialist, ID: b.SpecialistID})
	}
	return all, t.run(`DELETE FROM blocks WHERE set_id = $1 AND set_id <> ''`, setID)
}
