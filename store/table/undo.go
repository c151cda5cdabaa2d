package table

import (
	"context"
	"time"

	"holdfast/store"
)

var undoStates = nounOf("undo_states", 2, cols(
	text("appointment_id", func(u *store.UndoState) *string { return &u.AppointmentID }),
	long("version", func(u *store.UndoState) *int64 { return &u.Version }),
	text("change_id", func(u *store.UndoState) *string { return &u.ChangeID }),
	text("actor", func(u *store.UndoState) *string { return &u.Actor }),
	instant("at", func(u *store.UndoState) *time.Time { return &u.At }),
	instant("expires_at", func(u *store.UndoState) *time.Time { return &u.ExpiresAt }),
	text("appointment_type_id", func(u *store.UndoState) *string { return &u.AppointmentTypeID }),
	text("specialist_id", func(u *store.UndoState) *string { return &u.SpecialistID }),
	instant("slot_start", func(u *store.UndoState) *time.Time { return &u.SlotStart }),
	instant("slot_end", func(u *store.UndoState) *time.Time { return &u.SlotEnd }),
	truth("overbook", func(u *store.UndoState) *bool { return &u.Overbook }),
	text("overbook_reason", func(u *store.UndoState) *string { return &u.OverbookReason }),
	packed("resources", func(u *store.UndoState) *[]string { return &u.Resources }),
	word("upstream_state", func(u *store.UndoState) *store.UpstreamState { return &u.UpstreamState }),
	long("manage_epoch", func(u *store.UndoState) *int64 { return &u.ManageEpoch }),
	text("visit_id", func(u *store.UndoState) *string { return &u.VisitID }),
))

// UndoState implements store.UndoReader.
func (r Reads) UndoState(ctx context.Context, appointmentID string, version int64) (store.UndoState, error) {
	return undoStates.one(ctx, r.source, `WHERE appointment_id = ? AND version = ?`, appointmentID, version)
}

// UndoStates implements store.UndoReader.
func (r Reads) UndoStates(ctx context.Context, changeID string) ([]store.UndoState, error) {
	return undoStates.list(ctx, r.source, `WHERE change_id = ? ORDER BY slot_start, appointment_id`, changeID)
}

// InsertUndoState implements store.UndoWriter.
func (t *Tx) InsertUndoState(_ context.Context, u store.UndoState) error {
	return t.to.Later(undoStates.insert, undoStates.values(&u)...)
}

// ForgetUndoStates implements store.UndoWriter.
func (t *Tx) ForgetUndoStates(_ context.Context, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM undo_states WHERE (appointment_id, version) IN (
		SELECT appointment_id, version FROM undo_states WHERE expires_at < ? ORDER BY expires_at LIMIT +?)`, before, limit)
}
