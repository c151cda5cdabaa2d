package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// TestOccupancyEqualsStore books, moves and cancels at random and reads changing ranges: the state in memory must
// equal the database's answer, in the same order, at every step.
func TestOccupancyEqualsStore(t *testing.T) {
	e, specialists := bookedClinic(t, 3, 0)
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	day := time.Now().UTC().Truncate(24 * time.Hour)
	var booked []string
	for step := range 400 {
		start := day.Add(time.Duration(1+r.IntN(20))*24*time.Hour + 8*time.Hour + time.Duration(r.IntN(16))*30*time.Minute)
		switch {
		case step%3 != 2 || len(booked) == 0:
			a, err := e.Booking.Book(ctx, booking.Request{
				AppointmentTypeID: "checkup", SlotStart: start, SpecialistID: specialists[r.IntN(len(specialists))], Client: "client-0123456789abcdef",
				Patient: store.Patient{Name: "P"}, Source: store.SourceStaff, Actor: "system",
			})
			if err == nil {
				booked = append(booked, a.ID)
			}
		case step%2 == 0:
			_, _ = e.Booking.Cancel(ctx, booking.CancelRequest{ID: booked[r.IntN(len(booked))], Actor: "system"})
		default:
			_, _ = e.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: booked[r.IntN(len(booked))], SlotStart: start, SpecialistID: specialists[r.IntN(len(specialists))], Actor: "system"})
		}
		from := day.Add(time.Duration(r.IntN(24*18)) * time.Hour).Add(15 * time.Minute) // through the middle of the booked time
		to := from.Add(time.Duration(1+r.IntN(24*5)) * time.Hour)
		if step%50 == 0 {
			to = from.Add(30 * 24 * time.Hour)
		}
		r.Shuffle(len(specialists), func(i, j int) { specialists[i], specialists[j] = specialists[j], specialists[i] })
		got, err := e.Booking.TakenTime(ctx, specialists, from, to)
		if err != nil {
			t.Fatal(err)
		}
		want, err := e.store.Taken(ctx, specialists, from, to)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("step %d: memory has %d appointments between %s and %s, the database %d", step, len(got), from, to, len(want))
		}
	}
	if len(booked) < 100 {
		t.Errorf("only %d bookings came to be", len(booked))
	}
}

// BenchmarkTimeslots lists 30 days, pooled over 20 specialists whose calendars are nine tenths full: read from the
// database, as for the first call after a start; computed again from the taken time in memory, as after every
// booking; and from the slot cache.
func BenchmarkTimeslots(b *testing.B) {
	e, _ := bookedClinic(b, 20, 30)
	today := store.DateOf(time.Now().UTC())
	ask := booking.TimeslotsRequest{AppointmentTypeID: "checkup", From: today, To: today.AddDays(30)}
	for _, x := range []struct {
		name   string
		before func()
	}{
		{"read", func() {
			e.Booking.ForgetTaken()
			e.Clinic.MoveGenerations()
		}},
		{"computed", func() { e.Clinic.MoveGenerations() }},
		{"cached", func() {}},
	} {
		b.Run(x.name, func(b *testing.B) {
			if _, err := e.Booking.Timeslots(context.Background(), ask); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				x.before()
				if _, err := e.Booking.Timeslots(context.Background(), ask); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// bookedClinic opens a clinic in UTC from 08:00 to 16:00 every day, with 16 slots a day, and fills nine tenths of the
// given days.
func bookedClinic(t testing.TB, specialists, days int) (*Engine, []string) {
	t.Helper()
	ctx := context.Background()
	db := enginetest.Database(t)
	live := enginetest.Holds(t, db)
	e, err := New(ctx, Options{Store: db, Holds: live})
	if err != nil {
		t.Fatal(err)
	}
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Full", Timezone: "UTC"}}
	kind := clinic.AppointmentTypeEntry{ID: "checkup", Name: "Check-up", DurationMinutes: 30, HorizonDays: 60, Capacity: 1, HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 3, Active: true}
	var ids []string
	for n := range specialists {
		p := clinic.SpecialistEntry{ID: fmt.Sprintf("specialist-%d", n), Name: "Dr", Active: true}
		for day := range 7 {
			p.WeeklyHours = append(p.WeeklyHours, clinic.HoursEntry{Weekday: store.Weekday(day), Start: 480, End: 960})
		}
		f.Specialists = append(f.Specialists, p)
		kind.Specialists = append(kind.Specialists, clinic.AssignmentEntry{SpecialistID: p.ID})
		ids = append(ids, p.ID)
	}
	f.AppointmentTypes = []clinic.AppointmentTypeEntry{kind}
	if _, err := e.Clinic.Import(ctx, "system", f); err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	now := record.Now()
	row := e.Clinic.Current().Types["checkup"]
	err = db.Write(ctx, func(tx store.Tx) error {
		for i := range specialists * days * 16 {
			if i%10 == 0 {
				continue
			}
			id, n := ids[i%specialists], i/specialists
			start := now.Truncate(24 * time.Hour).Add(time.Duration(n/16)*24*time.Hour + 8*time.Hour + time.Duration(n%16)*30*time.Minute)
			r := booking.Request{Patient: store.Patient{Name: "P"}, Source: store.SourceStaff}
			if err := tx.InsertAppointment(ctx, booking.NewAppointment(&r, availability.SpanOf(row, id, start))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, ids
}

// TestPooledHoldBuildsNoLists: every booking outdates the lists of its type. A hold of any specialist does not
// compute a new list for each of many specialists.
func TestPooledHoldBuildsNoLists(t *testing.T) {
	e, _ := bookedClinic(t, 100, 1)
	start := record.Now().Truncate(24*time.Hour).AddDate(0, 0, 3).Add(8 * time.Hour)
	allocations := testing.AllocsPerRun(10, func() {
		e.Clinic.MoveGenerations()
		h, err := e.Booking.Hold(t.Context(), booking.HoldRequest{AppointmentTypeID: "checkup", SlotStart: start, Client: "client-0123456789abcdef"})
		if err != nil {
			t.Fatal(err)
		}
		e.Booking.Release(t.Context(), h, holds.ReasonReleased)
	})
	if allocations > 10*100 {
		t.Errorf("a hold of any of 100 specialists takes %.0f allocations; a list of each takes several thousand", allocations)
	}
}
