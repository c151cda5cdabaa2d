package web

import (
	"strconv"
	"time"

	"holdfast/engine/record"
)

// fieldError returns a *record.ValidationError for one field. It is for mistakes that this package finds itself.
func fieldError(field, message string) error {
	return &record.ValidationError{Fields: []record.FieldError{{Field: field, Message: message}}}
}

// mistakes collects the invalid fields of a request.
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

// instant parses an RFC 3339 instant with any offset. An empty string is the zero time; if the instant is required, the
// engine refuses the zero time.
func (m *mistakes) instant(field, s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	var t time.Time
	if err := t.UnmarshalText([]byte(s)); err != nil || !isStrict(s) {
		m.add(field, "must be a time such as 2026-11-23T09:00:00Z or 2026-11-23T10:00:00+01:00")
		return time.Time{}
	}
	return t.UTC()
}

// isStrict reports whether an instant that package time could read is RFC 3339. Package time also reads an hour of one
// digit, a comma before the fraction, and an offset of 24 hours, which moves the instant by a day (go.dev/issue/54580).
func isStrict(s string) bool {
	if s[len("2006-01-02T15")] != ':' || s[len("2006-01-02T15:04:05")] == ',' {
		return false
	}
	offset, isOffset := s[len(s)-len("07:00"):], s[len(s)-1] != 'Z'
	return !isOffset || offset[:2] < "24" && offset[3:] < "60"
}

// seconds converts a number of seconds to a duration: nil to 0, and a number below 1 to -1 s. To prevent overflow, it
// caps the number at a value above all limits of the engine.
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

// optionalTime is like httpTime, but returns "" for the zero time.
func optionalTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return httpTime(t)
}

// indexed returns the field name of one element of a list, such as spans[2].
func indexed(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
