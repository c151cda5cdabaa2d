package practice_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestDeadlineLeavesTimeBeforeStart: a write is too late 15 minutes before the start, or after half the time between
// the booking and the start if that is later.
func TestDeadlineLeavesTimeBeforeStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		for n, c := range []struct {
			start       time.Time
			ahead, want time.Duration
		}{
			{p.SlotAt(40), 24 * time.Hour, 24*time.Hour - 15*time.Minute},
			{p.SlotAt(0), time.Hour, 45 * time.Minute},
			{p.SlotAt(2), 10 * time.Minute, 5 * time.Minute},
		} {
			time.Sleep(time.Until(c.start.Add(-c.ahead)))
			a, err := p.Booking.Book(t.Context(), booking.Request{
				AppointmentTypeID: "cleaning", SlotStart: c.start, SpecialistID: "chair0", Client: enginetest.Client(n),
				Source: store.SourceStaff, Actor: "user:desk",
				Patient: store.Patient{Name: "Patient", Phone: fmt.Sprintf("030 %07d", n)},
			})
			if err != nil {
				t.Fatal(err)
			}
			p.Until(time.Minute, "settled", p.Settled)
			ops, err := p.Queue.Operations(t.Context(), store.OperationFilter{AppointmentID: a.ID})
			if err != nil || len(ops) != 1 {
				t.Fatalf("got %d operations, %v; want one", len(ops), err)
			}
			if got := ops[0].Deadline.Sub(a.CreatedAt); got != c.want {
				t.Errorf("booked %s before the start: got %s, want %s", c.ahead, got, c.want)
			}
		}
	})
}
