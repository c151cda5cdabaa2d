package table

import (
	"context"
	"time"

	"holdfast/store"
)

var undoStates = nounOf[store.UndoState]("undo_states", "appointment_id, version")

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
