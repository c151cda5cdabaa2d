package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/store"
)

// percentile returns the given percentile of the times, in milliseconds.
func percentile(times []time.Duration, hundredths int) float64 {
	slices.Sort(times)
	return float64(times[min(len(times)-1, len(times)*hundredths/100)].Microseconds()) / 1000
}

// BenchmarkSeenAtAnotherNode measures the time from one node's response until another node has the change. For a hold,
// this is when the other node's watchers receive the event; for a booking, when its listing shows it. Changes are made
// one at a time, every 5 ms.
func BenchmarkSeenAtAnotherNode(b *testing.B) {
	c := newNodes(b, 2, nil)
	c.clinic("ada", "bob", "cleo", "dora")
	first, second := c.all[0], c.all[1]
	b.Run("hold", func(b *testing.B) {
		watch, err := second.Booking.Watch(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer watch.Close()
		var took []time.Duration
		n := 0
		for b.Loop() {
			n++
			began := time.Now()
			h, err := first.Booking.Hold(b.Context(), booking.HoldRequest{AppointmentTypeID: "checkup",
				SlotStart: c.start.Add(time.Duration(n%400) * 30 * time.Minute), Client: enginetest.Client(n)})
			if err != nil {
				b.Fatal(err)
			}
			for told := false; !told; {
				events, err := watch.Next(b.Context(), nil)
				if err != nil {
					b.Fatal(err)
				}
				told = slices.ContainsFunc(events, func(e holds.Event) bool {
					return e.Kind == holds.EventHold && e.HoldID == h.ID
				})
			}
			took = append(took, time.Since(began)) // includes the hold request itself
			if _, err := first.Booking.ReleaseHold(b.Context(), h.ID, enginetest.Client(n)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(percentile(took, 50), "p50-ms")
		b.ReportMetric(percentile(took, 99), "p99-ms")
	})
	b.Run("booking", func(b *testing.B) {
		var took []time.Duration
		n := 0
		for b.Loop() {
			n++
			a := first.mustBook(b, n, c.start.Add(time.Duration(n%2000)*30*time.Minute))
			began := time.Now()
			if err := second.Await(b.Context(), first.LastChange()); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
			if _, err := first.Booking.Cancel(b.Context(), booking.CancelRequest{ID: a.ID,
				Actor: "system"}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(percentile(took, 50), "p50-ms")
		b.ReportMetric(percentile(took, 99), "p99-ms")
	})
}

// BenchmarkBookOnNodes measures how many bookings per second n nodes create together for 32 callers. All nodes,
// PostgreSQL and the callers share this machine's CPUs.
func BenchmarkBookOnNodes(b *testing.B) {
	for _, n := range []int{1, 2, 3, 4} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := newNodes(b, n, nil)
			c.clinic("ada", "bob", "cleo", "dora")
			const each = 1500
			var next atomic.Int64
			for b.Loop() {
				began := time.Now()
				first := next.Load()
				var all sync.WaitGroup
				for worker := range 32 {
					all.Go(func() {
						for {
							i := next.Add(1)
							if i > first+each {
								return
							}
							r := enginetest.BookingOf(int(i), "checkup")
							r.SpecialistID = []string{"ada", "bob", "cleo", "dora"}[i%4]
							r.SlotStart = c.start.Add(time.Duration(i/4%2700) * 30 * time.Minute)
							if _, err := c.all[worker%n].Booking.Book(context.Background(), r); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(each/time.Since(began).Seconds(), "bookings/s")
			}
			list, _, err := c.all[0].Booking.Appointments(b.Context(), store.AppointmentFilter{Limit: 1})
			if err != nil || len(list) == 0 {
				b.Error("no booking succeeded", err)
			}
		})
	}
}
