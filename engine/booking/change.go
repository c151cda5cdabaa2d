package booking

import (
	"context"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// Change is one durable change to an appointment, with the data to record and the data that its notifications need.
type Change struct {
	// ID is the same for all appointments that change together. Empty means this appointment changes alone.
	ID     string
	Kind   string
	Before *store.Appointment // nil if it is new
	After  *store.Appointment
	Actor  record.Actor
	Reason string
	Silent bool // no email and no text message, except the reminders of a move
	Import bool // from a spreadsheet: nothing is sent
	// Undoable, for a confirmed appointment: Record stores its state before the change, and the outbound operations
	// wait until the change can no longer be undone.
	Undoable bool
	At       time.Time
	// Together contains the appointments that change together, including this one, in their new state and sorted by
	// start. Nil means this appointment changes alone. Each recipient gets a single message about all of their
	// appointments.
	Together []store.Appointment
	once     *record.Once
	// Fence: the row reserves the time while an agent's booking is being written upstream. The booking has not been
	// confirmed to anyone yet.
	Fence  bool
	Direct string // the id of the upstream operation, if the caller is about to attempt it itself
	// First, with ChangeUpstreamDone: an agent's booking has been confirmed upstream for the first time.
	First bool
	// Leftover, with ChangeUpstreamFailed: a time that the appointment no longer occupies could not be cancelled
	// upstream.
	Leftover bool
	Follow   []Promise // operations in addition to those that every such change requires
	Calls    []Promise // the operations that Record wrote to the outbox; to be enqueued after the commit
}

const (
	ChangeCreated     = "created"
	ChangeCancelled   = "cancelled"
	ChangeRescheduled = "rescheduled"
	ChangeAttendance  = "attendance"
	ChangeUpdated     = "updated"
	ChangePatientData = "patient_changed"
	ChangeRecall      = "recall"
	ChangeUndone      = "undone"

	// Changes that result from the upstream's responses. The appointment's UpstreamState reflects the same result.
	ChangeUpstreamDone   = "upstream.completed"
	ChangeUpstreamFailed = "upstream.failed"
	ChangeUpstreamReview = "upstream.needs_review"
	// refused while an agent's caller was waiting: the appointment is cancelled and was never confirmed
	ChangeUpstreamRefused = "upstream.refused"
)

// Fence adds an agent's steps to a booking: the row reserves the time before anything is written upstream.
type Fence interface {
	// Mark prepares the change before its transaction.
	Mark(c *Change)
	// Burn marks the token that the agent booked with as used, within the transaction. It returns store.ErrDuplicate if
	// the token has been used before.
	Burn(ctx context.Context, tx store.Tx, a *store.Appointment) error
	// Drop undoes Mark if the booking was not written.
	Drop()
	// Takes removes the upstream write from a committed change, so that the agent's request can attempt that write
	// itself, and returns the other operations.
	Takes(c *Change) []Promise
}

// Announced reports whether a change is announced, and as which kind of change. Of a silent change, only webhooks are
// sent, and the reminders move. An agent's booking is announced only after the practice-management system has accepted
// it, because it has not been confirmed to anyone before that.
func (c *Change) Announced() (kind string, ok bool) {
	switch {
	case c.Fence, c.Import:
		return "", false
	case c.Kind == ChangeUpstreamDone && c.First && c.After.Status == store.Confirmed:
		return ChangeCreated, true
	case c.Kind == ChangeCreated, c.Kind == ChangeCancelled, c.Kind == ChangeRescheduled:
		return c.Kind, true
	}
	return "", false
}
