package store

import (
	"context"
	"time"
)

// BookingRequest is a booking by the public that waits to be confirmed, from the mail that was sent about it or by the desk.
// Confirmed, it is gone and an appointment of the same id is there.
type BookingRequest struct {
	ID                string // of the appointment it becomes
	AppointmentTypeID string
	SpecialistID      string
	Owner             string // the client that asked, as holds.Owner spells it
	HoldOwner         string // the owner of the hold on its time, in the same spelling: no client has it
	Status            RequestStatus
	SlotStart         time.Time
	SlotEnd           time.Time
	Patient           Patient
	Intake            Intake
	Approval          bool   // the desk decides about it: the link of its mail does not
	Locale            string // the language the patient is written to; empty: the clinic's
	CreatedAt         time.Time
	ExpiresAt         time.Time // it lapses then
}

// RequestStatus says what became of a booking request.
type RequestStatus string

const (
	RequestOpen     RequestStatus = "open" // until ExpiresAt
	RequestDeclined RequestStatus = "declined"
)

// RequestReader asks for booking requests.
type RequestReader interface {
	// BookingRequest returns one, open, lapsed or declined. ErrNotFound.
	BookingRequest(ctx context.Context, id string) (BookingRequest, error)
	// BookingRequests lists the open ones that lapse after now, by slot start, then id.
	BookingRequests(ctx context.Context, now time.Time) ([]BookingRequest, error)
}

// RequestWriter changes booking requests.
type RequestWriter interface {
	// InsertBookingRequest adds r. ErrDuplicate if its id is there.
	InsertBookingRequest(ctx context.Context, r BookingRequest) error
	// DeclineBookingRequest moves an open one to declined. ErrNotFound if there is no such open one.
	DeclineBookingRequest(ctx context.Context, id string) error
	// DeleteBookingRequest removes an open one. ErrNotFound if there is no such open one.
	DeleteBookingRequest(ctx context.Context, id string) error
	// ForgetBookingRequests removes up to limit of those that lapsed before the instant, whatever became of them, and says
	// how many: of those for approval, or of all others.
	ForgetBookingRequests(ctx context.Context, approval bool, before time.Time, limit int) (int, error)
}

// TallyReader counts what happened, such as the bookings from one network. A key is an opaque string of at most 100 bytes; what
// is about a person or an address is hashed by the caller.
type TallyReader interface {
	// Tally counts what was added to a key after an instant, and says when the first of those was. A zero first: nothing.
	Tally(ctx context.Context, key string, after time.Time) (n int, first time.Time, err error)
}

// TallyWriter adds to what is counted.
type TallyWriter interface {
	// AddTally counts one more at an instant.
	AddTally(ctx context.Context, key string, at time.Time) error
	// ForgetTallies removes up to limit rows of before the instant and says how many.
	ForgetTallies(ctx context.Context, before time.Time, limit int) (int, error)
}
