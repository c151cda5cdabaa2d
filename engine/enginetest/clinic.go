package enginetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
)

// PriorityOrders contains priorities that reverse the order of the ids, and priorities that preserve it. A type lists
// its specialists by priority.
var PriorityOrders = map[string]map[string]int{
	"by id":      {"ada": 30, "ben": 20, "cem": 10},
	"against id": {"ada": 10, "ben": 20, "cem": 30},
}

// Lowest returns the specialist with the lowest priority, and the others.
func Lowest(priorities map[string]int) (lowest string, others []string) {
	byPriority := slices.SortedFunc(maps.Keys(priorities), func(a, b string) int {
		return cmp.Compare(priorities[a], priorities[b])
	})
	return byPriority[0], byPriority[1:]
}

// TestClinic is a clinic for tests: the real engine with a real database and a real table of holds. It is open around
// the clock, in UTC, so that a test can write a start time as hours from noon.
type TestClinic struct {
	*engine.Engine
	T       testing.TB
	Store   *sqlite.Store
	Holds   *memory.Backend
	SignIns atomic.Int32 // number of sign-ins created without a password
	Path    string       // path of the database
	Start   time.Time    // the start of a slot: noon, two days ahead
}

// NewClinic opens the clinic that ClinicFile describes, with these specialists at these priorities.
func NewClinic(t testing.TB, priorities map[string]int) *TestClinic {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "holdfast.db")
	db := DatabaseAt(t, path)
	live := Holds(t, db)
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: live, QuickPasswords: true})
	if err != nil {
		t.Fatal(err)
	}
	Run(t, e.Run)
	c := &TestClinic{Engine: e, T: t, Store: db, Path: path, Holds: live, Start: Noon(time.UTC, 2)}
	if _, err := e.Clinic.Import(ctx, "system", ClinicFile(priorities)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Client returns the secret of the nth client.
func Client(n int) holds.ClientID { return holds.ClientID(fmt.Sprintf("client-%016d", n)) }

// Hold holds a start time for client n.
func (c *TestClinic) Hold(n int, appointmentType string, start time.Time, specialist string) (holds.Hold, error) {
	c.T.Helper()
	return c.Booking.Hold(context.Background(), booking.HoldRequest{
		AppointmentTypeID: appointmentType, SlotStart: start, SpecialistID: specialist, Client: Client(n),
	})
}

// MustHold is like Hold, but fails the test if the hold is refused.
func (c *TestClinic) MustHold(n int, appointmentType string, start time.Time, specialist string) holds.Hold {
	c.T.Helper()
	h, err := c.Hold(n, appointmentType, start, specialist)
	if err != nil {
		c.T.Fatalf("hold %s at %s: %v", appointmentType, start.Format(time.TimeOnly), err)
	}
	return h
}

// BookingOf returns a booking request from client n with every field that a web visitor sends.
func BookingOf(n int, appointmentType string) booking.Request {
	return booking.Request{
		AppointmentTypeID: appointmentType, Client: Client(n), Source: store.SourceWeb, Actor: "client",
		Patient: store.Patient{Name: fmt.Sprintf("Patient %d", n), Email: fmt.Sprintf("p%d@example.org", n)},
	}
}

// Book books without a hold, unless the request names one.
func (c *TestClinic) Book(r booking.Request) (store.Appointment, error) {
	c.T.Helper()
	return c.Booking.Book(context.Background(), r)
}

// MustBook is like Book, but fails the test if the booking is refused.
func (c *TestClinic) MustBook(r booking.Request) store.Appointment {
	c.T.Helper()
	a, err := c.Book(r)
	if err != nil {
		c.T.Fatalf("book %s: %v", r.AppointmentTypeID, err)
	}
	return a
}

// Slot returns the listed slot of a type at a start time, for client n, or nil if it is not listed.
func (c *TestClinic) Slot(n int, appointmentType string, start time.Time, specialist string) *booking.Timeslot {
	c.T.Helper()
	day := store.DateOf(start.UTC())
	list, err := c.Booking.Timeslots(context.Background(), booking.TimeslotsRequest{
		AppointmentTypeID: appointmentType, SpecialistID: specialist, From: day, To: day.AddDays(1), Client: Client(n),
	})
	if err != nil {
		c.T.Fatal(err)
	}
	for i := range list.Slots {
		if list.Slots[i].Start.Equal(start) {
			return &list.Slots[i]
		}
	}
	return nil
}

// Must returns v, and panics if err is not nil.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// BookFor books a check-up for a patient, a number of hours after the test's start.
func (c *TestClinic) BookFor(hours int, p store.Patient) store.Appointment {
	c.T.Helper()
	return c.MustBook(booking.Request{AppointmentTypeID: "checkup", SpecialistID: "ada",
		SlotStart: c.Start.Add(time.Duration(hours) * time.Hour), Source: store.SourceStaff, Actor: "user:jo",
		IgnoreHours: true, Patient: p})
}

// Confirmed returns the confirmed appointments by start.
func (c *TestClinic) Confirmed() []store.Appointment {
	c.T.Helper()
	list, _, err := c.Booking.Appointments(context.Background(),
		store.AppointmentFilter{Status: store.Confirmed, Limit: 500})
	if err != nil {
		c.T.Fatal(err)
	}
	return list
}

// WantNoHolds checks that no holds are left.
func (c *TestClinic) WantNoHolds() {
	c.T.Helper()
	if held, _ := c.Booking.Holds(context.Background()); len(held) != 0 {
		c.T.Errorf("%d holds are left", len(held))
	}
}

// WantRefusal fails the test unless err is a refusal for the expected reason.
func WantRefusal(t *testing.T, what string, err error, want availability.Reason) {
	t.Helper()
	var refused *availability.NotBookableError
	if !errors.As(err, &refused) || refused.Reason != want {
		t.Errorf("%s: got %v, want the reason %s", what, err, want)
	}
}

// Jo is a user at the desk.
const Jo = record.Actor("user:jo")

// MustCancel cancels an appointment as the desk and waits one second of virtual time for the follow-up work.
func (c *TestClinic) MustCancel(id string) {
	c.T.Helper()
	if _, err := c.Booking.Cancel(context.Background(), booking.CancelRequest{ID: id, Actor: "user:desk"}); err != nil {
		c.T.Fatal(err)
	}
	time.Sleep(time.Second)
}
