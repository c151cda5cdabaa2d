package practice_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestChangeShowsThatItWaitsForPerson: it is unknown whether an appointment was written, and it is moved or cancelled
// before or after the last look-up. The change waits until a person decides about the write. Until then, the
// appointment needs review, and a webhook has said so. Afterwards, the change is delivered.
func TestChangeShowsThatItWaitsForPerson(t *testing.T) {
	t.Parallel()
	url, _ := enginetest.HookReceiver(t, 200)
	cancel := func(p *enginetest.TestPractice) {
		if _, err := p.Booking.Cancel(p.T.Context(), booking.CancelRequest{ID: p.BookingOf().ID,
			Actor: "user:jo"}); err != nil {
			p.T.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		outcome upstreamtest.Outcome // of the write
		decide  outbound.Decision
		after   bool // the last look-up
		change  func(p *enginetest.TestPractice)
		want    int // appointments in the practice-management system at the end
	}{
		"moved, it exists":              {upstreamtest.LostApplied, outbound.DecisionExists, false, moveLater, 1},
		"moved later, it exists":        {upstreamtest.LostApplied, outbound.DecisionExists, true, moveLater, 1},
		"moved, resent":                 {upstreamtest.LostNotApplied, outbound.DecisionResend, false, moveLater, 1},
		"moved later, resent":           {upstreamtest.LostNotApplied, outbound.DecisionResend, true, moveLater, 1},
		"moved, given up":               {upstreamtest.LostNotApplied, outbound.DecisionGiveUp, false, moveLater, 1},
		"moved later, given up":         {upstreamtest.LostNotApplied, outbound.DecisionGiveUp, true, moveLater, 1},
		"cancelled, it exists":          {upstreamtest.LostApplied, outbound.DecisionExists, false, cancel, 0},
		"cancelled later, it exists":    {upstreamtest.LostApplied, outbound.DecisionExists, true, cancel, 0},
		"cancelled, given up":           {upstreamtest.LostNotApplied, outbound.DecisionGiveUp, false, cancel, 0},
		"cancelled later, and resent":   {upstreamtest.LostNotApplied, outbound.DecisionResend, true, cancel, 0},
		"cancelled later, and given up": {upstreamtest.LostNotApplied, outbound.DecisionGiveUp, true, cancel, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := hooked(t, url)
				garbage := upstreamtest.Step{Procedure: enginetest.LookUp, Outcome: upstreamtest.Garbage}
				p.Upstream.Script(upstreamtest.Step{Outcome: test.outcome}, garbage, garbage, garbage)
				a := p.Ask(p.Wish(48 * 3))
				if test.after {
					p.Until(time.Hour, "for review", p.Settled)
				}
				test.change(p)
				p.Until(time.Hour, "for review", func() bool {
					op, err := p.Queue.Operation(t.Context(), a.OperationID)
					return err == nil && op.NeedsReview && p.Settled()
				})
				if got := p.BookingOf().UpstreamState; got != store.UpstreamReview {
					t.Errorf("the appointment is %s upstream, want needs_review", got)
				}
				if got := notices(p, "webhook"); !slices.Contains(got, "upstream.needs_review") {
					t.Errorf("the webhooks are %v, want one about the review", got)
				}
				if err := p.Outbound.Review(t.Context(), "user:jo", a.OperationID, test.decide); err != nil {
					t.Fatal(err)
				}
				// The change was deferred for 5 minutes. The decision ends this wait, also at short notice.
				p.Until(2*time.Minute, "settled", p.Settled)
				b, there := p.BookingOf(), p.Upstream.Score().Appointments
				if there != test.want || b.UpstreamState == store.UpstreamReview ||
					b.UpstreamState == store.UpstreamPending ||
					b.Status == store.Confirmed && b.UpstreamState != store.UpstreamConfirmed {
					t.Errorf("%d appointments there, %s is %s upstream; want %d, and no longer waiting", there,
						b.Status, b.UpstreamState, test.want)
				}
			})
		})
	}
}

func moveLater(p *enginetest.TestPractice) { move(p, 48*3+4) }
