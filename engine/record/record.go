// Package record is what every durable change has in common, whichever package makes it: who did it (Actor, Principal), the
// entry in the audit log (Audit), the answer that a repeat of the request gets (Once), the ids of what is made, and how
// mistakes in a request are said (Mistakes, ValidationError, and the checks of single values).
//
// An audit entry and a remembered answer are written in the transaction of the change that they speak of, so there is
// never one without the other. Neither holds a secret; an audit entry says nothing about a patient.
//
// An answer to what is not durable, such as a hold, is remembered in memory (Records.Remember) and dies with the process,
// as the hold does.
package record

import (
	"holdfast/engine/timed"
	"holdfast/store"
)

// Records reads what was recorded, and remembers the answers to what is not durable.
type Records struct {
	store   store.Store
	answers *timed.Map[answerKey, store.IdempotencyRecord]
}

// New returns the records of a store.
func New(s store.Store) *Records { return &Records{store: s, answers: newAnswers()} }

// Measurements returns what the store measures of itself; false if it does not.
func (r *Records) Measurements() (store.Measurements, bool) {
	if m, ok := r.store.(store.Measured); ok {
		return m.Measurements(), true
	}
	return store.Measurements{}, false
}

// ForgetAnswers deletes the answers in memory. An erasure calls it, because an answer can contain the words of any person.
func (r *Records) ForgetAnswers() { r.answers.Clear() }
