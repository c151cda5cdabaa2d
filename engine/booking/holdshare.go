package booking

import (
	"context"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// PublicHoldTTL is how long a hold of the public may live at a time, where its type's holdTtlSeconds is not longer: the
// time of a form. A page that is still open extends it.
const PublicHoldTTL = 5 * time.Minute

// PublicTTL bounds what the public asks for as the life of a hold of a type. What is out of the bounds of any hold is left
// as it is, to be refused.
func (bk *Booking) PublicTTL(appointmentTypeID string, asked time.Duration) time.Duration {
	most := PublicHoldTTL
	if t, ok := bk.clinic.Current().Types[appointmentTypeID]; ok {
		most = max(most, time.Duration(t.HoldTTLSeconds)*time.Second)
	}
	if asked > clinic.MaxHoldTTL {
		return asked
	}
	return min(asked, most)
}

// PublicTTLFor is PublicTTL for a hold that is there.
func (bk *Booking) PublicTTLFor(ctx context.Context, holdID string, asked time.Duration) time.Duration {
	if asked <= PublicHoldTTL || !record.ValidID(holdID) {
		return asked
	}
	h, err := bk.holds.Hold(ctx, holdID)
	if err != nil {
		return asked // extending it will say so
	}
	return bk.PublicTTL(h.AppointmentTypeID, asked)
}

// Room is how many appointments one after the other the opening hours have room for, booked or not.
type Room struct {
	Period int64 // which day or week it is, on the specialist's wall
	Seats  int
}

// RoomAround says what the day and the week (from Monday) of a hold's specialist have room for, of the hold's type.
func (bk *Booking) RoomAround(h *holds.Span) (day, week Room) {
	s := bk.clinic.Current()
	t, c := s.Types[h.AppointmentTypeID], s.Calendars[h.SpecialistID]
	if t == nil || c == nil {
		return Room{}, Room{}
	}
	date := store.DateOf(h.SlotStart.In(c.Zone()))
	day.Period = availability.DayOf(date)
	day.Seats = roomOf(c, t, date, 1)
	week.Period = (day.Period + 3) / 7 // 1970-01-01 was a Thursday
	week.Seats = roomOf(c, t, date.AddDays(int(week.Period*7-3-day.Period)), 7)
	return day, week
}

// DayAround is the local day of a hold's specialist, since 1970, as RoomAround counts it.
func (bk *Booking) DayAround(h *holds.Span) int64 {
	c := bk.clinic.Current().Calendars[h.SpecialistID]
	if c == nil {
		return 0
	}
	return availability.DayOf(store.DateOf(h.SlotStart.In(c.Zone())))
}

// roomOf counts the seats of the slots of some days that do not overlap each other.
func roomOf(c *availability.Calendar, t *store.AppointmentType, from store.Date, days int) int {
	slots, free := 0, int64(0)
	for _, start := range c.Starts(nil, t, availability.StartOfDay(c.Zone(), from), availability.StartOfDay(c.Zone(), from.AddDays(days))) {
		if start >= free {
			slots, free = slots+1, start+availability.Minutes(t.DurationMinutes).Milliseconds()
		}
	}
	return slots * max(t.Capacity, 1)
}

// SessionWaits says until when a request for a session by this owner waits for somebody to accept it, and whether one
// does. Where that cannot be told, it waits for another second.
func (bk *Booking) SessionWaits(ctx context.Context, owner string) (time.Time, bool) {
	now := record.Now()
	list, err := bk.store.Sessions(ctx, store.SessionFilter{Owner: owner, Statuses: []store.SessionStatus{store.SessionRequested}})
	if err != nil {
		return now.Add(time.Second), true
	}
	for i := range list {
		if now.Before(list[i].ExpiresAt) {
			return list[i].ExpiresAt, true
		}
	}
	return time.Time{}, false
}
