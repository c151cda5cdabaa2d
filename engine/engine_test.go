package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
)

// A clinic for the tests: the real engine over a real database and the real table of holds. It is open around the
// clock, in UTC, so that a test names a start by the hours from noon.
type testClinic struct {
	*engine.Engine
	t       testing.TB
	store   *sqlite.Store
	holds   *memory.Backend
	signIns atomic.Int32 // made past the password
	start   time.Time    // a slot start: noon, two days ahead
}

// newClinic opens one with these specialists at these priorities. Its types: "checkup" of 30 minutes, "surgery" of 60
// with buffers of 15 before and 30 after, "class" of 60 with 3 seats, "cooling" of 30 with a cooldown of a day.
func newClinic(t testing.TB, priorities map[string]int) *testClinic {
	t.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "holdfast.db")})
	if err != nil {
		t.Fatal(err)
	}
	live := memory.New(memory.Options{Booked: booking.Booked(db)})
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: live})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Run(run)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		if err := db.Check(ctx); err != nil {
			t.Errorf("the database breaks its own rules: %v", err)
		}
		if err := live.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &testClinic{Engine: e, t: t, store: db, holds: live, start: enginetest.Noon(time.UTC, 2)}
	_, err = e.Import(ctx, "system", clinicFile(priorities))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func clinicFile(priorities map[string]int) clinic.File {
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Clinic", Timezone: "UTC", Locale: "en"}}
	var hours []clinic.HoursEntry
	for day := range 7 {
		hours = append(hours, clinic.HoursEntry{Weekday: store.Weekday(day), Start: 0, End: 1440})
	}
	var everyone []clinic.AssignmentEntry
	for id, priority := range priorities {
		f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: id, Name: "Dr " + id, Timezone: "UTC", Active: true, WeeklyHours: hours})
		everyone = append(everyone, clinic.AssignmentEntry{SpecialistID: id, Priority: priority})
	}
	for _, t := range []clinic.AppointmentTypeEntry{
		{ID: "checkup", DurationMinutes: 30},
		{ID: "surgery", DurationMinutes: 60, SlotStepMinutes: 30, BufferBeforeMinutes: 15, BufferAfterMinutes: 30},
		{ID: "class", DurationMinutes: 60, Capacity: 3},
		{ID: "cooling", DurationMinutes: 30, CooldownMinutes: 1440},
	} {
		t.Name, t.HorizonDays, t.Capacity, t.Active, t.Specialists = t.ID, 60, max(t.Capacity, 1), true, everyone
		t.HoldTTLSeconds, t.MaxHoldSeconds, t.HoldQuota = 30, 900, 3
		f.AppointmentTypes = append(f.AppointmentTypes, t)
	}
	return f
}

func client(n int) holds.ClientID { return holds.ClientID(fmt.Sprintf("client-%016d", n)) }

func (c *testClinic) hold(n int, appointmentType string, start time.Time, specialist string) (holds.Hold, error) {
	c.t.Helper()
	return c.Hold(context.Background(), booking.HoldRequest{
		AppointmentTypeID: appointmentType, SlotStart: start, SpecialistID: specialist, Client: client(n),
	})
}

func (c *testClinic) mustHold(n int, appointmentType string, start time.Time, specialist string) holds.Hold {
	c.t.Helper()
	h, err := c.hold(n, appointmentType, start, specialist)
	if err != nil {
		c.t.Fatalf("hold %s at %s: %v", appointmentType, start.Format(time.TimeOnly), err)
	}
	return h
}

// booking is a request of client n with everything a web visitor sends.
func bookingOf(n int, appointmentType string) booking.Request {
	return booking.Request{
		AppointmentTypeID: appointmentType, Client: client(n), Source: store.SourceWeb, Actor: "client",
		Patient: store.Patient{Name: fmt.Sprintf("Patient %d", n), Email: fmt.Sprintf("p%d@example.org", n)},
	}
}

func (c *testClinic) book(r booking.Request) (store.Appointment, error) {
	c.t.Helper()
	return c.Book(context.Background(), r)
}

func (c *testClinic) mustBook(r booking.Request) store.Appointment {
	c.t.Helper()
	a, err := c.book(r)
	if err != nil {
		c.t.Fatalf("book %s: %v", r.AppointmentTypeID, err)
	}
	return a
}

// slot returns the listed slot of a type at a start, as client n sees it; nil if it is not listed.
func (c *testClinic) slot(n int, appointmentType string, start time.Time, specialist string) *booking.Timeslot {
	c.t.Helper()
	day := store.DateOf(start.UTC())
	list, err := c.Timeslots(context.Background(), booking.TimeslotsRequest{
		AppointmentTypeID: appointmentType, SpecialistID: specialist, From: day, To: day.AddDays(1), Client: client(n),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range list.Slots {
		if list.Slots[i].Start.Equal(start) {
			return &list.Slots[i]
		}
	}
	return nil
}
