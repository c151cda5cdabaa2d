package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/store"
)

var (
	// ErrNoAppointmentType means that no type has this id. It is a store.ErrNotFound.
	ErrNoAppointmentType = fmt.Errorf("appointment type: %w", store.ErrNotFound)
	// ErrNoSlots means that no slot of this type can be booked in the requested range, up to its horizon.
	ErrNoSlots = errors.New("no bookable slot")
	// ErrForbidden means that the caller is authenticated but is not allowed to do this.
	ErrForbidden = errors.New("not allowed")
	// ErrUnauthorized means that the credential is missing, unknown, revoked or expired.
	ErrUnauthorized = errors.New("no valid credential")
	// ErrCutOff means that it is too late for the patient to change this appointment online.
	ErrCutOff = errors.New("too late to change online")
	// ErrAsksDesk means that the desk decides about appointments of this type, so the patient cannot move one online.
	ErrAsksDesk = errors.New("the desk must approve appointments of this type")
	// ErrVisit means that the appointment is part of a visit with other people. Online, it changes only as part of it.
	ErrVisit = errors.New("the appointment is part of a group visit")
	// ErrNotConfirmed means that the appointment is cancelled, so it cannot be moved.
	ErrNotConfirmed = errors.New("the appointment is cancelled")
	// ErrOperationState means that the state of the operation does not allow this action.
	ErrOperationState = errors.New("the operation's state does not allow this")
	// ErrIdempotencyMismatch means that the key was used for a different request.
	ErrIdempotencyMismatch = errors.New("the idempotency key was used for another request")
	// ErrIdempotencyInFlight means that the first request with this key is still running.
	ErrIdempotencyInFlight = errors.New("the first request with this idempotency key is still running")
)

// FieldError is one mistake in a request.
type FieldError struct {
	Field   string // dotted path as in the JSON, such as "patient.name" or "weeklyHours[2].start"
	Message string // the problem, and how to fix it
}

// ValidationError lists everything that is wrong with a request.
type ValidationError struct{ Fields []FieldError }

func (e *ValidationError) Error() string {
	var b strings.Builder
	for i, f := range e.Fields {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s: %s", f.Field, f.Message)
	}
	return b.String()
}

// Mistakes collects FieldErrors.
type Mistakes []FieldError

func (m *Mistakes) Add(field, format string, args ...any) {
	*m = append(*m, FieldError{field, fmt.Sprintf(format, args...)})
}

// Together returns m together with those mistakes in more whose fields are not in m. It also leaves out a field below
// one in m: a mistake in "patient.name" is irrelevant if "patient" itself is wrong.
func (m Mistakes) Together(more Mistakes) Mistakes {
	all := slices.Clone(m)
	for _, x := range more {
		if !slices.ContainsFunc(m, func(known FieldError) bool {
			rest, ok := strings.CutPrefix(x.Field, known.Field)
			return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
		}) {
			all = append(all, x)
		}
	}
	return all
}

// Err returns a *ValidationError with the mistakes, or nil if there are none.
func (m Mistakes) Err() error {
	if len(m) == 0 {
		return nil
	}
	return &ValidationError{Fields: m}
}

// Invalid returns a *ValidationError about one field.
func Invalid(field, format string, args ...any) error {
	var m Mistakes
	m.Add(field, format, args...)
	return m.Err()
}
