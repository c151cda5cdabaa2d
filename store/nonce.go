package store

import (
	"context"
	"time"
)

// NonceUse is the one use of a single-use booking token. It commits with the appointment it made. What else works once, or no more,
// is a use without an appointment: a sign-in begun elsewhere, and the address of an appointment's calendar that was ended.
type NonceUse struct {
	Nonce         string
	PatientID     string // upstream patient GUID, lower case
	AppointmentID string
	ExpiresAt     time.Time // when the token has lapsed and the row may go
}

// NonceReader asks for uses.
type NonceReader interface {
	// NonceUse returns the use of a nonce. ErrNotFound.
	NonceUse(ctx context.Context, nonce string) (NonceUse, error)
}

// NonceWriter burns and frees nonces.
type NonceWriter interface {
	// UseNonce burns u.Nonce. ErrDuplicate if it was used.
	UseNonce(ctx context.Context, u NonceUse) error
	// FreeNonces makes the nonces that made this appointment usable again.
	FreeNonces(ctx context.Context, appointmentID string) error
	// ForgetNonces removes up to limit uses whose tokens lapsed before the instant and says how many.
	ForgetNonces(ctx context.Context, before time.Time, limit int) (int, error)
}
