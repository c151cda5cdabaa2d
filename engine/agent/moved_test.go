package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestOperationOfMovedBookingIsConfirmed: a queued booking failed, and the desk moved it to a time that the
// practice-management system accepted. The operation then shows the agent that the appointment is booked.
func TestOperationOfMovedBookingIsConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited, upstreamtest.SlotTaken)
		a := p.Ask(p.Wish(48 * 3))
		p.Until(time.Minute, "failed", p.Settled)
		if _, err := p.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: p.BookingOf().ID,
			SlotStart: p.SlotAt(48*3 + 4), Actor: "user:jo"}); err != nil {
			t.Fatal(err)
		}
		p.Until(time.Minute, "settled", p.Settled)
		op, err := p.Agent.Operation(t.Context(), a.OperationID)
		if err != nil || op.ErrorType != "" || op.Status != store.OperationCompleted ||
			op.AppointmentGUID != p.BookingOf().UpstreamID {
			t.Errorf("the agent reads %+v, %v; want that it is booked", op, err)
		}
	})
}
