package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/store"
	"holdfast/web/pipetest"
)

// demoHouse is the demo's house with its clinic, not serving.
func demoHouse(t *testing.T) (*house, clinic.File) {
	t.Helper()
	cfg, _, err := resolved(t, nil, "--data", filepath.Join(t.TempDir(), "data"), "--rate-limit", "off", "--admin-key", longEnough)
	if err != nil {
		t.Fatal(err)
	}
	h, err := openHouse(t.Context(), cfg, houseOptions{log: slog.New(slog.DiscardHandler), demo: true})
	if err != nil {
		t.Fatal(err)
	}
	clinic, err := demoClinicAt(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.engine.Clinic.Import(t.Context(), localActor, clinic); err != nil {
		t.Fatal(err)
	}
	return h, clinic
}

// TestTheDemoAlwaysHasFreeSlots: whenever somebody tries it, there is something to book today and on each day to come.
func TestTheDemoAlwaysHasFreeSlots(t *testing.T) {
	t.Parallel()
	h, _ := demoHouse(t)
	defer h.close()
	schedule, zone := h.engine.Clinic.Schedule(), h.engine.Clinic.Zone()
	calendars := map[string]*availability.Calendar{}
	for _, s := range schedule.Specialists {
		var err error
		if calendars[s.ID], err = availability.NewCalendar(s, schedule.WeeklyHours[s.ID], schedule.Overrides[s.ID], schedule.Blocks[s.ID]); err != nil {
			t.Fatal(err)
		}
	}
	midnight := availability.StartOfDay(zone, store.Date{Year: 2026, Month: time.November, Day: 23})
	for at := range 28 { // a week, at four times of the day
		now := midnight.Add(time.Duration(at) * 6 * time.Hour)
		today := store.DateOf(now.In(zone))
		for day := range 14 {
			from, to := availability.StartOfDay(zone, today.AddDays(day)), availability.StartOfDay(zone, today.AddDays(day+1))
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
				t.Errorf("at %s nothing can be booked on %s", now.In(zone), today.AddDays(day))
			}
		}
	}
}

// TestTheVisitorsKeepItMoving, and never fill the calendar: ten minutes of the demo, in virtual time.
func TestTheVisitorsKeepItMoving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, clinic := demoHouse(t)
		ctx, stop := context.WithCancel(t.Context())
		listener := pipetest.NewListener()
		var serving, visiting sync.WaitGroup
		serving.Go(func() { h.engine.Run(ctx) })
		serving.Go(func() { _ = h.web.Serve(ctx, listener) })

		var said bytes.Buffer
		v := newVisitors("http://demo.test", longEnough, clinic, slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})))
		v.http.Transport = &http.Transport{DialContext: listener.Dial}
		leave, left := context.WithCancel(t.Context())
		visiting.Go(func() { v.run(leave) })

		held, most := 0, 0
		for range 10 {
			time.Sleep(time.Minute)
			holds, err := h.engine.Booking.Holds(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			list, _, err := h.engine.Booking.Appointments(t.Context(), store.AppointmentFilter{Status: store.Confirmed, Limit: 500})
			if err != nil {
				t.Fatal(err)
			}
			held, most = held+len(holds), max(most, len(list))
		}
		left()
		visiting.Wait()
		cancelled, _, err := h.engine.Booking.Appointments(t.Context(), store.AppointmentFilter{Status: store.Cancelled, Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		if held == 0 || most < 5 || len(cancelled) < 5 {
			t.Errorf("got %d holds seen, %d appointments at most, %d cancelled; want some of each; they said:\n%.2000s",
				held, most, len(cancelled), said.String())
		}
		if limit := mostBooked + visitorCount; most > limit {
			t.Errorf("got %d appointments at a time, want at most %d", most, limit)
		}
		stop()
		serving.Wait()
		if err := errors.Join(h.store.Check(context.Background()), h.close()); err != nil {
			t.Error(err)
		}
	})
}

// The demo's patients are invented and everybody can read its password, so it sends no email and only this machine reaches it.
func TestDemoRefusesMailServerAndNetwork(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--smtp-url", "smtp://127.0.0.1:2525", "--listen", "127.0.0.1:0"}, "remove --smtp-url"},
		{[]string{"--listen", "0.0.0.0:0"}, "loopback only"},
		{[]string{"--listen", ":0"}, "loopback only"},
	} {
		got := command(t, nil, "", append([]string{"demo"}, c.args...)...)
		if got.code != 1 {
			t.Errorf("%v: exit code %d, want 1", c.args, got.code)
		}
		contains(t, strings.Join(c.args, " "), got.stderr, c.says)
	}
}

// TestTheDemoFromStartToEnd: seeded, on any port if its own is taken, and its directory is gone afterwards.
func TestTheDemoFromStartToEnd(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s := started(t, "demo", "--listen", "127.0.0.1:0")
	status, body := get(t, s.base+"/v1/appointment-types", "")
	var types struct {
		AppointmentTypes []struct {
			Capacity           int `json:"capacity"`
			BufferAfterMinutes int `json:"bufferAfterMinutes"`
		} `json:"appointmentTypes"`
	}
	if err := json.Unmarshal([]byte(body), &types); err != nil || status != http.StatusOK || len(types.AppointmentTypes) != 5 {
		t.Fatalf("appointment types: got %d %s", status, body)
	}
	group, buffers := false, false
	for _, a := range types.AppointmentTypes {
		group, buffers = group || a.Capacity >= 6, buffers || a.BufferAfterMinutes > 0
	}
	if !group || !buffers {
		t.Errorf("a group type: %t, one with buffers: %t; want both", group, buffers)
	}
	temporary := func() []string {
		found, err := filepath.Glob(filepath.Join(tmp, "holdfast-demo-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if n := len(temporary()); n != 1 {
		t.Errorf("got %d temporary directories, want 1", n)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(t); code != 0 {
		t.Errorf("exit code: got %d, want 0; it said %s", code, s.stderr)
	}
	if left := temporary(); len(left) != 0 {
		t.Errorf("got %v left behind, want nothing", left)
	}
	if strings.Contains(s.stderr.String(), "level=ERROR") {
		t.Errorf("the log: %s", s.stderr)
	}
}
