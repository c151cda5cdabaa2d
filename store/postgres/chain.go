package postgres

import (
	"context"
	"errors"

	"holdfast/store"
	"holdfast/store/table"
)

// appendEntry advances the head of the chain by the link $11 and adds the entry at the new position. The database
// computes the hash from the previous hash, so that no caller waits for a read.
var appendEntry = `
	WITH head AS (UPDATE audit_head SET position = position + 1, hash = sha256(hash || int8send(position + 1) || $11::bytea) RETURNING position, hash)
	INSERT INTO audit_entries (` + table.AuditColumns + `, salt, digest, position, hash)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, (SELECT position FROM head), (SELECT hash FROM head))`

// ChainLink implements store.ChainReader.
func (r reads) ChainLink(ctx context.Context, position int64) (store.ChainHead, error) {
	if position == 0 {
		return one(ctx, r, table.ScanHead[*row], table.HeadOfChain)
	}
	return one(ctx, r, table.ScanHead[*row], `
		SELECT position, hash FROM audit_entries WHERE position = $1
		UNION ALL SELECT position, hash FROM audit_erasures WHERE position = $1`, position)
}

// LinkErasure implements table.Writer.
func (t *tx) LinkErasure(number int64) error {
	entry, err := one(context.Background(), t.reads, (*row).Int64, `SELECT position FROM audit_entries
		WHERE row_number = $1 AND NOT EXISTS (SELECT 1 FROM audit_erasures WHERE entry = audit_entries.position)`, number)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.run(`
		WITH head AS (UPDATE audit_head SET position = position + 1, hash = sha256(hash || int8send(position + 1) || $2::bytea) RETURNING position, hash)
		INSERT INTO audit_erasures (position, entry, hash) VALUES ((SELECT position FROM head), $1, (SELECT hash FROM head))`, entry, store.ErasureLink(entry))
}

// chainEntries is the Go part of migration audit_chain: it links the existing entries.
func chainEntries(ctx context.Context, c *conn) error {
	const atOnce = 1000
	type found struct {
		store.AuditEntry
		number int64
	}
	head, after := store.ChainHead{}, int64(0)
	for n := atOnce; n == atOnce; {
		var part []found
		_, err := c.exchange(ctx, asks(func(r *row) { part = append(part, found{table.ScanAudit(r), r.Int64()}) },
			`SELECT `+table.AuditColumns+
				`, row_number FROM audit_entries WHERE row_number > $1 ORDER BY row_number LIMIT $2`, after, atOnce))
		if err != nil {
			return err
		}
		var changes []*statement
		for _, e := range part {
			salt := store.NewSalt()
			digest := store.TextsDigest(salt, &e.AuditEntry)
			head, after = head.Next(store.EntryLink(&e.AuditEntry, digest[:])), e.number
			changes = append(changes,
				stmt(`UPDATE audit_entries SET position = $1, salt = $2, digest = $3, hash = $4 WHERE row_number = $5`,
					head.Position, salt, digest, head.Hash, e.number))
		}
		if _, err := c.exchange(ctx, changes...); err != nil {
			return err
		}
		n = len(part)
	}
	_, err := c.exchange(ctx, stmt(`UPDATE audit_head SET position = $1, hash = $2`, head.Position, head.Hash))
	return err
}
