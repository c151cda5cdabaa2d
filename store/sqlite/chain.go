package sqlite

import (
	"context"
	"errors"

	"holdfast/store"
	"holdfast/store/table"
)

func (r reads) ChainLink(ctx context.Context, position int64) (store.ChainHead, error) {
	if position == 0 {
		if r.tx != nil {
			return r.tx.headOfChain()
		}
		return one(ctx, r, table.ScanHead[*row], table.HeadOfChain)
	}
	return one(ctx, r, table.ScanHead[*row], `
		SELECT position, hash FROM audit_entries WHERE position = ?1
		UNION ALL SELECT position, hash FROM audit_erasures WHERE position = ?1`, position)
}

// chainEnd is the head of the audit chain in the writer's memory, including the links that its batch has added. The
// writer stores the head once for the whole batch, like the number of the last change.
type chainEnd struct {
	head  store.ChainHead
	known bool // the head was read, and no link added since then was undone
	moved bool // the head is not in the database yet
}

// write stores the head in the transaction that changed it.
func (e *chainEnd) write(c *conn) error {
	if !e.moved {
		return nil
	}
	_, err := c.exec(`UPDATE audit_head SET position = ?, hash = ?`, e.head.Position, e.head.Hash)
	e.moved = err != nil
	return err
}

// headOfChain returns the head, including the links that the transaction has added.
func (t *tx) headOfChain() (store.ChainHead, error) {
	if !t.end.known {
		head, err := one(context.Background(), t.reads, table.ScanHead[*row], table.HeadOfChain)
		if err != nil {
			return head, err
		}
		t.end.head, t.end.known = head, true
	}
	return t.end.head, nil
}

// link adds a link to the chain. insert is the statement that writes its row; its arguments are args, the position and
// the hash.
func (t *tx) link(link []byte, insert string, args ...any) error {
	head, err := t.headOfChain()
	if err != nil {
		return err
	}
	head = head.Next(link)
	// If the row is refused, the head does not move.
	if err := t.run(insert, append(args, head.Position, head.Hash)...); err != nil {
		return err
	}
	t.end.head, t.end.moved = head, true
	return nil
}

// LinkErasure implements table.Writer.
func (t *tx) LinkErasure(rowid int64) error {
	entry, err := one(context.Background(), t.reads, (*row).Int64, `SELECT position FROM audit_entries
		WHERE rowid = ? AND NOT EXISTS (SELECT 1 FROM audit_erasures WHERE entry = audit_entries.position)`, rowid)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.link(store.ErasureLink(entry), `INSERT INTO audit_erasures (entry, position, hash) VALUES (?, ?, ?)`,
		entry)
}

// chainEntries is the Go part of migration audit_chain: it links the existing entries.
func chainEntries(c *conn) error {
	const atOnce = 1000
	type found struct {
		store.AuditEntry
		rowid int64
	}
	ctx, head, after := context.Background(), store.ChainHead{}, int64(0)
	for n := atOnce; n == atOnce; {
		var part []found
		err := c.query(ctx, func(r *row) { part = append(part, found{table.ScanAudit(r), r.Int64()}) },
			`SELECT `+table.AuditColumns+`, rowid FROM audit_entries WHERE rowid > ? ORDER BY rowid LIMIT +?`,
			after, atOnce)
		if err != nil {
			return err
		}
		for _, e := range part {
			salt := store.NewSalt()
			digest := store.TextsDigest(salt, &e.AuditEntry)
			head, after = head.Next(store.EntryLink(&e.AuditEntry, digest[:])), e.rowid
			_, err := c.exec(`UPDATE audit_entries SET position = ?, salt = ?, digest = ?, hash = ? WHERE rowid = ?`,
				head.Position, salt, digest, head.Hash, e.rowid)
			if err != nil {
				return err
			}
		}
		n = len(part)
	}
	_, err := c.exec(`UPDATE audit_head SET position = ?, hash = ?`, head.Position, head.Hash)
	return err
}
