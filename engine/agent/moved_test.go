package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/practice"
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

// TestOperationOfQueuedMoveIsQueued: a queued booking failed, and so did the desk's move of it. While the move is
// queued again, the operation shows the agent the same as a booking that is queued again.
func TestOperationOfQueuedMoveIsQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited, upstreamtest.SlotTaken,
			upstreamtest.SlotTaken, upstreamtest.SlotTaken)
		a := p.Ask(p.Wish(48 * 3))
		p.Until(time.Minute, "failed", p.Settled)
		want := func(when, errorType string, status store.OperationStatus) {
			t.Helper()
			op, err := p.Agent.Operation(t.Context(), a.OperationID)
			if err != nil || op.ErrorType != errorType || op.Status != status {
				t.Errorf("%s, the agent reads %+v, %v; want %s, %q", when, op, err, status, errorType)
			}
		}
		want("after the failed booking", "BOOKING_FAILED", store.OperationFailed)
		retry := func(id string) {
			t.Helper()
			p.Line.Set(true, false)
			if err := p.Outbound.Retry(t.Context(), "user:jo", id); err != nil {
				t.Fatal(err)
			}
			want("with a retry in the queue", practice.ErrorRateLimitedQueued, store.OperationPending)
			p.Line.Set(false, false)
			p.Until(time.Hour, "failed again", p.Settled)
			want("after the failed retry", "BOOKING_FAILED", store.OperationFailed)
		}
		retry(a.OperationID)
		if _, err := p.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: p.BookingOf().ID,
			SlotStart: p.SlotAt(48*3 + 4), Actor: "user:jo"}); err != nil {
			t.Fatal(err)
		}
		p.Until(time.Hour, "failed to move", p.Settled)
		want("after the failed move", "BOOKING_FAILED", store.OperationFailed)
		failed, err := p.Queue.Operations(t.Context(), store.OperationFilter{Status: store.OperationFailed})
		if err != nil || len(failed) != 2 {
			t.Fatalf("failed operations: %+v, %v; want the booking and the move", failed, err)
		}
		p.Upstream.Outcomes(upstreamtest.SlotTaken)
		retry(failed[1].ID)
	})
}
