package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// TestMemoryEqualsDatabaseAfterRaces races many changes to a few appointments, with a thousand seeds, so that several
// changes to one appointment share a commit. After each seed, the data in memory must equal the database: the taken
// time byte for byte, a listing computed from it, and every busy bit.
//
// An earlier version, in which callers announced their changes in the order in which they woke up, failed with nearly
// every seed.
func TestMemoryEqualsDatabaseAfterRaces(t *testing.T) {
	const atOnce = 50 // number of seeds per clinic, each on its own day
	seeds := uint64(1000)
	if !clitest.InFull() {
		seeds = 200
	}
	for first := uint64(0); first < seeds; first += atOnce {
		e, specialists := enginetest.BookedClinic(t, 2, 0)
		for seed := first; seed < first+atOnce; seed++ {
			day := record.Now().Truncate(24*time.Hour).AddDate(0, 0, int(2+seed-first))
			raceChanges(t, e, specialists, day, seed)
			if t.Failed() {
				return
			}
		}
		if t.Context().Err() != nil {
			return
		}
	}
}

func raceChanges(t *testing.T, e *enginetest.TestClinic, specialists []string, day time.Time, seed uint64) {
	ctx := context.Background()
	from, to := day, day.AddDate(0, 0, 1)
	read := func() []store.Taken {
		taken, err := e.Booking.TakenTime(ctx, specialists, from, to)
		if err != nil {
			t.Fatal(err)
		}
		return taken
	}
	read() // this loads the day into memory
	start := func(n int) time.Time { return day.Add(8*time.Hour + time.Duration(n)*30*time.Minute) }
	var ids []string
	for n := range 3 {
		a, err := e.Booking.Book(ctx, booking.Request{
			AppointmentTypeID: "checkup", SlotStart: start(n), SpecialistID: specialists[n%2],
			Source: store.SourceStaff, Actor: "system", Patient: store.Patient{Name: "P"},
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		ids = append(ids, a.ID)
	}
	var all sync.WaitGroup
	for worker := range uint64(5) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, worker))
			for range 2 {
				id, err := ids[r.IntN(len(ids))], error(nil)
				switch r.IntN(4) {
				case 0:
					_, err = e.Booking.SetAttendance(ctx, id, 0,
						[]store.Attendance{store.Arrived, store.Expected, store.Completed}[r.IntN(3)], "system", nil)
				case 1:
					_, err = e.Booking.Cancel(ctx, booking.CancelRequest{ID: id, Actor: "system"})
				default:
					_, err = e.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: id,
						SlotStart: start(r.IntN(16)), SpecialistID: specialists[r.IntN(2)], Actor: "system"})
				}
				var held *holds.HeldError
				if err != nil && !errors.Is(err, record.ErrNotConfirmed) && !errors.Is(err, store.ErrVersion) &&
					!errors.Is(err, store.ErrSlotTaken) && !errors.As(err, &held) {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	all.Wait()

	got := read()
	want, err := e.Store.Taken(ctx, specialists, from, to)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("seed %d: memory has\n%s\nand the database\n%s", seed, spell(got), spell(want))
	}
	list, err := e.Booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: "checkup",
		From: store.DateOf(from), To: store.DateOf(to)})
	if err != nil {
		t.Fatal(err)
	}
	free := 0
	for _, slot := range list.Slots {
		free += slot.Available
	}
	if free != 32-len(want) {
		t.Errorf("seed %d: %d seats are listed as free; %d of 32 are booked", seed, free, len(want))
	}
	for _, id := range specialists {
		for n := range 16 {
			busy, err := claimIsTaken(ctx, e.Holds, id, start(n), start(n+1))
			booked := slices.ContainsFunc(want, func(x store.Taken) bool {
				return x.SpecialistID == id && x.SlotStart.Equal(start(n))
			})
			if err != nil || busy != booked {
				t.Errorf("seed %d: %s at %s is busy: %t, %v; booked: %t", seed, id, start(n).Format("15:04"), busy, err,
					booked)
			}
		}
	}
}

// claimIsTaken claims a span and releases it, and reports whether it is booked.
func claimIsTaken(ctx context.Context, live holds.Backend, specialistID string, from, to time.Time) (bool, error) {
	owner := record.NewOwner()
	h, err := live.Claim(ctx, holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID, SlotStart: from, SlotEnd: to,
			BusyStart: from, BusyEnd: to},
		Owner: owner, Seats: []int{0}, TTL: time.Minute, MaxLife: time.Minute,
	})
	if errors.Is(err, holds.ErrTaken) {
		return true, nil
	}
	if err == nil {
		_, err = live.Release(ctx, h.ID, owner, holds.ReasonReleased)
	}
	return false, err
}

func spell(taken []store.Taken) (s string) {
	for _, t := range taken {
		s += fmt.Sprintf("  %s %s %s\n", t.SpecialistID, t.SlotStart.Format("15:04"), t.AppointmentID)
	}
	return s
}

// TestTakenTimeIsRefusedWithoutDatabase: once a specialist's time is in memory, the engine refuses a hold or a booking
// of a taken slot without reading the database. The request may name a specialist or accept any.
func TestTakenTimeIsRefusedWithoutDatabase(t *testing.T) {
	c, specialists := enginetest.BookedClinic(t, 2, 0)
	ctx := context.Background()
	counting := &countedReads{Store: c.Store}
	e, err := engine.New(ctx, engine.Options{Store: counting, Holds: c.Holds})
	if err != nil {
		t.Fatal(err)
	}
	start := record.Now().Truncate(24*time.Hour).AddDate(0, 0, 3).Add(10 * time.Hour)
	for _, id := range specialists {
		_, err := e.Booking.Book(ctx, booking.Request{AppointmentTypeID: "checkup", SlotStart: start, SpecialistID: id,
			Source: store.SourceStaff, Actor: "system",
			Patient: store.Patient{Name: "P"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	day := store.DateOf(start)
	if _, err := e.Booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: "checkup",
		From: day.AddDays(-1), To: day.AddDays(2)}); err != nil {
		t.Fatal(err)
	}
	if counting.reads == 0 {
		t.Fatal("the reads of the three bookings were not counted")
	}
	counting.reads = 0
	for _, specialist := range []string{"", specialists[0]} {
		_, err := e.Booking.Hold(ctx, booking.HoldRequest{AppointmentTypeID: "checkup", SlotStart: start,
			SpecialistID: specialist, Client: "client-0123456789abcdef"})
		if !errors.Is(err, store.ErrSlotTaken) {
			t.Errorf("a hold of %q: %v, want %v", specialist, err, store.ErrSlotTaken)
		}
		_, err = e.Booking.Book(ctx, booking.Request{AppointmentTypeID: "checkup", SlotStart: start,
			SpecialistID: specialist, Client: "client-0123456789abcdef",
			Source: store.SourceWeb, Actor: "client", Patient: store.Patient{Name: "P", Email: "p@example.org"}})
		if !errors.Is(err, store.ErrSlotTaken) {
			t.Errorf("a booking of %q: %v, want %v", specialist, err, store.ErrSlotTaken)
		}
	}
	if counting.reads != 0 {
		t.Errorf("%d queries went to the database, want none", counting.reads)
	}
}

// countedReads is a store that counts the database reads of a hold or a booking.
type countedReads struct {
	store.Store
	reads int
}

func (c *countedReads) Taken(ctx context.Context, ids []string, from, to time.Time) ([]store.Taken, error) {
	c.reads++
	return c.Store.Taken(ctx, ids, from, to)
}

func (c *countedReads) LatestWebBooking(ctx context.Context, clientID, appointmentTypeID string,
	since time.Time) (store.WebBooking, error) {
	c.reads++
	return c.Store.LatestWebBooking(ctx, clientID, appointmentTypeID, since)
}

func (c *countedReads) Write(ctx context.Context, fn func(store.Tx) error) error {
	c.reads++
	return c.Store.Write(ctx, fn)
}
