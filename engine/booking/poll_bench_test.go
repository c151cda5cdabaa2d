package booking_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/store"
)

// BenchmarkPoll measures one in-process poll of a day while many visitors hold and select slots on that day and on 30
// others.
func BenchmarkPoll(b *testing.B) {
	for _, visitors := range []int{0, 100, 1_000} {
		b.Run(fmt.Sprintf("%d visitors", visitors), func(b *testing.B) {
			ids := map[string]int{}
			for i := range 20 {
				ids[fmt.Sprintf("s%02d", i)] = 1
			}
			c := enginetest.NewClinic(b, ids)
			for i := range visitors {
				start := c.Start.AddDate(0, 0, i/20%30).Add(time.Duration(i/600+i%12) * 30 * time.Minute)
				span := availability.SpanOf(&store.AppointmentType{ID: "checkup", DurationMinutes: 30},
					fmt.Sprintf("s%02d", i%20), start)
				_, err := c.Holds.Claim(b.Context(), holds.Claim{Span: span,
					Owner: enginetest.Client(i).Owner(), Seats: []int{0}, TTL: time.Hour, MaxLife: time.Hour})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := c.Holds.Select(b.Context(), enginetest.Client(i).Owner(), span); err != nil {
					b.Fatal(err)
				}
			}
			r := booking.PollRequest{AppointmentTypeID: "checkup", Date: store.DateOf(c.Start),
				Client: enginetest.Client(visitors + 1)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Booking.Poll(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
