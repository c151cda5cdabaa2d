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
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
)

// testClinic is a clinic for the tests: the real engine with a real database and a real table of holds. It is open
// around the clock, in UTC, so that a test can write a start as hours from noon.
type testClinic struct {
	*engine.Engine
	t       testing.TB
	store   *sqlite.Store
	holds   *memory.Backend
	signIns atomic.Int32 // created without a password
	path    string       // of the database
	start   time.Time    // a slot start: noon, two days ahead
}

// newClinic opens a clinic with these specialists at these priorities, as enginetest.ClinicFile describes it.
func newClinic(t testing.TB, priorities map[string]int) *testClinic {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "holdfast.db")
	db := enginetest.DatabaseAt(t, path)
	live := enginetest.Holds(t, db)
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: live})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Run(t, e.Run)
	c := &testClinic{Engine: e, t: t, store: db, path: path, holds: live, start: enginetest.Noon(time.UTC, 2)}
	if _, err := e.Clinic.Import(ctx, "system", enginetest.ClinicFile(priorities)); err != nil {
		t.Fatal(err)
	}
	return c
}

func client(n int) holds.ClientID { return holds.ClientID(fmt.Sprintf("client-%016d", n)) }

func (c *testClinic) hold(n int, appointmentType string, start time.Time, specialist string) (holds.Hold, error) {
	c.t.Helper()
	return c.Booking.Hold(context.Background(), booking.HoldRequest{
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

// bookingOf returns a request of client n with every field that a web visitor sends.
func bookingOf(n int, appointmentType string) booking.Request {
	return booking.Request{
		AppointmentTypeID: appointmentType, Client: client(n), Source: store.SourceWeb, Actor: "client",
		Patient: store.Patient{Name: fmt.Sprintf("Patient %d", n), Email: fmt.Sprintf("p%d@example.org", n)},
	}
}

func (c *testClinic) book(r booking.Request) (store.Appointment, error) {
	c.t.Helper()
	return c.Booking.Book(context.Background(), r)
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
	list, err := c.Booking.Timeslots(context.Background(), booking.TimeslotsRequest{
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
