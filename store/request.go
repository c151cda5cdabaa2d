package store

import (
	"context"
	"time"
)

// BookingRequest is a public booking that is not confirmed yet. The patient confirms it with a link sent by email, or
// the desk approves it. Then an appointment with the same id replaces the request.
type BookingRequest struct {
	ID                string // id of the appointment that the request becomes
	AppointmentTypeID string
	SpecialistID      string
	Owner             string `column:"client_id"` // the client that created it, as a holds.Owner
	HoldOwner         string // the owner of the hold on its time, also a holds.Owner; no client has this owner
	Status            RequestStatus
	SlotStart         time.Time
	SlotEnd           time.Time
	Patient           Patient `column:"patient_,inline"`
	Intake            Intake
	Approval          bool   // the desk decides on it; otherwise, the patient confirms it with the emailed link
	Locale            string // the language for messages to the patient; empty means the clinic's
	CreatedAt         time.Time
	ExpiresAt         time.Time // when it expires
	// WantedStart is the time that the patient asked for, if the desk proposed another one. SlotStart is then the
	// proposed time. The zero value means that the desk proposed no other time.
	WantedStart time.Time `column:",null"`
}

// RequestStatus is the state of a booking request.
type RequestStatus string

const (
	RequestOpen     RequestStatus = "open" // until ExpiresAt
	RequestDeclined RequestStatus = "declined"
)

// RequestReader reads booking requests.
type RequestReader interface {
	// BookingRequest returns one request: open, expired or declined. Errors: ErrNotFound.
	BookingRequest(ctx context.Context, id string) (BookingRequest, error)
	// BookingRequests lists the open requests that expire after now, by slot start, then id.
	BookingRequests(ctx context.Context, now time.Time) ([]BookingRequest, error)
}

// RequestWriter changes booking requests.
type RequestWriter interface {
	// InsertBookingRequest adds r. It returns ErrDuplicate if r's id already exists.
	InsertBookingRequest(ctx context.Context, r BookingRequest) error
	// DeclineBookingRequest sets an open request to declined. It returns ErrNotFound if no open request has the id.
	DeclineBookingRequest(ctx context.Context, id string) error
	// ProposeBookingRequest sets the time, the specialist, the hold, the approval and the expiry of an open request to
	// those of r. It returns ErrNotFound if no open request has the id of r and this holdOwner.
	ProposeBookingRequest(ctx context.Context, r BookingRequest, holdOwner string) error
	// DeleteBookingRequest removes an open request. It returns ErrNotFound if no open request has this id and
	// holdOwner.
	DeleteBookingRequest(ctx context.Context, id, holdOwner string) error
	// ForgetBookingRequests removes up to limit requests that expired before the instant, open or declined, and returns
	// how many. If approval is true, it removes only requests for approval, otherwise only the others.
	ForgetBookingRequests(ctx context.Context, approval bool, before time.Time, limit int) (int, error)
}

// TallyReader counts events, such as the bookings from one network. A key is an opaque string of at most 100 bytes, in
// which the caller has hashed all data about a person or an address.
type TallyReader interface {
	// Tally counts the events of a key after an instant and returns the instant of the first of them, or the zero time
	// if there are none.
	Tally(ctx context.Context, key string, after time.Time) (n int, first time.Time, err error)
}

// TallyWriter adds events to the counts.
type TallyWriter interface {
	// AddTally adds one event of a key at an instant.
	AddTally(ctx context.Context, key string, at time.Time) error
	// ForgetTallies removes up to limit events from before the instant and returns how many.
	ForgetTallies(ctx context.Context, before time.Time, limit int) (int, error)
}
