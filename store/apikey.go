package store

import (
	"context"
	"time"
)

// Scope defines what an API key may do.
type Scope string

const (
	ScopeAdmin    Scope = "admin"
	ScopeAgent    Scope = "agent"
	ScopePresence Scope = "presence"
	ScopeMetrics  Scope = "metrics" // reads the metrics and public data, nothing else
)

// APIKey is a program's credential. The store holds only the hash of its secret.
type APIKey struct {
	ID         string
	Name       string
	Scope      Scope
	Hash       [32]byte // SHA-256 of the whole key
	Prefix     string   // its first characters, to recognize it in a list
	CreatedAt  time.Time
	LastUsedAt time.Time `column:",null"` // zero if never; accurate to about a minute
	RevokedAt  time.Time `column:",null"` // zero unless revoked
	// SpecialistID is the only specialist for whom a presence key works; empty means all.
	SpecialistID string
}

// APIKeyReader reads API keys.
type APIKeyReader interface {
	// APIKeys lists all keys in order of creation, including revoked ones.
	APIKeys(ctx context.Context) ([]APIKey, error)
	// APIKeyByHash returns the key with this hash, revoked or not. Errors: ErrNotFound.
	APIKeyByHash(ctx context.Context, hash [32]byte) (APIKey, error)
}

// APIKeyWriter changes API keys.
type APIKeyWriter interface {
	// InsertAPIKey adds a key. Errors: ErrDuplicate.
	InsertAPIKey(ctx context.Context, k APIKey) error
	// RevokeAPIKey revokes a key. It is idempotent: a second call does not change the instant of the first. Errors:
	// ErrNotFound.
	RevokeAPIKey(ctx context.Context, id string, at time.Time) error
	// TouchAPIKey records when a key was last used.
	TouchAPIKey(ctx context.Context, id string, at time.Time) error
}
