package postgres

import (
	"context"

	"holdfast/store"
	"holdfast/store/table"
)

// AppendAudit implements store.AuditWriter.
func (t *tx) AppendAudit(_ context.Context, e store.AuditEntry) error {
	e = e.Stored()
	salt := store.NewSalt()
	digest := store.TextsDigest(salt, &e)
	return t.Later(appendEntry, append(table.AuditValues(&e), salt, digest, store.EntryLink(&e, digest[:]))...)
}
