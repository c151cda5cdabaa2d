package record

import (
	"strings"

	"holdfast/store"
)

// Actor says on whose behalf a change is made, for the audit log: "client", "manage", "key:<id>", "user:<id>", "system".
type Actor string

// Key is the id of the API key that the actor is, or empty.
func (a Actor) Key() string {
	id, _ := strings.CutPrefix(string(a), "key:")
	if id == string(a) {
		return ""
	}
	return id
}

// AtDesk reports whether the actor is a member of staff, who has somebody in front of them.
func (a Actor) AtDesk() bool { return strings.HasPrefix(string(a), "user:") }

// Principal is a program that has shown a key.
type Principal struct {
	KeyID string // "bootstrap" for the bootstrap admin key
	Scope store.Scope
	// SpecialistID is the only specialist that a presence key may do anything for; empty: all.
	SpecialistID string
}

// Actor names the principal in the audit log.
func (p Principal) Actor() Actor { return Actor("key:" + p.KeyID) }

// May reports whether the principal has a scope. Admin has them all.
func (p Principal) May(s store.Scope) bool { return p.Scope == s || p.Scope == store.ScopeAdmin }
