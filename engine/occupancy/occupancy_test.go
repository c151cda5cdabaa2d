package occupancy_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestOccupancyEqualsStore books, moves and cancels at random and reads changing ranges: at every step, the state in
// memory must equal the database's result, in the same order.
func TestOccupancyEqualsStore(t *testing.T) {
	t.Parallel()
	e, specialists := enginetest.BookedClinic(t, 3, 0)
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	day := time.Now().UTC().Truncate(24 * time.Hour)
	var booked []string
	for step := range 400 {
		start := day.Add(time.Duration(1+r.IntN(20))*24*time.Hour + 8*time.Hour +
			time.Duration(r.IntN(16))*30*time.Minute)
		switch {
		case step%3 != 2 || len(booked) == 0:
			a, err := e.Booking.Book(ctx, booking.Request{
				AppointmentTypeID: "checkup", SlotStart: start, SpecialistID: specialists[r.IntN(len(specialists))],
				Client: "client-0123456789abcdef", Patient: store.Patient{Name: "P"}, Source: store.SourceStaff,
				Actor: "system",
			})
			if err == nil {
				booked = append(booked, a.ID)
			}
		case step%2 == 0:
			_, _ = e.Booking.Cancel(ctx, booking.CancelRequest{ID: booked[r.IntN(len(booked))], Actor: "system"})
		default:
			_, _ = e.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: booked[r.IntN(len(booked))],
				SlotStart: start, SpecialistID: specialists[r.IntN(len(specialists))], Actor: "system"})
		}
		// starts in the middle of the booked time
		from := day.Add(time.Duration(r.IntN(24*18)) * time.Hour).Add(15 * time.Minute)
		to := from.Add(time.Duration(1+r.IntN(24*5)) * time.Hour)
		if step%50 == 0 {
			to = from.Add(30 * 24 * time.Hour)
		}
		r.Shuffle(len(specialists), func(i, j int) { specialists[i], specialists[j] = specialists[j], specialists[i] })
		got, err := e.Booking.TakenTime(ctx, specialists, from, to)
		if err != nil {
			t.Fatal(err)
		}
		want, err := e.Store.Taken(ctx, specialists, from, to)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("step %d: memory has %d appointments between %s and %s, the database %d", step, len(got), from, to,
				len(want))
		}
	}
	if len(booked) < 100 {
		t.Errorf("only %d bookings succeeded", len(booked))
	}
}
