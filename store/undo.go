package store

import (
	"context"
	"time"
)

// UndoState is the state of an appointment before a cancellation or a move that the actor can still undo. It contains
// no patient data, but the reason for overbooking is free text.
type UndoState struct {
	AppointmentID string
	// Version is the version that the change gave to the appointment. While the appointment still has this version, the
	// change is its latest one. So an undo does not depend on any clock to find the change that it reverts.
	Version   int64
	ChangeID  string // the same for all appointments that changed together
	Actor     string // who made the change
	At        time.Time
	ExpiresAt time.Time // the change cannot be undone after this time

	AppointmentTypeID string
	SpecialistID      string
	SlotStart         time.Time
	SlotEnd           time.Time
	Overbook          bool
	OverbookReason    string
	Resources         []string
	UpstreamState     UpstreamState
	ManageEpoch       int64
	VisitID           string
}

// UndoReader reads saved undo states.
type UndoReader interface {
	// UndoState returns the state before the change that gave an appointment this version. It returns ErrNotFound if
	// that change cannot be undone, or the row was deleted.
	UndoState(ctx context.Context, appointmentID string, version int64) (UndoState, error)
	// UndoStates lists the states before one change, by slot start, then appointment. There is one for each appointment
	// that the change applied to.
	UndoStates(ctx context.Context, changeID string) ([]UndoState, error)
}

// UndoWriter records undo states. PersonEraser deletes those of an erased person's appointments.
type UndoWriter interface {
	// InsertUndoState adds u. It returns ErrDuplicate if there already is a state for this appointment and version. It
	// returns ErrInvalid if there is no such appointment.
	InsertUndoState(ctx context.Context, u UndoState) error
	// ForgetUndoStates deletes up to limit states that expired before the instant, and returns how many.
	ForgetUndoStates(ctx context.Context, before time.Time, limit int) (int, error)
}
