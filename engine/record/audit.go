package record

import (
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode"

	"holdfast/store"
)

// Audit lists who did what, newest first, a page at a time. store.ErrInvalid for a foreign cursor.
func (r *Records) Audit(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, string, error) {
	return r.store.Audit(ctx, f)
}

// Deliveries says what became of the notices about one appointment, oldest first.
func (r *Records) Deliveries(ctx context.Context, appointmentID string) ([]store.Delivery, error) {
	return r.store.Deliveries(ctx, appointmentID)
}

// Audit adds one entry. Before and after are stored as JSON where they are not nil, with the field names that the API
// has for them: the log is read by owners, not by who knows our types.
func Audit(ctx context.Context, tx store.Tx, at time.Time, actor Actor, action, subject, reason string, before, after any) error {
	entry := store.AuditEntry{ID: NewID(), At: at, Actor: string(actor), Action: action, Subject: subject, Reason: reason}
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

// InWords is a thing of the schedule as the API says it, for audit.
func InWords(v any) (any, error) {
	raw, err := rawJSON(v)
	if raw == nil || err != nil {
		return nil, err
	}
	var fields any
	err = json.Unmarshal(raw, &fields)
	return renamed(fields), err
}

// renamed is a decoded document with every field named as the API names it.
func renamed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, value := range v {
			all[spokenName(name)] = renamed(value)
		}
		return all
	case []any:
		for i := range v {
			v[i] = renamed(v[i])
		}
	}
	return v
}

// spokenName turns the name of a Go field into that of a JSON one: HoldTTLSeconds into holdTtlSeconds.
func spokenName(name string) string {
	given := []rune(name)
	upper := func(i int) bool { return i < len(given) && unicode.IsUpper(given[i]) }
	letters := slices.Clone(given)
	for i := range letters {
		begins := i > 0 && (!upper(i-1) || i+1 < len(given) && !upper(i+1)) // a word after the first
		if upper(i) && !begins {
			letters[i] = unicode.ToLower(letters[i])
		}
	}
	return string(letters)
}
