package practice_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestWarnsOfOperationsWithoutUpstream: a write waits for the practice-management system, and the server starts without
// its settings. The write stays in the queue, and the log contains a warning. When the settings are back, the write
// arrives.
func TestWarnsOfOperationsWithoutUpstream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		warnings := func() int { return strings.Count(p.Log.String(), "--upstream-url is not set") }
		p.Upstream.Outcomes(upstreamtest.RateLimited)
		a, err := p.Booking.Book(t.Context(), booking.Request{
			AppointmentTypeID: "cleaning", SlotStart: p.SlotAt(48 * 3), SpecialistID: "chair0",
			Client: enginetest.Client(1), Source: store.SourceStaff, Actor: "user:desk",
			Patient: store.Patient{Name: "Rosa Winter", Phone: "030 1234567"},
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		configured := p.Upstream
		p.Upstream = nil
		p.Restart()
		synctest.Wait()
		if warnings() != 1 {
			t.Errorf("without the settings: got the log %q, want one warning", p.Log.String())
		}
		p.Upstream = configured
		p.Restart()
		p.Until(10*time.Minute, "the write arrives", func() bool {
			now, err := p.Booking.Appointment(t.Context(), a.ID)
			return err == nil && now.UpstreamState == store.UpstreamConfirmed
		})
		if warnings() != 1 {
			t.Errorf("with the settings: got the log %q, want no other warning", p.Log.String())
		}
	})
}
