package table

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"holdfast/store"
)

var auditEntries = nounOf("audit_entries", 1, cols(
	text("id", func(e *store.AuditEntry) *string { return &e.ID }),
	instant("at", func(e *store.AuditEntry) *time.Time { return &e.At }),
	text("actor", func(e *store.AuditEntry) *string { return &e.Actor }),
	text("action", func(e *store.AuditEntry) *string { return &e.Action }),
	text("subject", func(e *store.AuditEntry) *string { return &e.Subject }),
	text("reason", func(e *store.AuditEntry) *string { return &e.Reason }),
	document("before", func(e *store.AuditEntry) *json.RawMessage { return &e.Before }),
	document("after", func(e *store.AuditEntry) *json.RawMessage { return &e.After }),
))

// AuditColumns are the columns of an audit entry. A backend adds those of the chain to them.
var AuditColumns = auditEntries.names

// ScanAudit reads AuditColumns.
func ScanAudit(r Row) store.AuditEntry { return auditEntries.scan(r) }

// AuditValues are the arguments for AuditColumns.
func AuditValues(e *store.AuditEntry) []any { return auditEntries.values(e) }

// Audit implements store.AuditReader.
func (r Reads) Audit(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, string, error) {
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
	if f.Subject != "" {
		where.And("subject = ?", f.Subject)
	}
	if f.Cursor != "" {
		at, id, err := store.ParseCursor(f.Cursor)
		if err != nil {
			return nil, "", err
		}
		where.And("(at, id) < (?, ?)", at, id)
	}
	n := Limit(f.Limit)
	rest := where.SQL() + ` ORDER BY at DESC, id DESC LIMIT +?`
	all, err := auditEntries.list(ctx, r.source, rest, append(where.Args, n+1)...)
	if err != nil || len(all) <= n {
		return all, "", err
	}
	last := all[n-1]
	return all[:n], store.Cursor(last.At, last.ID), nil
}

// ChainLink implements store.ChainReader.
func (r Reads) ChainLink(ctx context.Context, position int64) (store.ChainHead, error) {
	return r.source.ChainLink(ctx, position)
}
