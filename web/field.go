package web

import (
	"strconv"
	"time"

	"holdfast/engine/record"
)

// fieldError returns a mistake that this package finds before the engine can.
func fieldError(field, message string) error {
	return &record.ValidationError{Fields: []record.FieldError{{Field: field, Message: message}}}
}

// mistakes collects them.
type mistakes []record.FieldError

// add adds a mistake, unless the field or one above it already has one.
func (m *mistakes) add(field, message string) {
	*m = mistakes(record.Mistakes(*m).Together(record.Mistakes{{Field: field, Message: message}}))
}

func (m mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	return &record.ValidationError{Fields: m}
}

// instant reads RFC 3339 with any offset. An empty one is the zero time, which the engine refuses where it needs one.
func (m *mistakes) instant(field, s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	var t time.Time
	if err := t.UnmarshalText([]byte(s)); err != nil {
		m.add(field, "must be an instant like 2026-11-23T09:00:00Z or 2026-11-23T10:00:00+01:00")
		return time.Time{}
	}
	return t.UTC()
}

// seconds turns a count of seconds into a duration. A value that overflows stays outside the engine's limits.
func seconds(n *int) time.Duration {
	switch {
	case n == nil:
		return 0
	case *n <= 0:
		return -time.Second
	}
	return time.Duration(min(*n, 1<<30)) * time.Second
}

// httpTime formats an instant: UTC, whole seconds.
func httpTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// optionalTime is like httpTime, for a time that may be missing.
func optionalTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return httpTime(t)
}

// indexed names one element of a list.
func indexed(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
