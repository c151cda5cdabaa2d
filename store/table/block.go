package table

import (
	"context"

	"holdfast/store"
)

var blocks = nounOf[store.Block]("blocks", "id")

// recentBlocks and archivedBlocks are the blocks of current and of archived specialists that did not end long ago.
var recentBlocks, archivedBlocks = blocksWhere(`archived = {false}`), blocksWhere(`archived = {true}`)

func blocksWhere(condition string) string {
	return `SELECT ` + blocks.qualified + ` FROM blocks JOIN specialists ON specialists.id = specialist_id
	WHERE end_at > ? AND ` + condition + ` ORDER BY specialist_id, start_at, blocks.id`
}

// PutBlock implements store.BlockWriter.
func (t *Tx) PutBlock(ctx context.Context, b store.Block) error {
	if err := t.specialist(ctx, b.SpecialistID); err != nil {
		return err
	}
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: b.SpecialistID})
	return t.run(blocks.put, blocks.values(&b)...)
}

// DeleteBlock implements store.BlockWriter.
func (t *Tx) DeleteBlock(ctx context.Context, id string) (store.Block, error) {
	b, err := blocks.one(ctx, t.source, `WHERE id = ?`, id)
	if err != nil {
		return store.Block{}, err
	}
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: b.SpecialistID})
	return b, t.run(`DELETE FROM blocks WHERE id = ?`, id)
}

// DeleteBlocks implements store.BlockWriter.
func (t *Tx) DeleteBlocks(ctx context.Context, setID string) ([]store.Block, error) {
	all, err := blocks.list(ctx, t.source, `WHERE set_id = ? AND set_id <> '' ORDER BY start_at, id`, setID)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, store.ErrNotFound
	}
	for _, b := range all {
		t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: b.SpecialistID})
	}
	return all, t.run(`DELETE FROM blocks WHERE set_id = ? AND set_id <> ''`, setID)
}
