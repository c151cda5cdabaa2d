package record

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"holdfast/store"
)

// Audit lists the audit entries, newest first, one page at a time. It returns store.ErrInvalid if the cursor belongs to
// another list.
func (r *Records) Audit(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, string, error) {
	return r.store.Audit(ctx, f)
}

// AuditWords returns the alternatives for each word of an audit log search: the word itself, and the ids whose names
// contain it. names maps ids to the names of specialists, types, users and keys, because entries contain only ids.
func AuditWords(q string, names map[string]string) (words [][]string) {
	for _, word := range strings.Fields(q) {
		alternatives := []string{word}
		for id, name := range names {
			if strings.Contains(store.Fold(name), store.Fold(word)) {
				alternatives = append(alternatives, ":"+id+" ", `"`+id+`"`)
			}
		}
		words = append(words, alternatives)
	}
	return words
}

// Deliveries returns the state of each notification about one appointment, oldest first.
func (r *Records) Deliveries(ctx context.Context, appointmentID string) ([]store.Delivery, error) {
	return r.store.Deliveries(ctx, appointmentID)
}

// Audit adds one entry. before and after are stored as JSON unless they are nil, with the field names of the API,
// because clinic owners read the log.
func Audit(ctx context.Context, tx store.Tx, at time.Time, actor Actor, action Action, subject, reason string, before,
	after any) error {
	entry := store.AuditEntry{ID: NewID(), At: at, Actor: string(actor), Action: string(action), Subject: subject,
		Reason: reason}
	var err error
	if entry.Before, err = rawJSON(before); err != nil {
		return err
	}
	if entry.After, err = rawJSON(after); err != nil {
		return err
	}
	return tx.AppendAudit(ctx, entry)
}

func rawJSON(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	return json.Marshal(v)
}
