package booking_test

import (
	"context"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// BenchmarkTimeslots lists 30 days, pooled over 20 specialists whose calendars are 90% full. It measures three cases:
// reading from the database, as in the first call after a start; recomputing from the taken time in memory, as after
// every booking; and reading from the slot cache.
func BenchmarkTimeslots(b *testing.B) {
	e, _ := enginetest.BookedClinic(b, 20, 30)
	today := store.DateOf(time.Now().UTC())
	ask := booking.TimeslotsRequest{AppointmentTypeID: "checkup", From: today, To: today.AddDays(30)}
	for _, x := range []struct {
		name   string
		before func()
	}{
		{"read", func() {
			e.Booking.ForgetTaken()
			e.Clinic.MoveGenerations()
		}},
		{"computed", func() { e.Clinic.MoveGenerations() }},
		{"cached", func() {}},
	} {
		b.Run(x.name, func(b *testing.B) {
			if _, err := e.Booking.Timeslots(context.Background(), ask); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				x.before()
				if _, err := e.Booking.Timeslots(context.Background(), ask); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPooledHoldBuildsNoLists: every booking invalidates its type's lists. A hold without a named specialist does not
// compute a new list for each of many specialists.
func TestPooledHoldBuildsNoLists(t *testing.T) {
	e, _ := enginetest.BookedClinic(t, 100, 1)
	start := record.Now().Truncate(24*time.Hour).AddDate(0, 0, 3).Add(8 * time.Hour)
	allocations := testing.AllocsPerRun(10, func() {
		e.Clinic.MoveGenerations()
		h, err := e.Booking.Hold(t.Context(), booking.HoldRequest{AppointmentTypeID: "checkup",
			SlotStart: start, Client: "client-0123456789abcdef"})
		if err != nil {
			t.Fatal(err)
		}
		e.Booking.Release(t.Context(), h, holds.ReasonReleased)
	})
	if allocations > 10*100 {
		t.Errorf("a hold of any of 100 specialists takes %.0f allocations; a list of each takes several thousand",
			allocations)
	}
}
