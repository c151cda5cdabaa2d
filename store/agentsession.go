package store

import (
	"context"
	"time"
)

// AgentSession is the result of identifying one patient for one API key of an agent. It holds the patient and the time
// until which the key may book for that patient. A session can be found by any of its names. A name is an opaque string
// of at most 100 bytes; the caller hashes all personal data in it. The session contains no token.
type AgentSession struct {
	PatientID string    // upstream patient GUID, lower case; empty if there is none, or none yet
	Patient   Patient   `column:"patient_,inline"` // as the agent sent it, without notes; empty if it sent none
	Open      bool      // a request to add the patient upstream was started; its outcome is unknown
	At        time.Time // when it was recorded
	ExpiresAt time.Time // the key may book for the patient until this time
}

// AgentSessionReader reads agents' sessions.
type AgentSessionReader interface {
	// AgentSession returns the latest session that has one of these names and was recorded after the given instant.
	// Errors: ErrNotFound.
	AgentSession(ctx context.Context, after time.Time, names ...string) (AgentSession, error)
}

// AgentSessionWriter records agents' sessions.
type AgentSessionWriter interface {
	// PutAgentSession records s under each of these names and replaces any session that already has the name.
	PutAgentSession(ctx context.Context, s AgentSession, names ...string) error
	// ForgetAgentSessions removes up to limit sessions recorded before the instant and returns how many.
	ForgetAgentSessions(ctx context.Context, before time.Time, limit int) (int, error)
}
