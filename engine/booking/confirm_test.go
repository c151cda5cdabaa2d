package booking

import (
	"slices"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// TestConfirmsWaitForTheEvent: one second after it appears in the feed, a booking is overdue, once, unless its event
// arrived first or the booking ended. One second after the event of a booking that has ended, its end is published
// again, unless the time has been booked again.
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
	ended := &store.Change{ID: "a1", Before: taken(noon, 1)}
	const isBooked, isFree = holds.EventBooked, holds.EventCancel
	kinds := func(list ...holds.EventKind) []holds.EventKind { return list }
	for name, test := range map[string]struct {
		happens func(*Booking)
		overdue []holds.EventKind
	}{
		"no event":              {func(bk *Booking) { bk.FollowBooking(booked) }, kinds(isBooked)},
		"event after the feed":  {func(bk *Booking) { bk.FollowBooking(booked); event(bk, noon, 30, 1) }, nil},
		"event before the feed": {func(bk *Booking) { event(bk, noon, 30, 1); bk.FollowBooking(booked) }, nil},
		"event of another seat": {func(bk *Booking) {
			bk.FollowBooking(booked)
			event(bk, noon, 30, 0)
		}, kinds(isBooked)},
		"event of another start": {func(bk *Booking) {
			bk.FollowBooking(booked)
			event(bk, noon.Add(time.Hour), 30, 1)
		}, kinds(isBooked)},
		"event of a whole visit": {func(bk *Booking) {
			bk.FollowBooking(booked)
			event(bk, noon.Add(-time.Hour), 120, 1)
		}, nil},
		"cancelled in the second": {func(bk *Booking) {
			bk.FollowBooking(booked)
			bk.FollowBooking(ended)
		}, nil},
		"event after the end": {func(bk *Booking) {
			bk.FollowBooking(booked)
			bk.FollowBooking(ended)
			event(bk, noon, 30, 1)
		}, kinds(isFree)},
		"second event after the end": {func(bk *Booking) {
			event(bk, noon, 30, 1)
			bk.FollowBooking(booked)
			bk.FollowBooking(ended)
			event(bk, noon, 30, 1)
		}, kinds(isFree)},
		"event of a whole visit after its end": {func(bk *Booking) {
			bk.FollowBooking(booked)
			bk.FollowBooking(ended)
			event(bk, noon.Add(-time.Hour), 120, 1)
		}, kinds(isFree)},
		"event of another seat after the end": {func(bk *Booking) {
			bk.FollowBooking(booked)
			bk.FollowBooking(ended)
			event(bk, noon, 30, 0)
		}, nil},
		"event after the end, booked again": {func(bk *Booking) {
			bk.FollowBooking(booked)
			bk.FollowBooking(ended)
			event(bk, noon, 30, 1)
			bk.FollowBooking(&store.Change{ID: "a2", After: taken(noon, 1)})
		}, nil},
		"event after a move": {func(bk *Booking) {
			event(bk, noon.Add(time.Hour), 30, 1)
			bk.FollowBooking(booked)
			bk.FollowBooking(&store.Change{ID: "a1", Before: booked.After, After: taken(noon.Add(time.Hour), 1)})
			event(bk, noon, 30, 1)
		}, kinds(isFree)},
		"event after the end of an appointment in addition": {func(bk *Booking) {
			more := taken(noon, 1)
			more.Overbook = true
			event(bk, noon, 30, 1)
			bk.FollowBooking(booked)
			bk.FollowBooking(&store.Change{ID: "a2", After: more})
			bk.FollowBooking(&store.Change{ID: "a2", Before: more})
			event(bk, noon, 30, 1)
		}, nil},
		"attendance": {func(bk *Booking) {
			bk.FollowBooking(&store.Change{ID: "a1", Before: taken(noon, 1), After: taken(noon, 1)})
		}, nil},
		"moved in the second": {func(bk *Booking) {
			bk.FollowBooking(booked)
			bk.FollowBooking(&store.Change{ID: "a1", Before: booked.After, After: taken(noon.Add(time.Hour), 1)})
		}, kinds(isBooked)},
	} {
		t.Run(name, func(t *testing.T) {
			bk := &Booking{confirms: newConfirms()}
			test.happens(bk)
			if booked, ended, wait := bk.confirms.overdue(time.Now().Add(-time.Minute)); len(booked)+len(ended) != 0 ||
				test.overdue != nil && wait <= 0 {
				t.Errorf("within the first second: got %d booked and %d ended, %v to wait", len(booked), len(ended),
					wait)
			}
			booked, ended, wait := bk.confirms.overdue(time.Now().Add(time.Minute))
			got := append(slices.Repeat(kinds(isBooked), len(booked)), slices.Repeat(kinds(isFree), len(ended))...)
			if !slices.Equal(got, test.overdue) || wait >= 0 {
				t.Errorf("after one second: got %v overdue, %v to wait; want %v and none", got, wait, test.overdue)
			}
			if booked, ended, _ := bk.confirms.overdue(time.Now().Add(time.Hour)); len(booked)+len(ended) != 0 {
				t.Errorf("got %d booked and %d ended a second time, want none", len(booked), len(ended))
			}
		})
	}
}
