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

// TestDeskBookingIsWrittenFirst: public bookings are waiting for the practice-management system, and the desk's booking
// is written before them.
func TestDeskBookingIsWrittenFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		book := func(n int, source store.Source) store.Appointment {
			t.Helper()
			r := booking.Request{
				AppointmentTypeID: "cleaning", SlotStart: p.SlotAt(48*3 + n), SpecialistID: "chair0",
				Client: enginetest.Client(n), Source: source, Actor: "client",
				Patient: store.Patient{Name: fmt.Sprintf("Patient %d", n), Phone: fmt.Sprintf("030 %07d", n)},
			}
			if source == store.SourceStaff {
				r.Actor = "user:desk"
			}
			a, err := p.Booking.Book(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		var public []store.Appointment
		for n := range 6 {
			public = append(public, book(n, store.SourceWeb))
		}
		time.Sleep(11 * time.Second) // the first bookings are being written
		desk := book(10, store.SourceStaff)
		known := func(a *store.Appointment) bool {
			now, err := p.Booking.Appointment(t.Context(), a.ID)
			return err == nil && now.UpstreamState == store.UpstreamConfirmed
		}
		p.Until(5*time.Minute, "the desk's appointment is upstream", func() bool { return known(&desk) })
		before := 0
		for i := range public {
			if known(&public[i]) {
				before++
			}
		}
		if before > 3 {
			t.Errorf("%d of %d public bookings were written before the desk's, want only those already being written", before, len(public))
		}
		p.Until(10*time.Minute, "settled", p.Settled)
	})
}
