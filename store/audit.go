package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// AuditEntry records who changed what, and why. Entries are only ever added. Each entry is a link of the audit chain
// (chain.go).
type AuditEntry struct {
	ID      string // UUIDv7, so that ids sort by time
	At      time.Time
	Actor   string // "client", "user:<id>", "key:<id>", "manage", "system"
	Action  string // such as "appointment.created", "override.deleted"
	Subject string // such as "appointment:<id>"
	Reason  string
	Before  json.RawMessage // nil if the subject did not exist before
	After   json.RawMessage
}

// Stored returns e with its strings in the form in which a backend stores them. The hash chain covers this form.
func (e AuditEntry) Stored() AuditEntry {
	e.Actor, e.Action, e.Subject, e.Reason = Text(e.Actor), Text(e.Action), Text(e.Subject), Text(e.Reason)
	return e
}

// AuditFilter selects audit entries; the zero value selects all.
type AuditFilter struct {
	From, To time.Time
	Actor    string
	Action   string   // a whole action, or a prefix ending in "."
	Subjects []string // entries about one of these subjects; nil means any subject, and an empty list selects none
	// Words contains one list of alternatives for each word of a search. An entry must contain at least one alternative
	// from each list (AuditEntry.HasWords).
	Words  [][]string
	Cursor string
	Limit  int // 1..500; 0 means 100
}

// MaxAuditScan is the maximum number of entries that one call of Audit with Words reads.
const MaxAuditScan = 20_000

// HasWords reports whether an entry contains at least one alternative from each list of words. It ignores case and
// repeated spaces. It searches the subject, actor, action, reason, before and after, joined with spaces. So the
// alternative ":ada " finds entries whose subject or actor has the id ada, and `"ada"` finds entries with that value.
func (e *AuditEntry) HasWords(words [][]string) bool {
	if len(words) == 0 {
		return true
	}
	text := fold(e.Subject + " " + e.Actor + " " + e.Action + " " + e.Reason + " " + string(e.Before) + " " +
		string(e.After))
	for _, alternatives := range words {
		if !slices.ContainsFunc(alternatives, func(word string) bool { return strings.Contains(text, fold(word)) }) {
			return false
		}
	}
	return true
}

// fold works like Fold, but keeps one trailing space if s ends with a space.
func fold(s string) string {
	folded := Fold(s)
	if strings.HasSuffix(s, " ") {
		folded += " "
	}
	return folded
}

// AuditReader reads entries, newest first.
type AuditReader interface {
	// Audit returns a page of the entries that f selects, and the cursor for the next page; an empty cursor means that
	// this is the last page. With f.Words, it reads at most MaxAuditScan entries. So a page with a cursor can have
	// fewer entries than f.Limit, or none.
	Audit(ctx context.Context, f AuditFilter) (list []AuditEntry, next string, err error)
}

// AuditWriter adds entries.
type AuditWriter interface {
	// AppendAudit adds an entry and its link. It returns ErrDuplicate if an entry with this id and instant already
	// exists.
	AppendAudit(ctx context.Context, e AuditEntry) error
}
