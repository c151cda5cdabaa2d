package enginetest

import (
	"context"
	"time"

	"holdfast/engine/booking"
	"holdfast/store"
)

// DeskCancels cancels an appointment as the desk. The cancellation can be undone.
func (c *TestClinic) DeskCancels(id string) store.Appointment {
	c.T.Helper()
	a, err := c.Booking.Cancel(context.Background(), booking.CancelRequest{ID: id, Actor: Jo, Undoable: true})
	if err != nil {
		c.T.Fatal(err)
	}
	return a
}

// DeskMoves moves an appointment as the desk. The move can be undone.
func (c *TestClinic) DeskMoves(id string, to time.Time) store.Appointment {
	c.T.Helper()
	a, err := c.Booking.Reschedule(context.Background(), booking.RescheduleRequest{ID: id,
		SlotStart: to, Actor: Jo, IgnoreHours: true, Undoable: true})
	if err != nil {
		c.T.Fatal(err)
	}
	return a
}

// Same returns the parts of an appointment that an undo restores.
func Same(a store.Appointment) store.Appointment {
	a.Version, a.UpdatedAt = 0, time.Time{}
	return a
}

// AnnSays changes an appointment on behalf of a colleague, without sending a notice.
func (c *TestClinic) AnnSays(id string) {
	c.T.Helper()
	if _, err := c.Booking.ChangeAppointment(context.Background(), id, 0, booking.Change{
		Kind: booking.ChangeUpdated, Actor: "user:ann", Silent: true,
	},
		func(_ store.Tx, a *store.Appointment, _ time.Time) (bool, error) {
			a.Patient.Notes = "x"
			return true, nil
		}); err != nil {
		c.T.Error(err)
	}
}
