package store

import (
	"context"
	"time"
)

// AgentSession is what one API key of an agent was told of one patient: who they are, and for how long it may book for them. It is
// found by names, opaque strings of at most 100 bytes; what is about a person is hashed by the caller. No token is in it.
type AgentSession struct {
	PatientID string    // upstream patient GUID, lower case; empty if there is none, or none yet
	Patient   Patient   // as the agent gave it, without notes; empty if it did not
	Open      bool      // adding the patient upstream was begun, and what became of it is not known
	At        time.Time // when it was noted
	ExpiresAt time.Time // the key may book for the patient until then
}

// AgentSessionReader asks for agents' sessions.
type AgentSessionReader interface {
	// AgentSession returns the latest of those that have one of these names and were noted after an instant. ErrNotFound.
	AgentSession(ctx context.Context, after time.Time, names ...string) (AgentSession, error)
}

// AgentSessionWriter notes agents' sessions.
type AgentSessionWriter interface {
	// PutAgentSession notes s under each of these names, in place of what has the name.
	PutAgentSession(ctx context.Context, s AgentSession, names ...string) error
	// ForgetAgentSessions removes up to limit of what was noted before the instant and says how many.
	ForgetAgentSessions(ctx context.Context, before time.Time, limit int) (int, error)
}
