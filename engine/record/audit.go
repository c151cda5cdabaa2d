package record

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/store"
)

// Audit lists the audit entries, newest first, one page at a time. store.ErrInvalid: the cursor is from another list.
func (r *Records) Audit(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, string, error) {
	return r.store.Audit(ctx, f)
}

// Deliveries returns the state of each notice about one appointment, oldest first.
func (r *Records) Deliveries(ctx context.Context, appointmentID string) ([]store.Delivery, error) {
	return r.store.Deliveries(ctx, appointmentID)
}

// Audit adds one entry. before and after are stored as JSON unless they are nil, with the field names of the API,
// because clinic owners read the log.
func Audit(ctx context.Context, tx store.Tx, at time.Time, actor Actor, action Action, subject, reason string, before, after any) error {
	entry := store.AuditEntry{ID: NewID(), At: at, Actor: string(actor), Action: string(action), Subject: subject, Reason: reason}
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
