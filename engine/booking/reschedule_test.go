package booking_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

func TestReschedule(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 2, "bea": 1})
	ctx := context.Background()
	book := func(n int, start time.Time, specialist string) store.Appointment {
		r := enginetest.BookingOf(n, "surgery")
		r.SlotStart, r.SpecialistID = start, specialist
		return c.MustBook(r)
	}
	a := book(1, c.Start, "ada")
	other := book(2, c.Start.Add(4*time.Hour), "ada")
	move := func(to time.Time, specialist string) (store.Appointment, error) {
		return c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID,
			SlotStart: to, SpecialistID: specialist, Actor: "manage"})
	}

	// Move it to a time that overlaps its old one, and then to the time that it already has.
	for n, to := range []time.Time{c.Start.Add(30 * time.Minute), c.Start.Add(30 * time.Minute)} {
		moved, err := move(to, "ada")
		if err != nil || !moved.SlotStart.Equal(to) {
			t.Fatalf("to %s: %v, is at %s", to, err, moved.SlotStart)
		}
		if moved.Version != 2 {
			t.Errorf("after %d moves to one time, the version is %d, want 2: repeats change nothing", n+1, moved.Version)
		}
	}
	// Move it with a hold on the new time that is used only for the move.
	standing, err := c.Booking.Appointment(ctx, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	own, err := c.Booking.Hold(ctx, booking.HoldRequest{
		AppointmentTypeID: "surgery", SlotStart: standing.SlotStart, SpecialistID: "ada", Client: enginetest.Client(1),
		Moving: &standing,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID,
		SlotStart: own.SlotStart, HoldID: own.ID, Client: enginetest.Client(1), Actor: "manage"}); err != nil {
		t.Fatal(err)
	}
	if held, _ := c.Booking.Holds(ctx); len(held) != 0 {
		t.Errorf("the hold remains after a move to the same time: %+v", held)
	}
	// A move to a taken slot changes nothing.
	before, _ := c.Booking.Appointment(ctx, a.ID)
	if _, err := move(other.SlotStart, "ada"); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("to a taken slot: got %v, want ErrSlotTaken", err)
	}
	if after, _ := c.Booking.Appointment(ctx, a.ID); !reflect.DeepEqual(after, before) {
		t.Errorf("a refused move changed the appointment:\n got %+v\nwant %+v", after, before)
	}
	// Move it to another specialist, if the request names none and the appointment's own specialist is not free.
	moved, err := move(other.SlotStart, "")
	if err != nil || moved.SpecialistID != "bea" {
		t.Errorf("to another specialist: %v, with %s, want bea", err, moved.SpecialistID)
	}
	// The old time is free again, and the old manage links have stopped working.
	book(3, c.Start.Add(30*time.Minute), "ada")
	if _, err := c.Booking.Managed(ctx, c.Booking.ManageToken(&a)); !errors.Is(err, record.ErrUnauthorized) {
		t.Errorf("the earlier manage link: got %v, want ErrUnauthorized", err)
	}
	if _, err := c.Booking.Managed(ctx, c.Booking.ManageToken(&moved)); err != nil {
		t.Errorf("the new manage link: %v", err)
	}
	if held, _ := c.Booking.Holds(ctx); len(held) != 0 {
		t.Errorf("%d holds remain, want none", len(held))
	}
}

// TestMoveKeepsSpecialistIfPossible: a move that names no specialist keeps the patient's own, even if another one has a
// higher priority. It takes another one only if the own specialist cannot take the time.
func TestMoveKeepsSpecialistIfPossible(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		happens func(c *enginetest.TestClinic, to time.Time)
		want    string
	}{
		"free": {func(*enginetest.TestClinic, time.Time) {}, "bea"},
		"booked": {func(c *enginetest.TestClinic, to time.Time) {
			r := enginetest.BookingOf(2, "checkup")
			r.SlotStart, r.SpecialistID = to, "bea"
			c.MustBook(r)
		}, "ada"},
		"closed on that day": {func(c *enginetest.TestClinic, to time.Time) {
			if _, err := c.Clinic.PutOverride(t.Context(), "key:test", store.Override{SpecialistID: "bea",
				Date: store.DateOf(to), Closed: true}, nil); err != nil {
				t.Fatal(err)
			}
		}, "ada"},
		"no longer offering the type": {func(c *enginetest.TestClinic, _ time.Time) {
			f := enginetest.ClinicFile(map[string]int{"ada": 2, "bea": 1})
			f.AppointmentTypes[0].Specialists = f.AppointmentTypes[0].Specialists[:1]
			if _, err := c.Clinic.Import(t.Context(), "system", f); err != nil {
				t.Fatal(err)
			}
		}, "ada"},
	} {
		t.Run(name, func(t *testing.T) {
			c := enginetest.NewClinic(t, map[string]int{"ada": 2, "bea": 1})
			r := enginetest.BookingOf(1, "checkup")
			r.SlotStart, r.SpecialistID = c.Start, "bea"
			a, to := c.MustBook(r), c.Start.AddDate(0, 0, 1)
			x.happens(c, to)
			moved, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID, SlotStart: to,
				Actor: "manage"})
			if err != nil || moved.SpecialistID != x.want {
				t.Errorf("got %q, %v; want %s", moved.SpecialistID, err, x.want)
			}
		})
	}
}

// TestMoveToOwnTimeEndsOverbooking: once the other appointment has been cancelled, the desk moves an overbooked
// appointment to the time that it already has.
func TestMoveToOwnTimeEndsOverbooking(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	first := c.MustBook(r)
	r = enginetest.BookingOf(2, "checkup")
	r.SlotStart, r.SpecialistID, r.Source, r.OverbookReason = c.Start, "ada", store.SourceStaff, "pain"
	over := c.MustBook(r)
	if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: first.ID, Actor: enginetest.Jo}); err != nil {
		t.Fatal(err)
	}
	now, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: over.ID, SlotStart: c.Start,
		Actor: enginetest.Jo})
	if err != nil || now.Overbook || now.OverbookReason != "" || !now.SlotStart.Equal(c.Start) {
		t.Errorf("got overbook %t (%q) at %s, %v; want an ordinary appointment at %s", now.Overbook,
			now.OverbookReason, now.SlotStart, err, c.Start)
	}
}

// TestMovePublishesNoFreeTime: a move ends its hold as booked. If the hold were released, the pages would list the
// time as free.
func TestMovePublishesNoFreeTime(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	a, to := c.MustBook(r), c.Start.Add(time.Hour)
	events := c.Events(holds.EventConfirm, holds.EventRelease)
	if _, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID, SlotStart: to,
		Actor: "manage"}); err != nil {
		t.Fatal(err)
	}
	if got := events(); len(got) != 1 || got[0].Kind != holds.EventConfirm || !got[0].SlotStart.Equal(to) {
		t.Errorf("the events are %+v, want that %s is booked", got, to)
	}
}

// meddling is a store that calls its function first just before its next write.
type meddling struct {
	store.Store
	first func()
}

func (s *meddling) Write(ctx context.Context, fn func(store.Tx) error) error {
	if first := s.first; first != nil {
		s.first = nil
		first()
	}
	return s.Store.Write(ctx, fn)
}

// TestConcurrentMoveIsRefused: an appointment changes between a move's check and its write.
func TestConcurrentMoveIsRefused(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	between := &meddling{Store: c.Store}
	e, err := engine.New(ctx, engine.Options{Store: between, Holds: c.Holds})
	if err != nil {
		t.Fatal(err)
	}
	for n, x := range []struct {
		name    string
		happens func(id string, elsewhere time.Time) error
		version int64
		want    error
	}{
		{"a patient arrived", func(id string, _ time.Time) error {
			_, err := c.Booking.SetAttendance(ctx, id, 0, store.Arrived, "user:x", nil)
			return err
		}, 0, nil},
		{"a patient arrived, and the move names a version", func(id string, _ time.Time) error {
			_, err := c.Booking.SetAttendance(ctx, id, 0, store.Arrived, "user:x", nil)
			return err
		}, 1, store.ErrVersion},
		{"it was moved", func(id string, elsewhere time.Time) error {
			_, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: id,
				SlotStart: elsewhere, Actor: "manage"})
			return err
		}, 0, store.ErrVersion},
		{"it was cancelled", func(id string, _ time.Time) error {
			_, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: id, Actor: "manage"})
			return err
		}, 0, record.ErrNotConfirmed},
	} {
		t.Run(x.name, func(t *testing.T) {
			day := c.Start.AddDate(0, 0, n)
			r := enginetest.BookingOf(n, "checkup")
			r.SlotStart = day
			a := c.MustBook(r)
			between.first = func() {
				if err := x.happens(a.ID, day.Add(2*time.Hour)); err != nil {
					t.Error(err)
				}
			}
			moved, err := e.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID,
				Version: x.version, SlotStart: day.Add(time.Hour), Actor: "manage"})
			if !errors.Is(err, x.want) {
				t.Fatalf("the move: got %v, want %v", err, x.want)
			}
			if err == nil && (moved.Attendance != store.Arrived || !moved.SlotStart.Equal(day.Add(time.Hour))) {
				t.Errorf("after both moves it is at %s and %s", moved.SlotStart, moved.Attendance)
			}
			if held, _ := c.Booking.Holds(ctx); len(held) != 0 {
				t.Errorf("%d holds remain, want none", len(held))
			}
		})
	}
}
