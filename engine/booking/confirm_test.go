package booking

import (
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// TestConfirmsWaitForTheEvent: one second after it appears in the feed, a booking is overdue, once, unless its event
// arrived first or the booking ended.
func TestConfirmsWaitForTheEvent(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	taken := func(start time.Time, seat int) *store.Taken {
		return &store.Taken{SpecialistID: "ada", Seat: seat, SlotStart: start, SlotEnd: start.Add(30 * time.Minute)}
	}
	event := func(bk *Booking, start time.Time, minutes, seat int) {
		end := start.Add(time.Duration(minutes) * time.Minute)
		bk.Confirmed(&holds.Span{SpecialistID: "ada", Seat: seat, SlotStart: start, SlotEnd: end})
	}
	booked := &store.Change{ID: "a1", After: taken(noon, 1)}
	for name, test := range map[string]struct {
		happens func(*Booking)
		overdue int
	}{
		"no event":              {func(bk *Booking) { bk.FollowBooking(booked) }, 1},
		"event after the feed":  {func(bk *Booking) { bk.FollowBooking(booked); event(bk, noon, 30, 1) }, 0},
		"event before the feed": {func(bk *Booking) { event(bk, noon, 30, 1); bk.FollowBooking(booked) }, 0},
		"event of another seat": {func(bk *Booking) { bk.FollowBooking(booked); event(bk, noon, 30, 0) }, 1},
		"event of another start": {func(bk *Booking) {
			bk.FollowBooking(booked)
			event(bk, noon.Add(time.Hour), 30, 1)
		}, 1},
		"event of a whole visit": {func(bk *Booking) {
			bk.FollowBooking(booked)
			event(bk, noon.Add(-time.Hour), 120, 1)
		}, 0},
		"cancelled in the second": {func(bk *Booking) {
			bk.FollowBooking(booked)
			bk.FollowBooking(&store.Change{ID: "a1", Before: booked.After})
		}, 0},
		"attendance": {func(bk *Booking) {
			bk.FollowBooking(&store.Change{ID: "a1", Before: taken(noon, 1), After: taken(noon, 1)})
		}, 0},
		"moved in the second": {func(bk *Booking) {
			bk.FollowBooking(booked)
			bk.FollowBooking(&store.Change{ID: "a1", Before: booked.After, After: taken(noon.Add(time.Hour), 1)})
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bk := &Booking{confirms: newConfirms()}
			test.happens(bk)
			if list, wait := bk.confirms.overdue(time.Now().Add(-time.Minute)); len(list) != 0 ||
				(wait > 0) != (test.overdue > 0) {
				t.Errorf("within the first second: got %d overdue, %v to wait", len(list), wait)
			}
			if list, wait := bk.confirms.overdue(time.Now().Add(time.Hour)); len(list) != test.overdue || wait >= 0 {
				t.Errorf("after one second: got %d overdue, %v to wait; want %d and none", len(list), wait, test.overdue)
			}
			if list, _ := bk.confirms.overdue(time.Now().Add(time.Hour)); len(list) != 0 {
				t.Errorf("got %d a second time, want none", len(list))
			}
		})
	}
}
