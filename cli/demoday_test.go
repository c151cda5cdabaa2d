package cli

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// TestTheDemosDayIsInFullSwingAtEveryHour: whenever it is started, it is late morning at the clinic, some have been and some
// are to come, there is a group and a break, and free times are left for the rest of the day.
func TestTheDemosDayIsInFullSwingAtEveryHour(t *testing.T) {
	t.Parallel()
	days := []time.Time{
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 18, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC),
	}
	for _, day := range days {
		for minutes := 0; minutes < 24*60; minutes += 20 {
			now := day.Add(time.Duration(minutes) * time.Minute)
			f, err := demoClinicAt(now)
			if err != nil {
				t.Fatal(err)
			}
			zone, err := time.LoadLocation(f.Clinic.Timezone)
			if err != nil {
				t.Fatal(err)
			}
			local := now.In(zone)
			if local.Hour() < demoHour-1 || local.Hour() > demoHour+1 {
				t.Errorf("at %s it is %s at the clinic in %s", now, local, zone)
			}
			visits, pause, err := demoDay(now, f)
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
			if seen[store.Completed] < 6 || seen[store.InProgress] < 1 || seen[store.Arrived] < 1 || seen[store.Expected] < 6 || len(seats) != 2 {
				t.Errorf("at %s: got %v and groups at %v; want a day in full swing", local, seen, seats)
			}
			if pause.Start.Before(now) || pause.End.Sub(now) > 4*time.Hour || store.DateOf(pause.Start.In(zone)) != today {
				t.Errorf("at %s the break is %s to %s, want it soon", local, pause.Start, pause.End)
			}
			working := 0
			for _, p := range f.Specialists {
				c, err := availability.NewCalendar(store.Specialist{ID: p.ID, Timezone: p.Timezone, Active: true}, weekly(p.WeeklyHours), nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if c.Bookable(&store.AppointmentType{DurationMinutes: 30, SlotStepMinutes: 30, Capacity: 1, HorizonDays: 9, Active: true}, local.Truncate(time.Hour).Add(5*time.Hour), nil, now) == "" {
					working++
				}
			}
			if working < 3 {
				t.Errorf("at %s only %d work in five hours", local, working)
			}
		}
	}
}

// TestTheDemoBeginsWithAQueueThatMoves: the day is there, and of what the practice system is to have something has arrived
// and something waits, five seconds after the start and half a minute later.
func TestTheDemoBeginsWithAQueueThatMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(72 * time.Hour) // the bubble begins with the year 2000, and so does what can be booked
		cfg, _, err := resolved(t, nil, "--data", filepath.Join(t.TempDir(), "data"), "--admin-key", longEnough)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		file, err := demoClinicAt(now)
		if err != nil {
			t.Fatal(err)
		}
		h, err := openHouse(t.Context(), cfg, houseOptions{log: slog.New(slog.DiscardHandler), demo: true, line: newPractice(&cfg, file)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.engine.Clinic.Import(t.Context(), localActor, file); err != nil {
			t.Fatal(err)
		}
		if err := h.furnish(t.Context(), now, file); err != nil {
			t.Fatal(err)
		}
		visits, _, _ := demoDay(now, file)
		list, _, err := h.engine.Booking.Appointments(t.Context(), store.AppointmentFilter{Limit: 500})
		if err != nil || len(list) != len(visits) {
			t.Errorf("got %d of %d visits, %v", len(list), len(visits), err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { h.engine.Run(ctx) })
		for _, after := range []time.Duration{5 * time.Second, 25 * time.Second} {
			time.Sleep(after)
			synctest.Wait()
			q, err := h.engine.Outbound.Status(t.Context(), outbound.QueueFilter{Kinds: []store.OperationKind{store.UpstreamBook}})
			if err != nil || q.Completed == 0 || q.Pending == 0 || q.Failed > 0 {
				t.Errorf("after %v: got %+v, %v; want something delivered and something that waits", after, q.OperationCounts, err)
			}
		}
		stop()
		running.Wait()
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
}

// weekly are the hours of a specialist as the store has them.
func weekly(hours []clinic.HoursEntry) (all []store.WeeklyWindow) {
	for _, h := range hours {
		all = append(all, store.WeeklyWindow{Weekday: h.Weekday, Window: store.Window{Start: h.Start, End: h.End}})
	}
	return all
}
