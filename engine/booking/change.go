package booking

import (
	"context"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// Change is one durable change of an appointment: what is recorded with it and what is told after it.
type Change struct {
	Kind   string
	Before *store.Appointment // nil when it was created
	After  *store.Appointment
	Actor  record.Actor
	Reason string
	Silent bool // no mail, no webhook
	// Undoable: what it promises waits until it cannot be taken back any more.
	Undoable bool
	At       time.Time
	// Series are the ids of the appointments that are changed together with this one, itself included, the first one first; nil: it
	// is changed alone. The patient is told in one mail.
	Series []string
	once   *record.Once
	// fence: the time is kept while an agent's booking is being written upstream, and nobody has been promised anything.
	Fence  bool
	Direct string    // the id of the upstream operation if somebody is about to try it at once
	Follow []Promise // operations that come with it besides those that every such change has
	Calls  []Promise // the operations that record promised; to be handed over after the commit
}

const (
	ChangeCreated     = "created"
	ChangeCancelled   = "cancelled"
	ChangeRescheduled = "rescheduled"
	changeAttendance  = "attendance"
	ChangeUpdated     = "updated"
	ChangePatientData = "patient_changed"
	ChangeUndone      = "undone"

	// What the upstream's answers change; the appointment's UpstreamState says the same.
	ChangeUpstreamDone    = "upstream.completed"
	ChangeUpstreamFailed  = "upstream.failed"
	ChangeUpstreamReview  = "upstream.needs_review"
	ChangeUpstreamRefused = "upstream.refused" // while an agent's caller waited: it is cancelled and never was
)

// Fence is what an agent's booking adds to a booking: its time is kept before anything is written upstream.
type Fence interface {
	// Mark prepares the change before its transaction.
	Mark(c *Change)
	// Burn uses up, in the transaction, what the agent booked with. store.ErrDuplicate if it was used before.
	Burn(ctx context.Context, tx store.Tx, a *store.Appointment) error
	// Drop lets go of what Mark took, of a booking that was not written.
	Drop()
	// Takes claims the upstream write of a committed change and returns the other operations.
	Takes(c *Change) []Promise
}

// Told reports whether a change is for other people's ears, and as what. An agent's booking is told of once the
// practice system has it: until then nobody has been promised anything.
func (c *Change) Told() (kind string, ok bool) {
	switch {
	case c.Silent || c.Fence:
		return "", false
	case c.Kind == ChangeUpstreamDone && c.Before != nil && c.Before.UpstreamState == store.UpstreamPending && c.After.Source == store.SourceAgent &&
		c.After.Status == store.Confirmed:
		return ChangeCreated, true
	case c.Kind == ChangeCreated, c.Kind == ChangeCancelled, c.Kind == ChangeRescheduled:
		return c.Kind, true
	}
	return "", false
}
