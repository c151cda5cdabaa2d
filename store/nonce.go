package store

import (
	"context"
	"time"
)

// NonceUse is the use of a single-use booking token. It is committed with the appointment booked with the token. A use
// without an appointment records something else that works only once or no longer works: a sign-in at an identity
// provider, or the revoked address of an appointment's calendar.
type NonceUse struct {
	Nonce         string
	PatientID     string // upstream patient GUID, lower case
	AppointmentID string
	ExpiresAt     time.Time // when the token expires; after that, the row can be removed
}

// NonceReader reads uses.
type NonceReader interface {
	// NonceUse returns the use of a nonce. Errors: ErrNotFound.
	NonceUse(ctx context.Context, nonce string) (NonceUse, error)
}

// NonceWriter uses and frees nonces.
type NonceWriter interface {
	// UseNonce records u, the only use of its nonce. It returns ErrDuplicate if the nonce has been used before.
	UseNonce(ctx context.Context, u NonceUse) error
	// FreeNonces makes the nonces used for this appointment usable again.
	FreeNonces(ctx context.Context, appointmentID string) error
	// ForgetNonces removes up to limit uses whose tokens expired before the instant and returns how many.
	ForgetNonces(ctx context.Context, before time.Time, limit int) (int, error)
}
