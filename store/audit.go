package store

import (
	"context"
	"encoding/json"
	"time"
)

// AuditEntry records who changed what, and why. Entries are only added, each as a link of the audit chain (chain.go).
type AuditEntry struct {
	ID      string // UUIDv7, so that ids sort by time
	At      time.Time
	Actor   string // "client", "user:<id>", "key:<id>", "manage", "system"
	Action  string // such as "appointment.created", "override.deleted"
	Subject string // such as "appointment:<id>"
	Reason  string
	Before  json.RawMessage // nil if there was nothing before
	After   json.RawMessage
}

// Stored returns the entry with each text as a backend stores it. The hash of the chain covers these texts.
func (e AuditEntry) Stored() AuditEntry {
	e.Actor, e.Action, e.Subject, e.Reason = Text(e.Actor), Text(e.Action), Text(e.Subject), Text(e.Reason)
	return e
}

// AuditFilter selects audit entries; the zero value selects all.
type AuditFilter struct {
	From, To time.Time
	Actor    string
	Action   string // a whole action, or a prefix ending in "."
	Subject  string
	Cursor   string
	Limit    int // 1..500; 0 means 100
}

// AuditReader reads entries, newest first.
type AuditReader interface {
	Audit(ctx context.Context, f AuditFilter) (list []AuditEntry, next string, err error)
}

// AuditWriter adds entries.
type AuditWriter interface {
	// AppendAudit adds an entry and its link. ErrDuplicate: an entry with this id and instant exists.
	AppendAudit(ctx context.Context, e AuditEntry) error
}
