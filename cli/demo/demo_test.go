package demo

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
	"holdfast/web"
	"holdfast/web/pipetest"
)

const adminKey = "a-bootstrap-admin-key-for-tests"

// house is a server with the demo's clinic.
type house struct {
	Data
	engine *engine.Engine
	web    *web.Server
	store  *sqlite.Store
	close  func() error
}

// newHouse opens a server that does not serve yet, and imports the demo's clinic.
func newHouse(t *testing.T) (*house, clinic.File) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "holdfast.db")})
	if err != nil {
		t.Fatal(err)
	}
	live := memory.New(memory.Options{Booked: booking.Booked(db)})
	e, err := engine.New(t.Context(), engine.Options{Store: db, Holds: live, AdminKey: adminKey})
	if err != nil {
		t.Fatal(err)
	}
	limits := web.Limits{HoldShare: 100}
	server, err := web.New(e, web.Options{Demo: true, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	f, err := ClinicAt(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Clinic.Import(t.Context(), "system", f); err != nil {
		t.Fatal(err)
	}
	closing := func() error { return errors.Join(live.Close(), db.Close()) }
	return &house{Data{e, "system", slog.New(slog.DiscardHandler)}, e, server, db, closing}, f
}

// TestClinicAlwaysHasFreeSlots: at any hour, a patient can book today and on each later day.
func TestClinicAlwaysHasFreeSlots(t *testing.T) {
	t.Parallel()
	h, _ := newHouse(t)
	defer h.close()
	schedule, zone := h.engine.Clinic.Schedule(), h.engine.Clinic.Zone()
	calendars := map[string]*availability.Calendar{}
	for _, s := range schedule.Specialists {
		var err error
		if calendars[s.ID], err = availability.NewCalendar(s, schedule.WeeklyHours[s.ID], schedule.Overrides[s.ID],
			schedule.Blocks[s.ID]); err != nil {
			t.Fatal(err)
		}
	}
	midnight := availability.StartOfDay(zone, store.Date{Year: 2026, Month: time.November, Day: 23})
	for at := range 28 { // a week, at four times of the day
		now := midnight.Add(time.Duration(at) * 6 * time.Hour)
		today := store.DateOf(now.In(zone))
		for day := range 14 {
			from, to := availability.StartOfDay(zone, today.AddDays(day)),
				availability.StartOfDay(zone, today.AddDays(day+1))
			offered := 0
			for i := range schedule.AppointmentTypes {
				a := &schedule.AppointmentTypes[i]
				var serving []*availability.Calendar
				for _, s := range a.Specialists {
					serving = append(serving, calendars[s.SpecialistID])
				}
				for _, slot := range availability.Pool(serving, a, from, to, nil) {
					if availability.WithinNotice(a, slot.Start, now) == "" {
						offered++
					}
				}
			}
			if offered == 0 {
				t.Errorf("at %s, no time can be booked on %s", now.In(zone), today.AddDays(day))
			}
		}
	}
}

// TestVisitorsNeverFillTheCalendar runs ten minutes of the demo in virtual time. The visitors keep changing the
// calendar, and always leave free slots.
func TestVisitorsNeverFillTheCalendar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, clinic := newHouse(t)
		ctx, stop := context.WithCancel(t.Context())
		listener := pipetest.NewListener()
		var serving, visiting sync.WaitGroup
		serving.Go(func() { h.engine.Run(ctx) })
		serving.Go(func() { _ = h.web.Serve(ctx, listener) })

		var said bytes.Buffer
		v := NewVisitors("http://demo.test", adminKey, clinic,
			slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})))
		v.http.Transport = &http.Transport{DialContext: listener.Dial}
		leave, left := context.WithCancel(t.Context())
		visiting.Go(func() { v.Run(leave) })

		held, most := 0, 0
		for range 10 {
			time.Sleep(time.Minute)
			holds, err := h.engine.Booking.Holds(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			list, _, err := h.engine.Booking.Appointments(t.Context(),
				store.AppointmentFilter{Status: store.Confirmed, Limit: 500})
			if err != nil {
				t.Fatal(err)
			}
			held, most = held+len(holds), max(most, len(list))
		}
		left()
		visiting.Wait()
		cancelled, _, err := h.engine.Booking.Appointments(t.Context(),
			store.AppointmentFilter{Status: store.Cancelled, Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		if held == 0 || most < 5 || len(cancelled) < 5 {
			t.Errorf("got %d holds, at most %d appointments, %d cancelled; want some of each; they printed:\n%.2000s",
				held, most, len(cancelled), said.String())
		}
		if limit := mostBooked + visitorCount; most > limit {
			t.Errorf("got %d concurrent appointments, want at most %d", most, limit)
		}
		stop()
		serving.Wait()
		if err := errors.Join(h.store.Check(context.Background()), h.close()); err != nil {
			t.Error(err)
		}
	})
}
