package record

import (
	"strings"

	"holdfast/store"
)

// Actor identifies the author of a change for the audit log: "client", "manage", "key:<id>", "user:<id>", "system".
type Actor string

// Key returns the id of the actor's API key, or an empty string.
func (a Actor) Key() string {
	id, _ := strings.CutPrefix(string(a), "key:")
	if id == string(a) {
		return ""
	}
	return id
}

// AtDesk reports whether the actor is a member of staff.
func (a Actor) AtDesk() bool { return strings.HasPrefix(string(a), "user:") }

// Principal is a program that has authenticated with an API key.
type Principal struct {
	KeyID string // "bootstrap" for the bootstrap admin key
	Scope store.Scope
	// SpecialistID is the only specialist on whose behalf a presence key may act; empty means all.
	SpecialistID string
}

// Actor returns the principal as an actor for the audit log.
func (p Principal) Actor() Actor { return Actor("key:" + p.KeyID) }

// May reports whether the principal has a scope. Admin includes all scopes.
func (p Principal) May(s store.Scope) bool { return p.Scope == s || p.Scope == store.ScopeAdmin }
