package store

import (
	"errors"
	"fmt"
	"time"
)

// OverlapError is one violation of the guarantee that Check found.
type OverlapError struct {
	Of           string    // specialist or resource
	ID           string    // id of the specialist or the resource
	At           time.Time // the start of the overlap
	Appointments [2]string // ids of the two appointments
	Words        [2]string // the two appointments as readable text
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("guarantee: %s %s is double-booked at %s by appointments %s and %s", e.Of, e.ID,
		e.At.Format(time.RFC3339), e.Words[0], e.Words[1])
}

// Overlaps lists the overlaps in an error of Check.
func Overlaps(err error) (found []*OverlapError) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range all.Unwrap() {
			found = append(found, Overlaps(one)...)
		}
		return found
	}
	if one, ok := err.(*OverlapError); ok {
		return []*OverlapError{one}
	}
	if inner := errors.Unwrap(err); inner != nil {
		return Overlaps(inner)
	}
	return nil
}
