package store

import (
	"context"
	"time"
)

// SessionStatus is the state of an on-demand consultation.
type SessionStatus string

const (
	SessionRequested      SessionStatus = "requested"
	SessionActive         SessionStatus = "active"
	SessionPendingPayment SessionStatus = "pending_payment" // still counts towards the specialist's load
	SessionEnded          SessionStatus = "ended"
	SessionExpired        SessionStatus = "expired"
	SessionCancelled      SessionStatus = "cancelled"
)

// Session is one on-demand consultation.
type Session struct {
	ID           string
	Owner        string `column:"client_id"` // the client that requested it, as a holds.Owner
	SpecialistID string `column:",null"`     // empty until accepted
	Status       SessionStatus
	Outcome      string

	AppointmentTypeID string // empty if the client named none
	Reason            string // the patient's words, cleared when the session is over, like the next two
	PatientName       string
	PatientPhone      string
	Declined          string // ids of the specialists who declined the request, separated by spaces

	RequestedAt time.Time
	AcceptedAt  time.Time `column:",null"`
	EndedAt     time.Time `column:",null"`
	ExpiresAt   time.Time `column:",null"` // when a request that no specialist has accepted expires
	UpdatedAt   time.Time
	Version     int64
}

// SessionFilter selects sessions; the zero value selects all.
type SessionFilter struct {
	Statuses     []SessionStatus
	SpecialistID string
	Owner        string
	QuietSince   time.Time // not updated after this instant; zero means any
	Limit        int       // 1..500; 0 means 100
}

// SessionReader reads sessions.
type SessionReader interface {
	// Session returns one session. Errors: ErrNotFound.
	Session(ctx context.Context, id string) (Session, error)
	// Sessions lists by RequestedAt, oldest first.
	Sessions(ctx context.Context, f SessionFilter) ([]Session, error)
	// Loads counts the active and pending_payment sessions of each specialist who has any.
	Loads(ctx context.Context) (map[string]int, error)
}

// SessionWriter changes sessions.
type SessionWriter interface {
	// InsertSession adds one session; its Version must be 1. Errors: ErrDuplicate.
	InsertSession(ctx context.Context, s Session) error
	// UpdateSession replaces the row whose version is s.Version and stores s.Version+1. Errors: ErrVersion,
	// ErrNotFound.
	UpdateSession(ctx context.Context, s Session) error
	// ForgetSessions removes up to limit sessions that were over before the instant and returns how many.
	ForgetSessions(ctx context.Context, before time.Time, limit int) (int, error)
}
