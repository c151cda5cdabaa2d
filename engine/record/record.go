// Package record contains what all durable changes have in common: their author (Actor, Principal), the entry in the
// audit log (Audit), the response to a repeated request (Once), new ids, and the mistakes in a request (Mistakes,
// ValidationError, and the checks of single values).
//
// An audit entry and a saved response are written in the same transaction as their change, so either all of them are
// committed or none are. Neither of them contains a secret, and an audit entry contains no patient data.
//
// The response to a request that is not durable, such as a hold, is saved in memory (Records.Remember) and is lost with
// the process, like the hold.
package record

import (
	"holdfast/engine/timed"
	"holdfast/store"
)

// Records reads the audit log and the deliveries, and saves the responses to requests that are not durable.
type Records struct {
	store   store.Store
	answers *timed.Map[answerKey, store.IdempotencyRecord]
}

// New returns the records of a store.
func New(s store.Store) *Records { return &Records{store: s, answers: newAnswers()} }

// Measurements returns the measurements that the store has collected, or false if it collects none.
func (r *Records) Measurements() (store.Measurements, bool) {
	if m, ok := r.store.(store.Measured); ok {
		return m.Measurements(), true
	}
	return store.Measurements{}, false
}

// ForgetAnswers deletes the responses in memory. An erasure calls it, because a response can contain any person's data.
func (r *Records) ForgetAnswers() { r.answers.Clear() }
