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

// PublicHoldTTL is the longest TTL of a public hold, unless its type's holdTtlSeconds is longer. It is enough time
// to fill in a form. A page that is still open extends its hold.
const PublicHoldTTL = 5 * time.Minute

// LimitTTL limits the TTL that the public can request for a hold on a type. It returns a TTL above clinic.MaxHoldTTL
// unchanged so that it will be refused later.
func (bk *Booking) LimitTTL(appointmentTypeID string, asked time.Duration) time.Duration {
	most := PublicHoldTTL
	if t, ok := bk.clinic.Current().Types[appointmentTypeID]; ok {
		most = max(most, time.Duration(t.HoldTTLSeconds)*time.Second)
	}
	if asked > clinic.MaxHoldTTL {
		return asked
	}
	return min(asked, most)
}

// LimitExtension is like LimitTTL, but for an extension of an existing hold.
func (bk *Booking) LimitExtension(ctx context.Context, holdID string, asked time.Duration) time.Duration {
	if asked <= PublicHoldTTL || !record.ValidID(holdID) {
		return asked
	}
	h, err := bk.holds.Hold(ctx, holdID)
	if err != nil {
		return asked // the extension will return the error
	}
	return bk.LimitTTL(h.AppointmentTypeID, asked)
}

// Room is the number of consecutive appointments, booked or not, that fit into the opening hours of a day or a week.
type Room struct {
	Period int64 // the number of the day or week, in the specialist's local time
	Seats  int
}

// RoomAround returns how many appointments of the hold's type fit into its specialist's opening hours on the hold's day
// and in its week (starting on Monday).
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

// DayAround returns the local day of a hold's specialist, in days since 1970, as RoomAround numbers it.
func (bk *Booking) DayAround(h *holds.Span) int64 {
	c := bk.clinic.Current().Calendars[h.SpecialistID]
	if c == nil {
		return 0
	}
	return availability.DayOf(store.DateOf(h.SlotStart.In(c.Zone())))
}

// roomOf counts the seats in a range of days. It counts only one of several overlapping slots.
func roomOf(c *availability.Calendar, t *store.AppointmentType, from store.Date, days int) int {
	slots, free := 0, int64(0)
	for _, start := range c.Starts(nil, t, availability.StartOfDay(c.Zone(), from),
		availability.StartOfDay(c.Zone(), from.AddDays(days))) {
		if start >= free {
			slots, free = slots+1, start+availability.Minutes(t.DurationMinutes).Milliseconds()
		}
	}
	return slots * max(t.Capacity, 1)
}

// SessionWaits reports whether this owner's session request is waiting for a specialist, and until when. If the store
// cannot be read, it returns true and an instant one second from now.
func (bk *Booking) SessionWaits(ctx context.Context, owner string) (time.Time, bool) {
	now := record.Now()
	list, err := bk.store.Sessions(ctx, store.SessionFilter{Owner: owner,
		Statuses: []store.SessionStatus{store.SessionRequested}})
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
