package booking_test

import (
	"errors"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/store"
)

// TestBookAnyRefusesOverbookedTime: an appointment outside the guarantee occupies its time like any other, even though
// the database would accept a second booking there.
func TestBookAnyRefusesOverbookedTime(t *testing.T) {
	t.Parallel()
	for name, priorities := range enginetest.PriorityOrders {
		t.Run(name, func(t *testing.T) {
			c := enginetest.NewClinic(t, priorities)
			for n, specialist := range []string{"ada", "ben", "cem"} {
				r := enginetest.BookingOf(n, "checkup")
				r.SlotStart, r.SpecialistID, r.Source, r.OverbookReason = c.Start, specialist, store.SourceStaff, "pain"
				c.MustBook(r)
			}
			c.Slot(9, "checkup", c.Start.Add(time.Hour), "") // the whole day is in memory now
			events := c.Events(holds.EventHold)
			if s := c.Slot(9, "checkup", c.Start, ""); s != nil {
				t.Errorf("the overbooked start is listed as %+v", s)
			}
			wantStarts(t, "booked in a poll", poll(c, 9, "checkup", "", time.Time{}).Booked, c.Start)
			any := enginetest.BookingOf(9, "checkup")
			any.SlotStart = c.Start
			if a, err := c.Book(any); !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("a booking for any specialist: got %s with %s, %v; want %v", a.ID, a.SpecialistID, err,
					store.ErrSlotTaken)
			}
			if _, err := c.Hold(9, "checkup", c.Start, ""); !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("a hold of any specialist: got %v, want %v", err, store.ErrSlotTaken)
			}
			if got := events(); len(got) != 0 {
				t.Errorf("%d holds of taken time were published, first %+v", len(got), got[0])
			}
		})
	}
}

// TestMoveTakesAnotherSpecialistIfOwnIsHeld: if another client holds the time of the patient's own specialist, a move
// that names no specialist takes any free one, as the listing shows.
func TestMoveTakesAnotherSpecialistIfOwnIsHeld(t *testing.T) {
	t.Parallel()
	for name, priorities := range enginetest.PriorityOrders {
		t.Run(name, func(t *testing.T) {
			c := enginetest.NewClinic(t, priorities)
			r := enginetest.BookingOf(1, "checkup")
			r.SlotStart, r.SpecialistID = c.Start, "ben"
			a := c.MustBook(r)
			to := c.Start.Add(time.Hour)
			c.MustHold(2, "checkup", to, "ben")
			moved, err := c.Booking.Reschedule(t.Context(),
				booking.RescheduleRequest{ID: a.ID, SlotStart: to, Client: enginetest.Client(1), Actor: "client"})
			if err != nil || moved.SpecialistID == "ben" || !moved.SlotStart.Equal(to) {
				t.Fatalf("got %s at %s, %v; want another specialist at %s", moved.SpecialistID, moved.SlotStart, err,
					to)
			}
			// The move prefers the appointment's own specialist, if free.
			back, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
				SlotStart: c.Start, Client: enginetest.Client(1), Actor: "client"})
			if err != nil || back.SpecialistID != moved.SpecialistID {
				t.Errorf("got %s, %v; want %s again", back.SpecialistID, err, moved.SpecialistID)
			}
			// If other clients hold the time of all specialists, the move is refused, and the error says when the first
			// hold expires.
			for n, id := range []string{"ada", "cem"} {
				if id != back.SpecialistID {
					c.MustHold(3+n, "checkup", to, id)
				}
			}
			c.MustHold(9, "checkup", to, back.SpecialistID)
			var held *holds.HeldError
			if _, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
				SlotStart: to, Client: enginetest.Client(1), Actor: "client"}); !errors.As(err, &held) {
				t.Errorf("with all held: got %v, want a HeldError", err)
			}
		})
	}
}
