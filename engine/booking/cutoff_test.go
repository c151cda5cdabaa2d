package booking_test

import (
	"errors"
	"testing"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// TestRecordedAttendanceEndsPatientChanges: the desk records the attendance before the start, such as for a patient who
// came early. From then on, the patient can neither move nor cancel the appointment. The desk can.
func TestRecordedAttendanceEndsPatientChanges(t *testing.T) {
	t.Parallel()
	for attendance, isLate := range map[store.Attendance]bool{store.Arrived: false, store.InProgress: true,
		store.Completed: true, store.NoShow: true} {
		t.Run(string(attendance), func(t *testing.T) {
			c := enginetest.NewClinic(t, map[string]int{"ada": 1})
			a := c.BookFor(0, store.Patient{Name: "Ann Smith", Email: "ann@example.org"})
			if _, err := c.Booking.SetAttendance(t.Context(), a.ID, 0, attendance, enginetest.Jo, nil); err != nil {
				t.Fatal(err)
			}
			move := booking.RescheduleRequest{ID: a.ID, SlotStart: a.SlotStart.AddDate(0, 0, 1), Actor: "manage",
				CutOff: true}
			if _, err := c.Booking.Reschedule(t.Context(), move); errors.Is(err, record.ErrCutOff) != isLate {
				t.Errorf("the patient moves: got %v, too late must be %t", err, isLate)
			}
			if isLate {
				cancel := booking.CancelRequest{ID: a.ID, Actor: "manage", CutOff: true}
				if _, err := c.Booking.Cancel(t.Context(), cancel); !errors.Is(err, record.ErrCutOff) {
					t.Errorf("the patient cancels: got %v, want ErrCutOff", err)
				}
			}
			move.Actor, move.CutOff = enginetest.Jo, false
			if _, err := c.Booking.Reschedule(t.Context(), move); err != nil {
				t.Errorf("the desk moves: %v", err)
			}
		})
	}
}
