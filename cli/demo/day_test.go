package demo

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestDemoDayIsBusyAtEveryHour: whenever the demo starts, it is late morning at the clinic. Some patients have already
// been there, and others are still to come. The day has a group, a break and free times.
func TestDemoDayIsBusyAtEveryHour(t *testing.T) {
	t.Parallel()
	days := []time.Time{
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 7, 18, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC),
	}
	for _, day := range days {
		for minutes := 0; minutes < 24*60; minutes += 20 {
			now := day.Add(time.Duration(minutes) * time.Minute)
			f, err := ClinicAt(now)
			if err != nil {
				t.Fatal(err)
			}
			zone, err := time.LoadLocation(f.Clinic.Timezone)
			if err != nil {
				t.Fatal(err)
			}
			local := now.In(zone)
			if local.Hour() < startHour-1 || local.Hour() > startHour+1 {
				t.Errorf("at %s the clinic's time is %s in %s", now, local, zone)
			}
			visits, pause, err := dayOf(now, f)
			if err != nil {
				t.Fatal(err)
			}
			today := store.DateOf(local)
			seen, seats := map[store.Attendance]int{}, map[time.Time]int{}
			for _, v := range visits {
				if store.DateOf(v.start.In(zone)) == today {
					seen[v.attendance]++
				}
				if v.typeID == "back-school" {
					seats[v.start]++
				}
			}
			if seen[store.Completed] < 6 || seen[store.InProgress] < 1 || seen[store.Arrived] < 1 ||
				seen[store.Expected] < 6 || len(seats) != 2 {
				t.Errorf("at %s: got %v and groups at %v; want the middle of the day", local, seen, seats)
			}
			if pause.Start.Before(now) || pause.End.Sub(now) > 4*time.Hour ||
				store.DateOf(pause.Start.In(zone)) != today {
				t.Errorf("at %s the break is %s to %s, want it to start soon", local, pause.Start, pause.End)
			}
			working := 0
			for _, p := range f.Specialists {
				c, err := availability.NewCalendar(store.Specialist{ID: p.ID, Timezone: p.Timezone, Active: true},
					weekly(p.WeeklyHours), nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if c.Bookable(&store.AppointmentType{DurationMinutes: 30, SlotStepMinutes: 30, Capacity: 1,
					HorizonDays: 9, Active: true}, local.Truncate(time.Hour).Add(5*time.Hour), nil, now) == "" {
					working++
				}
			}
			if working < 3 {
				t.Errorf("at %s only %d specialists work within five hours", local, working)
			}
		}
	}
}

// weekly converts the hours of a specialist to the form of the store.
func weekly(hours []clinic.HoursEntry) (all []store.WeeklyWindow) {
	for _, h := range hours {
		all = append(all, store.WeeklyWindow{Weekday: h.Weekday, Window: store.Window{Start: h.Start, End: h.End}})
	}
	return all
}

// TestDemoBooksEveryVisit: every visit of the demo's day fits and is booked.
func TestDemoBooksEveryVisit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(72 * time.Hour) // the bubble begins in the year 2000, and so do the bookable times
		h, f := newHouse(t)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { h.engine.Run(ctx) })
		defer func() { stop(); running.Wait(); _ = h.close() }()
		now := time.Now()
		if err := h.furnish(t.Context(), now, f); err != nil {
			t.Fatal(err)
		}
		visits, _, err := dayOf(now, f)
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := h.engine.Booking.Appointments(t.Context(), store.AppointmentFilter{Limit: 500})
		if err != nil || len(list) != len(visits) {
			t.Errorf("got %d of %d visits, %v", len(list), len(visits), err)
		}
	})
}
