package table

import (
	"context"
	"strings"

	"holdfast/store"
)

var auditEntries = nounOf[store.AuditEntry]("audit_entries", "id")

// AuditColumns lists the columns of an audit entry. A backend adds the columns of the audit chain.
var AuditColumns = auditEntries.names

// ScanAudit reads AuditColumns.
func ScanAudit(r Row) store.AuditEntry { return auditEntries.scan(r) }

// AuditValues returns the arguments for AuditColumns.
func AuditValues(e *store.AuditEntry) []any { return auditEntries.values(e) }

// Audit implements store.AuditReader. It searches for words in Go, because SQLite's lower() handles ASCII only.
func (r Reads) Audit(ctx context.Context, f store.AuditFilter) (found []store.AuditEntry, next string, err error) {
	n, batch := Limit(f.Limit), Limit(f.Limit)+1
	if len(f.Words) > 0 {
		batch = 1000
	}
	for read := 0; ; {
		list, err := r.auditAfter(ctx, f, batch)
		if err != nil {
			return nil, "", err
		}
		for i := range list {
			if !list[i].HasWords(f.Words) {
				continue
			}
			if len(found) == n {
				return found, store.Cursor(found[n-1].At, found[n-1].ID), nil
			}
			found = append(found, list[i])
		}
		if len(list) < batch {
			return found, "", nil
		}
		last := list[len(list)-1]
		f.Cursor = store.Cursor(last.At, last.ID)
		if read += len(list); read >= store.MaxAuditScan {
			return found, f.Cursor, nil
		}
	}
}

// auditAfter returns up to limit entries after the cursor of f, without a search for words.
func (r Reads) auditAfter(ctx context.Context, f store.AuditFilter, limit int) ([]store.AuditEntry, error) {
	var where Conditions
	if !f.From.IsZero() {
		where.And("at >= ?", f.From)
	}
	if !f.To.IsZero() {
		where.And("at < ?", f.To)
	}
	if f.Actor != "" {
		where.And("actor = ?", f.Actor)
	}
	switch {
	case strings.HasSuffix(f.Action, "."):
		where.And("substr(action, 1, ?) = ?", len([]rune(f.Action)), f.Action)
	case f.Action != "":
		where.And("action = ?", f.Action)
	}
	switch {
	case len(f.Subjects) == 1:
		where.And("subject = ?", f.Subjects[0])
	case f.Subjects != nil:
		subjects, err := jsonOf(f.Subjects)
		if err != nil {
			return nil, err
		}
		where.And("subject IN ({each}(?))", subjects)
	}
	if f.Cursor != "" {
		at, id, err := store.ParseCursor(f.Cursor)
		if err != nil {
			return nil, err
		}
		where.And("(at, id) < (?, ?)", at, id)
	}
	rest := where.SQL() + ` ORDER BY at DESC, id DESC LIMIT +?`
	return auditEntries.list(ctx, r.source, rest, append(where.Args, limit)...)
}

// ChainLink implements store.ChainReader.
func (r Reads) ChainLink(ctx context.Context, position int64) (store.ChainHead, error) {
	return r.source.ChainLink(ctx, position)
}
