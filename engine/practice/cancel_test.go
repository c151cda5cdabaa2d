package practice_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// unnamed opens a practice whose practice-management system has written an appointment without returning its GUID. The
// look-ups of that appointment fail.
func unnamed(t *testing.T) *enginetest.TestPractice {
	t.Helper()
	p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
	garbage := upstreamtest.Step{Procedure: enginetest.LookUp, Outcome: upstreamtest.Garbage}
	p.Upstream.Script(upstreamtest.Step{Outcome: upstreamtest.OKNoGUID}, garbage, garbage, garbage)
	p.Ask(p.Wish(48 * 3))
	return p
}

// wantConfirmed checks that the practice-management system has the appointment once, and that its GUID is known.
func wantConfirmed(p *enginetest.TestPractice) {
	p.T.Helper()
	if s, a := p.Upstream.Score(), p.BookingOf(); s.Appointments != 1 ||
		a.UpstreamState != store.UpstreamConfirmed || a.UpstreamID == "" {
		p.T.Errorf("practice system: %+v; the appointment is %s upstream, GUID %q; want one, confirmed", s,
			a.UpstreamState, a.UpstreamID)
	}
}

// TestCancelOfUnnamedAppointmentReachesUpstream: the practice-management system wrote an appointment without returning
// its GUID, and the patient cancels before the look-ups have ended.
func TestCancelOfUnnamedAppointmentReachesUpstream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := unnamed(t)
		if _, err := p.Booking.Cancel(t.Context(), booking.CancelRequest{ID: p.BookingOf().ID,
			Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		p.Until(10*time.Minute, "settled", p.Settled)
		if s := p.Upstream.Score(); s.Appointments != 0 {
			t.Errorf("practice system: %+v, want no appointment", s)
		}
	})
}

// TestMoveOfUnnamedAppointmentLeavesOne: the practice-management system wrote an appointment without returning its
// GUID, and the look-ups failed. After a move, the system has only the new time.
func TestMoveOfUnnamedAppointmentLeavesOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := unnamed(t)
		p.Until(10*time.Minute, "settled", p.Settled)
		if a := p.BookingOf(); a.UpstreamState != store.UpstreamConfirmed || a.UpstreamID != "" {
			t.Fatalf("upstream %s, GUID %q; want confirmed without one", a.UpstreamState, a.UpstreamID)
		}
		move(p, 48*3+4)
		p.Until(10*time.Minute, "settled", p.Settled)
		wantConfirmed(p)
	})
}

// TestMoveOfDuplicateAppointmentAsksPeople: the practice-management system has an appointment without a known GUID
// twice. A move could end only one of the two, so a person decides before the new time is written.
func TestMoveOfDuplicateAppointmentAsksPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := unnamed(t)
		p.Until(10*time.Minute, "settled", p.Settled)
		twin := p.Upstream.Appointments()[0]
		twin.GUID = ""
		p.Upstream.Add(twin)
		move(p, 48*3+4)
		p.Until(10*time.Minute, "settled", p.Settled)
		if s, a := p.Upstream.Score(), p.BookingOf(); s.Writes != 1 || a.UpstreamState != store.UpstreamReview {
			t.Fatalf("practice system: %+v; the appointment is %s upstream; want one write, needs_review", s,
				a.UpstreamState)
		}

		twin = p.Upstream.Appointments()[1]
		if err := p.Practice.Options.Upstream.SetAppointmentStatusCanceled(t.Context(), twin.GUID); err != nil {
			t.Fatal(err)
		}
		failed, err := p.Queue.Operations(t.Context(), store.OperationFilter{Status: store.OperationFailed})
		if err != nil || len(failed) != 1 {
			t.Fatalf("failed operations: %+v, %v; want one", failed, err)
		}
		if err := p.Outbound.Review(t.Context(), "user:jo", failed[0].ID, outbound.DecisionResend); err != nil {
			t.Fatal(err)
		}
		p.Until(10*time.Minute, "settled", p.Settled)
		wantConfirmed(p)
	})
}

// TestGivenUpCleanupEndsFailedState: an appointment was moved, and the practice-management system wrote the new time
// but refuses to cancel the old one. Once a person has given the cancellation up, the appointment is confirmed again.
func TestGivenUpCleanupEndsFailedState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Ask(p.Wish(48 * 3))
		p.Until(10*time.Minute, "settled", p.Settled)
		p.Upstream.Script(upstreamtest.Step{Procedure: "SetAppointmentStatusCanceled", Outcome: upstreamtest.SlotTaken})
		move(p, 48*3+4)
		p.Until(time.Hour, "settled", p.Settled)
		failed, err := p.Queue.Operations(t.Context(), store.OperationFilter{Status: store.OperationFailed})
		if a := p.BookingOf(); err != nil || len(failed) != 1 || failed[0].Kind != store.UpstreamCancel ||
			a.UpstreamState != store.UpstreamFailed {
			t.Fatalf("failed operations: %+v, %v; the appointment is %s upstream; want one cancellation, failed", failed,
				err, a.UpstreamState)
		}
		if err := p.Outbound.GiveUp(t.Context(), "user:jo", failed[0].ID); err != nil {
			t.Fatal(err)
		}
		if a := p.BookingOf(); a.UpstreamState != store.UpstreamConfirmed || a.UpstreamID == "" {
			t.Errorf("given up: the appointment is %s upstream, GUID %q; want confirmed", a.UpstreamState, a.UpstreamID)
		}
	})
}
