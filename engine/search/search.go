// Package search answers questions about free time: which start is the next, which suit somebody at the telephone, and why one
// cannot be had. It changes nothing, and knows only what package booking lists.
package search

import (
	"context"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Search answers questions about free time. It is safe for concurrent use.
type Search struct {
	store   store.Reader
	holds   holds.Table
	clinic  *clinic.Clinic
	booking *booking.Booking
}

// New returns a Search.
func New(s store.Reader, live holds.Table, c *clinic.Clinic, b *booking.Booking) *Search {
	return &Search{s, live, c, b}
}

// NextAvailable returns the first slot with a free seat that nobody holds, at or after the instant, up to the type's
// horizon. ErrNoSlots, store.ErrNotFound, *ValidationError.
func (se *Search) NextAvailable(ctx context.Context, appointmentTypeID, specialistID, place string, after time.Time) (booking.Timeslot, error) {
	s := se.clinic.Current()
	t, zone, err := s.Listed(appointmentTypeID, specialistID)
	if err != nil {
		return booking.Timeslot{}, err
	}
	now := time.Now()
	if after.Before(now) {
		after = now
	}
	last := store.DateOf(now.AddDate(0, 0, t.HorizonDays+1).In(zone))
	for from := store.DateOf(after.In(zone)); !last.Before(from); from = from.AddDays(booking.DefaultTimeslotDays) {
		list, err := se.booking.Timeslots(ctx, booking.TimeslotsRequest{
			AppointmentTypeID: appointmentTypeID, SpecialistID: specialistID, Place: place, From: from, To: from.AddDays(booking.DefaultTimeslotDays),
		})
		if err != nil {
			return booking.Timeslot{}, err
		}
		for _, slot := range list.Slots {
			if slot.Available > 0 && !slot.Start.Before(after) {
				return slot, nil
			}
		}
	}
	return booking.Timeslot{}, record.ErrNoSlots
}
