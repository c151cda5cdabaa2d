package booking

import (
	"context"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Search answers questions about free time: which start is the next, which ones suit a caller, and why a start cannot
// be booked. It changes nothing. It is safe for concurrent use.
type Search struct {
	store   store.Reader
	holds   holds.Table
	clinic  *clinic.Clinic
	booking *Booking
}

// NewSearch returns a Search.
func NewSearch(s store.Reader, live holds.Table, c *clinic.Clinic, b *Booking) *Search {
	return &Search{s, live, c, b}
}

// NextAvailable returns the first slot with a free seat that no client holds, at or after the instant, up to the
// type's horizon. ErrNoSlots, store.ErrNotFound, *ValidationError.
func (se *Search) NextAvailable(ctx context.Context, appointmentTypeID, specialistID, place string, after time.Time) (Timeslot, error) {
	s := se.clinic.Current()
	t, zone, err := s.Listed(appointmentTypeID, specialistID)
	if err != nil {
		return Timeslot{}, err
	}
	now := time.Now()
	if after.Before(now) {
		after = now
	}
	last := store.DateOf(now.AddDate(0, 0, t.HorizonDays+1).In(zone))
	for from := store.DateOf(after.In(zone)); !last.Before(from); from = from.AddDays(DefaultTimeslotDays) {
		list, err := se.booking.Timeslots(ctx, TimeslotsRequest{
			AppointmentTypeID: appointmentTypeID, SpecialistID: specialistID, Place: place, From: from, To: from.AddDays(DefaultTimeslotDays),
		})
		if err != nil {
			return Timeslot{}, err
		}
		for _, slot := range list.Slots {
			if slot.Available > 0 && !slot.Start.Before(after) {
				return slot, nil
			}
		}
	}
	return Timeslot{}, record.ErrNoSlots
}
