package sqlite

import (
	"context"

	"holdfast/store"
	"holdfast/store/table"
)

var appendEntry = `INSERT INTO audit_entries (` + table.AuditColumns +
	`, salt, digest, position, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// AppendAudit implements store.AuditWriter.
func (t *tx) AppendAudit(_ context.Context, e store.AuditEntry) error {
	e = e.Stored()
	salt := store.NewSalt()
	digest := store.TextsDigest(salt, &e)
	return t.link(store.EntryLink(&e, digest[:]), appendEntry, append(table.AuditValues(&e), salt, digest)...)
}
