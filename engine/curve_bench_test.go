package engine_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/store"
)

var mostSpecialists = flag.Int("specialists", 10,
	"how many specialists BenchmarkCurveOfSpecialists goes up to: 10, 30, 100, 300, 1000")

// BenchmarkCurveOfSpecialists measures a growing number of specialists whose calendars are 90% full. It lists a week of
// one pooled type: right after startup, recomputed as after every booking, and from the cache. It books any free
// specialist, each booking at a different time. It also measures the memory that the calendars use, and the time from
// an engine's start to its first response.
func BenchmarkCurveOfSpecialists(b *testing.B) {
	for _, n := range []int{10, 30, 100, 300, 1000} {
		if n > max(*mostSpecialists, 10) {
			break
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				manySpecialists(b, n)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func manySpecialists(b *testing.B, n int) {
	ctx := context.Background()
	e, _ := enginetest.BookedClinic(b, n, 10)
	today := store.DateOf(time.Now().UTC())
	ask := booking.TimeslotsRequest{AppointmentTypeID: "checkup", From: today.AddDays(1), To: today.AddDays(7)}
	anew := func() { e.Clinic.MoveGenerations() }
	median := func(times int, before func()) float64 {
		took := make([]time.Duration, times)
		for i := range took {
			before()
			began := time.Now()
			if _, err := e.Booking.Timeslots(ctx, ask); err != nil {
				b.Fatal(err)
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		return float64(took[times/2].Nanoseconds()) / 1e3
	}
	e.Booking.ForgetTaken()
	before := heap()
	b.ReportMetric(median(1, anew)/1e3, "first-ms")
	b.ReportMetric(float64(heap()-before)/float64(n)/1e3, "KB/specialist")
	b.ReportMetric(median(21, anew), "computed-µs")
	b.ReportMetric(median(101, func() {}), "cached-µs")

	list, err := e.Booking.Timeslots(ctx, ask)
	if err != nil {
		b.Fatal(err)
	}
	client := func(i int) holds.ClientID { return holds.ClientID(fmt.Sprintf("client-%026d", i)) }
	took := make([]time.Duration, 201)
	for i := range took {
		began := time.Now()
		h, err := e.Booking.Hold(ctx, booking.HoldRequest{AppointmentTypeID: "checkup",
			SlotStart: list.Slots[i%len(list.Slots)].Start, Client: client(i)})
		if err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(began)
		e.Booking.Release(ctx, h, holds.ReasonReleased)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[100].Nanoseconds())/1e3, "hold-µs")
	took = took[:51]
	for i := range took {
		began := time.Now()
		if _, err := e.Booking.Book(ctx, booking.Request{
			AppointmentTypeID: "checkup", SlotStart: list.Slots[i%len(list.Slots)].Start, Client: client(i),
			Patient: store.Patient{Name: "P"}, Source: store.SourceWeb, Actor: "web",
		}); err != nil && i < len(list.Slots) { // with ten specialists, not every time can be booked twice
			b.Fatal(err)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[25].Nanoseconds())/1e3, "book-µs")

	began := time.Now()
	again, err := engine.New(ctx, engine.Options{Store: e.Store, Holds: e.Holds})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := again.Booking.Timeslots(ctx, ask); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(began).Microseconds())/1e3, "start-ms")
}

// heap returns the bytes in use after garbage collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
