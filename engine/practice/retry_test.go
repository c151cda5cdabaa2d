package practice_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestRetryOfOutdatedWriteKeepsState: a write failed, and the appointment has been moved since. A retry of the old
// write has nothing left to do, and the appointment stays confirmed upstream.
func TestRetryOfOutdatedWriteKeepsState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited, upstreamtest.SlotTaken)
		a := p.Ask(p.Wish(48 * 3))
		p.Until(time.Minute, "failed", p.Settled)
		move(p, 48*3+4)
		p.Until(time.Minute, "settled", p.Settled)
		if got := p.BookingOf().UpstreamState; got != store.UpstreamConfirmed {
			t.Fatalf("after the move: upstream %s, want confirmed", got)
		}
		if err := p.Outbound.Retry(t.Context(), "user:jo", a.OperationID); err != nil {
			t.Fatal(err)
		}
		p.Until(time.Minute, "settled", p.Settled)
		if got := p.BookingOf().UpstreamState; got != store.UpstreamConfirmed {
			t.Errorf("after the retry: upstream %s, want confirmed", got)
		}
	})
}

// TestRetriedCancelKeepsReturnedAppointment: an appointment moves to a specialist who is not in the practice-management
// system, where the cancellation of the old time fails. Then the appointment moves back. A retry of the cancellation
// does not cancel the new time.
func TestRetriedCancelKeepsReturnedAppointment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}, Specialists: 2,
			File: func(f *clinic.File) { f.Specialists[1].Upstream = nil }})
		p.Ask(p.Wish(48 * 3))
		p.Until(time.Minute, "settled", p.Settled)
		p.Upstream.Script(upstreamtest.Step{Procedure: "SetAppointmentStatusCanceled",
			Outcome: upstreamtest.PatientUnknown})
		for _, to := range []struct {
			chair string
			slot  int
		}{{"chair1", 48*3 + 4}, {"chair0", 48*3 + 8}} {
			if _, err := p.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: p.BookingOf().ID,
				SlotStart: p.SlotAt(to.slot), SpecialistID: to.chair, Actor: "user:jo"}); err != nil {
				t.Fatal(err)
			}
			p.Until(time.Minute, "settled", p.Settled)
		}
		if r, err := p.Outbound.RetryFailed(t.Context(), "user:jo"); err != nil || r.Retried != 1 {
			t.Fatalf("retried: %+v, %v; want one", r, err)
		}
		p.Until(time.Minute, "settled", p.Settled)
		wantConfirmed(p)
	})
}

// TestFailedCleanupKeepsBooking: the new time of a moved appointment is upstream, and the old time cannot be cancelled
// there. Staff see that. The patient, whose appointment is booked, gets no email saying that it is not. After a retry,
// the appointment is confirmed again.
func TestFailedCleanupKeepsBooking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
			Change: func(o *engine.Options) {
				mailer, err := notice.NewMailer(notice.MailOptions{Dir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				o.Notices.Mailer = mailer
			}})
		r := enginetest.BookingOf(1, "cleaning")
		r.SlotStart = p.SlotAt(48 * 3)
		if _, err := p.Booking.Book(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		p.Until(time.Minute, "settled", p.Settled)
		p.Upstream.Script(upstreamtest.Step{Procedure: "SetAppointmentStatusCanceled",
			Outcome: upstreamtest.PatientUnknown})
		move(p, 48*3+4)
		p.Until(time.Minute, "settled", p.Settled)
		if got := p.BookingOf().UpstreamState; got != store.UpstreamFailed {
			t.Fatalf("upstream %s, want failed (or this test proves nothing)", got)
		}
		if got := notices(p, "email"); slices.Contains(got, "could_not_be_completed") {
			t.Errorf("the emails are %v, want none that the booking failed", got)
		}
		if r, err := p.Outbound.RetryFailed(t.Context(), "user:jo"); err != nil || r != (outbound.Retried{Retried: 1}) {
			t.Fatalf("retried: %+v, %v; want one", r, err)
		}
		p.Until(time.Minute, "settled", p.Settled)
		if got := p.BookingOf().UpstreamState; got != store.UpstreamConfirmed {
			t.Errorf("after the retry: upstream %s, want confirmed", got)
		}
	})
}
