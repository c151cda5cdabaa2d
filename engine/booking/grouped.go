package booking

import (
	"context"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// What the packages series and visit still ask piece by piece.

// WithoutNotice returns a type without notice and horizon.
func WithoutNotice(t *store.AppointmentType) *store.AppointmentType {
	open := *t
	open.MinNoticeMinutes, open.HorizonDays = -24*60*366, 366*100
	return &open
}

// Needs returns what slots of t need besides their specialists, by the occupied time between two instants.
func (bk *Booking) Needs(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, first, last time.Time, moving string) (*availability.Needs, error) {
	if len(t.Needs) == 0 {
		return nil, nil
	}
	taken, err := bk.TakenTime(ctx, availability.ResourcesOf(t), first, last)
	return availability.NeedsOf(s.Calendars, t, taken, moving), err
}
