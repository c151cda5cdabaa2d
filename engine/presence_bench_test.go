package engine_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/holds"
	"holdfast/store"
)

// BenchmarkAvailable measures listing the specialists who can take a session now, out of many who are online. The
// target is at most 1 ms for 10,000.
func BenchmarkAvailable(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := newClinic(b, map[string]int{"ada": 1})
			for i := range n {
				if _, err := c.holds.Online(b.Context(), fmt.Sprintf("s%05d", i), 3); err != nil {
					b.Fatal(err)
				}
				if _, err := c.holds.Load(b.Context(), fmt.Sprintf("s%05d", i), i%4); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				list, err := c.Presence.Available(b.Context(), 0)
				if err != nil || len(list) != n*3/4 {
					b.Fatalf("got %d of %d, %v", len(list), n, err)
				}
			}
		})
	}
}

// BenchmarkPoll measures one poll of a day, in process, while many visitors hold and select slots of that day and of
// 30 others.
func BenchmarkPoll(b *testing.B) {
	for _, visitors := range []int{0, 100, 1_000} {
		b.Run(fmt.Sprintf("%d visitors", visitors), func(b *testing.B) {
			ids := map[string]int{}
			for i := range 20 {
				ids[fmt.Sprintf("s%02d", i)] = 1
			}
			c := newClinic(b, ids)
			for i := range visitors {
				start := c.start.AddDate(0, 0, i/20%30).Add(time.Duration(i/600+i%12) * 30 * time.Minute)
				span := availability.SpanOf(&store.AppointmentType{ID: "checkup", DurationMinutes: 30}, fmt.Sprintf("s%02d", i%20), start)
				_, err := c.holds.Claim(b.Context(), holds.Claim{Span: span, Owner: client(i).Owner(), Seats: []int{0}, TTL: time.Hour, MaxLife: time.Hour})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := c.holds.Select(b.Context(), client(i).Owner(), span); err != nil {
					b.Fatal(err)
				}
			}
			r := booking.PollRequest{AppointmentTypeID: "checkup", Date: store.DateOf(c.start), Client: client(visitors + 1)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Booking.Poll(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
