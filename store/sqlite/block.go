package sqlite

import (
	"context"

	"holdfast/store"
)

const blockColumns = `blocks.id, specialist_id, start_at, end_at, reason, set_id, source`

const recentBlocks = `SELECT ` + blockColumns + ` FROM blocks JOIN specialists ON specialists.id = specialist_id
	WHERE end_at > ? AND archived = 0 ORDER BY specialist_id, start_at, blocks.id`

func scanBlock(r *row) store.Block {
	return store.Block{ID: r.text(), SpecialistID: r.text(), Start: r.time(), End: r.time(), Reason: r.text(), SetID: r.text(), Source: store.BlockSource(r.text())}
}

func (t *tx) PutBlock(ctx context.Context, b store.Block) error {
	if err := t.specialist(ctx, b.SpecialistID); err != nil {
		return err
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: b.SpecialistID})
	return t.putBlock(b)
}

// putBlock is PutBlock where it is known that the specialist is there, and said that they are changed.
func (t *tx) putBlock(b store.Block) error {
	return t.run(`
		INSERT INTO blocks (id, specialist_id, start_at, end_at, reason, set_id, source) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET specialist_id = excluded.specialist_id, start_at = excluded.start_at,
			end_at = excluded.end_at, reason = excluded.reason, set_id = excluded.set_id, source = excluded.source`,
		b.ID, b.SpecialistID, b.Start, b.End, b.Reason, b.SetID, string(b.Source))
}

func (t *tx) DeleteBlock(ctx context.Context, id string) (store.Block, error) {
	b, err := one(ctx, t.reads, scanBlock, `SELECT `+blockColumns+` FROM blocks WHERE id = ?`, id)
	if err != nil {
		return store.Block{}, err
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: b.SpecialistID})
	return b, t.run(`DELETE FROM blocks WHERE id = ?`, id)
}

func (t *tx) DeleteBlocks(ctx context.Context, setID string) ([]store.Block, error) {
	all, err := list(ctx, t.reads, scanBlock, `SELECT `+blockColumns+` FROM blocks WHERE set_id = ? AND set_id <> '' ORDER BY start_at, blocks.id`, setID)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, store.ErrNotFound
	}
	for _, b := range all {
		t.changed(store.Change{Noun: store.NounSpecialist, ID: b.SpecialistID})
	}
	return all, t.run(`DELETE FROM blocks WHERE set_id = ? AND set_id <> ''`, setID)
}
