package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

// testUndo checks that a state is found by its appointment and the version that the change gave the appointment, and
// that the states of one change are listed together. An earlier state of the same appointment remains stored until it
// expires.
func testUndo(t *testing.T, h Harness) {
	s := h.open(t)
	clinic(t, s)
	ctx := t.Context()
	first := mustInsert(t, s, booking("ada", "checkup", 0, 30))
	second := mustInsert(t, s, booking("ada", "checkup", 60, 30))
	complete := store.UndoState{
		AppointmentID: first.ID, Version: 2, ChangeID: "c1", Actor: "user:jo", At: monday,
		ExpiresAt: monday.Add(12 * time.Second), AppointmentTypeID: "checkup", SpecialistID: "ada",
		SlotStart: monday.Add(time.Hour), SlotEnd: monday.Add(2 * time.Hour), Overbook: true,
		OverbookReason: "in\npain", Resources: []string{"room", "laser"}, UpstreamState: store.UpstreamPending,
		ManageEpoch: 3, VisitID: "v1",
	}
	small := store.UndoState{AppointmentID: second.ID, Version: 2, ChangeID: "c1", At: monday, ExpiresAt: monday,
		SlotStart: monday, SlotEnd: monday}
	later := small
	later.Version, later.ChangeID = 3, "c2"
	insert := func(u store.UndoState) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.InsertUndoState(ctx, u) })
	}
	for _, u := range []store.UndoState{complete, small, later} {
		wantErr(t, "InsertUndoState", insert(u), nil)
		if got, err := s.UndoState(ctx, u.AppointmentID, u.Version); err != nil || !reflect.DeepEqual(got, u) {
			t.Errorf("got %+v, %v; want %+v", got, err, u)
		}
	}
	for change, want := range map[string][]store.UndoState{"c1": {small, complete}, "c2": {later}, "unknown": nil} {
		if got, err := s.UndoStates(ctx, change); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("of change %s: got %+v, %v; want %+v", change, got, err, want)
		}
	}
	_, err := s.UndoState(ctx, first.ID, 1)
	wantErr(t, "of a change that cannot be undone", err, store.ErrNotFound)
	wantErr(t, "the same version again", insert(small), store.ErrDuplicate)
	unknown := small
	unknown.AppointmentID = "unknown"
	wantErr(t, "of an unknown appointment", insert(unknown), store.ErrInvalid)
	refused := later
	refused.Version = 4
	wantErr(t, "a write that fails", s.Write(ctx, func(tx store.Tx) error {
		if err := tx.InsertUndoState(ctx, refused); err != nil {
			return err
		}
		if _, err := tx.UndoState(ctx, refused.AppointmentID, 4); err != nil {
			t.Errorf("in its transaction: %v", err)
		}
		return store.ErrVersion
	}), store.ErrVersion)
	_, err = s.UndoState(ctx, refused.AppointmentID, 4)
	wantErr(t, "after a write that failed", err, store.ErrNotFound)
}
