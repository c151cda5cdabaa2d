// Package storetest contains the contract of store.Store as tests: one file per noun. Every backend passes it with one
// call:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Harness{Open: func(t testing.TB, dir string) store.Store { … }})
//	}
//
// Each subtest works in a fresh database, and the database must pass Store.Check when the subtest ends.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
)

// Harness opens the backend under test.
type Harness struct {
	// Open opens the database that belongs to dir, which is empty at first. After Close, another Open of dir must
	// return the same data. The suite closes the store.
	Open func(t testing.TB, dir string) store.Store
}

// Run proves that the backend fulfils the contract of store.Store.
func Run(t *testing.T, h Harness) {
	for _, noun := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"Write", testWrite},
		{"Change", testChange},
		{"Guarantee", testGuarantee},
		{"Resource", testResource},
		{"Appointment", testAppointment},
		{"Schedule", testSchedule},
		{"Picture", testPicture},
		{"Block", testBlock},
		{"Closure", testClosure},
		{"BusyCalendar", testBusyCalendar},
		{"Idempotency", testIdempotency},
		{"Outbox", testOutbox},
		{"Audit", testAudit},
		{"Report", testReport},
		{"Chain", testChain},
		{"APIKey", testAPIKey},
		{"User", testUser},
		{"Text", testText},
		{"Session", testSession},
		{"Presence", testPresence},
		{"Delivery", testDelivery},
		{"Nonce", testNonce},
		{"AgentSession", testAgentSession},
		{"Request", testRequest},
		{"RequestErased", testRequestErased},
		{"Waitlist", testWaitlist},
		{"WaitlistErased", testWaitlistErased},
		{"Displaced", testDisplaced},
		{"Tally", testTally},
		{"Undo", testUndo},
		{"Person", testPerson},
		{"People", testPeople},
		{"Retention", testRetention},
		{"Backup", testBackup},
	} {
		t.Run(noun.name, func(t *testing.T) {
			t.Parallel() // each subtest has its own databases, and mostly waits for the disk
			noun.run(t, h)
		})
	}
}

// open returns a fresh database that is checked and closed when the test ends.
func (h Harness) open(t testing.TB) store.Store {
	t.Helper()
	s := h.Open(t, t.TempDir())
	t.Cleanup(func() { Verify(t, s) })
	return s
}

// Verify checks the invariants of a store and closes it. Tests of other packages that open a store call it on cleanup.
func Verify(t testing.TB, s store.Store) {
	t.Helper()
	if err := s.Check(context.Background()); err != nil && !errors.Is(err, store.ErrClosed) {
		t.Errorf("the database breaks its invariants after the test:\n%v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// monday is a Monday morning in Berlin, far from any change to or from daylight saving time.
var monday = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// clinic creates the schedule of most tests: specialists ada, ben and cleo, and types without buffers of 15, 30 and
// 45 minutes, one with buffers of 10 and 20 minutes, and a group of four.
func clinic(t testing.TB, s store.Store) {
	t.Helper()
	write(t, s, func(tx store.Tx) error {
		ctx := t.Context()
		for _, id := range []string{"ada", "ben", "cleo"} {
			if err := tx.PutSpecialist(ctx, specialist(id)); err != nil {
				return err
			}
		}
		for id, minutes := range map[string]int{"short": 15, "checkup": 30, "long": 45} {
			if err := tx.PutAppointmentType(ctx, appointmentType(id, minutes)); err != nil {
				return err
			}
		}
		surgery := appointmentType("surgery", 60)
		surgery.BufferBeforeMinutes, surgery.BufferAfterMinutes = 10, 20
		group := appointmentType("group", 60)
		group.Capacity = 4
		return errors.Join(tx.PutAppointmentType(ctx, surgery), tx.PutAppointmentType(ctx, group))
	})
}

func specialist(id string) store.Specialist {
	return store.Specialist{ID: id, Name: "Dr " + id, Timezone: "Europe/Berlin", Active: true, MaxSessions: 2}
}

func appointmentType(id string, minutes int) store.AppointmentType {
	return store.AppointmentType{
		ID: id, Name: id, DurationMinutes: minutes, SlotStepMinutes: minutes, HorizonDays: 60, Capacity: 1,
		HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 3, Active: true,
		Specialists: []store.Assignment{{SpecialistID: "ada", Priority: 10}, {SpecialistID: "ben", Priority: 10}},
	}
}

var serial atomic.Int64

// booking returns a confirmed web appointment without buffers; start is in minutes after monday.
func booking(specialistID, typeID string, start, minutes int) store.Appointment {
	from := monday.Add(time.Duration(start) * time.Minute)
	to := from.Add(time.Duration(minutes) * time.Minute)
	n := serial.Add(1)
	return store.Appointment{
		ID: fmt.Sprintf("a-%06d", n), AppointmentTypeID: typeID, SpecialistID: specialistID,
		Owner:  fmt.Sprintf("client-of-appointment-%06d", n),
		Status: store.Confirmed, Attendance: store.Expected,
		SlotStart: from, SlotEnd: to, BusyStart: from, BusyEnd: to,
		Patient: store.Patient{Name: "Jo Doe"}, Source: store.SourceWeb, UpstreamState: store.UpstreamNone,
		CreatedAt: monday.Add(-24 * time.Hour), UpdatedAt: monday.Add(-24 * time.Hour), Version: 1,
	}
}

// buffered sets the busy time of a to its slot plus the given minutes before and after.
func buffered(a store.Appointment, before, after int) store.Appointment {
	a.BusyStart = a.SlotStart.Add(-time.Duration(before) * time.Minute)
	a.BusyEnd = a.SlotEnd.Add(time.Duration(after) * time.Minute)
	return a
}

// write runs fn and fails the test on any error.
func write(t testing.TB, s store.Store, fn func(store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), fn); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

func insert(t testing.TB, s store.Store, a store.Appointment) error {
	t.Helper()
	return s.Write(t.Context(), func(tx store.Tx) error { return tx.InsertAppointment(t.Context(), a) })
}

func update(t testing.TB, s store.Store, a store.Appointment) error {
	t.Helper()
	return s.Write(t.Context(), func(tx store.Tx) error { return tx.UpdateAppointment(t.Context(), a) })
}

func mustInsert(t testing.TB, s store.Store, a store.Appointment) store.Appointment {
	t.Helper()
	if err := insert(t, s, a); err != nil {
		t.Fatalf("InsertAppointment(%s %s–%s): %v", a.SpecialistID, a.SlotStart.Format("15:04"),
			a.SlotEnd.Format("15:04"), err)
	}
	return a
}

// wantErr fails the test unless got wraps want. If want is nil, got must be nil.
func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) || want == nil && got != nil {
		t.Errorf("%s: got error %v, want %v", what, got, want)
	}
}
