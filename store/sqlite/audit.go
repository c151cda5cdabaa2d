package sqlite

import (
	"context"
	"strings"

	"holdfast/store"
)

const auditColumns = `id, at, actor, action, subject, reason, before, after`

func scanAudit(r *row) store.AuditEntry {
	return store.AuditEntry{ID: r.text(), At: r.time(), Actor: r.text(), Action: r.text(), Subject: r.text(),
		Reason: r.text(), Before: r.json(), After: r.json()}
}

func (r reads) Audit(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, string, error) {
	var where conditions
	if !f.From.IsZero() {
		where.and("at >= ?", f.From)
	}
	if !f.To.IsZero() {
		where.and("at < ?", f.To)
	}
	if f.Actor != "" {
		where.and("actor = ?", f.Actor)
	}
	switch {
	case strings.HasSuffix(f.Action, "."):
		where.and("substr(action, 1, ?) = ?", len([]rune(f.Action)), f.Action)
	case f.Action != "":
		where.and("action = ?", f.Action)
	}
	if f.Subject != "" {
		where.and("subject = ?", f.Subject)
	}
	if f.Cursor != "" {
		at, id, err := store.ParseCursor(f.Cursor)
		if err != nil {
			return nil, "", err
		}
		where.and("(at, id) < (?, ?)", at, id)
	}
	n := limit(f.Limit)
	all, err := list(ctx, r, scanAudit, `SELECT `+auditColumns+` FROM audit_entries `+where.sql()+`
		ORDER BY at DESC, id DESC LIMIT +?`, append(where.args, n+1)...)
	if err != nil || len(all) <= n {
		return all, "", err
	}
	last := all[n-1]
	return all[:n], store.Cursor(last.At, last.ID), nil
}

func (t *tx) AppendAudit(_ context.Context, e store.AuditEntry) error {
	e = e.Stored()
	salt := store.NewSalt()
	digest := store.TextsDigest(salt, &e)
	return t.link(store.EntryLink(&e, digest[:]), `INSERT INTO audit_entries (id, at, actor, action, subject, reason, before, after, salt, digest, position, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.At, e.Actor, e.Action, e.Subject, e.Reason, textOrNull(e.Before), textOrNull(e.After),
		salt, digest)
}
