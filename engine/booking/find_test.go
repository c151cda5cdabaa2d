package booking_test

import (
	"slices"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestDeskFindsFreeTimes: the desk finds free times by specialist, weekday and part of the day, and none that is
// booked or held.
func TestDeskFindsFreeTimes(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 2, "bea": 1})
	day := store.DateOf(c.Start)
	find := func(r booking.FindRequest) []booking.Timeslot {
		t.Helper()
		r.AppointmentTypeID, r.Count = "checkup", max(r.Count, 1)
		if r.From == (store.Date{}) {
			r.From = day
		}
		list, err := c.Booking.FreeTimes(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	noon := store.TimeOfDay(12 * 60)
	got := find(booking.FindRequest{Earliest: noon, Count: 3})
	if len(got) != 3 || !got[0].Start.Equal(c.Start) || !slices.Equal(got[0].SpecialistIDs, []string{"ada", "bea"}) {
		t.Fatalf("from noon: %+v", got)
	}
	// A time that is booked with one specialist is free with the other. A client that holds the other specialist's time
	// still finds it.
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart, r.SpecialistID = c.Start, "ada"
	c.MustBook(r)
	if got := find(booking.FindRequest{Earliest: noon}); !got[0].Start.Equal(c.Start) ||
		!slices.Equal(got[0].SpecialistIDs, []string{"bea"}) {
		t.Errorf("booked with ada: %+v", got)
	}
	c.MustHold(2, "checkup", c.Start, "bea")
	if got := find(booking.FindRequest{Earliest: noon}); !got[0].Start.After(c.Start) {
		t.Errorf("held with bea: %+v", got)
	}
	if got := find(booking.FindRequest{Earliest: noon, Client: enginetest.Client(2)}); !got[0].Start.Equal(c.Start) {
		t.Errorf("held by the same client: %+v", got)
	}
	// Only ada, only in the morning, only on one weekday.
	weekday := store.Weekday(c.Start.AddDate(0, 0, 6).Weekday())
	for _, slot := range find(booking.FindRequest{SpecialistIDs: []string{"ada"}, Latest: noon,
		Weekdays: []store.Weekday{weekday}, Count: 20}) {
		if slot.Start.Weekday() != time.Weekday(weekday) || slot.Start.Hour() >= 12 ||
			!slices.Equal(slot.SpecialistIDs, []string{"ada"}) {
			t.Errorf("found %+v", slot)
		}
	}
	if got := find(booking.FindRequest{Latest: noon, Weekdays: []store.Weekday{weekday}}); len(got) == 0 {
		t.Error("found no time")
	}
	// Past times are not found, and an error names the wrong field.
	if got := find(booking.FindRequest{From: day.AddDays(-400)}); len(got) == 0 || got[0].Start.Before(time.Now()) {
		t.Errorf("from a past date: %+v", got)
	}
	for _, r := range []booking.FindRequest{
		{AppointmentTypeID: "nothing", Count: 1}, {AppointmentTypeID: "checkup", SpecialistIDs: []string{"unknown"}, Count: 1},
		{AppointmentTypeID: "checkup", Earliest: noon, Latest: noon, Count: 1},
	} {
		if _, err := c.Booking.FreeTimes(t.Context(), r); err == nil {
			t.Errorf("%+v is answered", r)
		}
	}
}
