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
)

// notices returns the names of an appointment's deliveries in one channel.
func notices(p *enginetest.TestPractice, channel string) (names []string) {
	p.T.Helper()
	list, err := p.Store.Deliveries(p.T.Context(), p.BookingOf().ID)
	if err != nil {
		p.T.Fatal(err)
	}
	for _, d := range list {
		if d.Channel == channel {
			names = append(names, d.Notice)
		}
	}
	return names
}

// move moves the only appointment to another slot, as the desk.
func move(p *enginetest.TestPractice, slot int) {
	p.T.Helper()
	if _, err := p.Booking.Reschedule(p.T.Context(), booking.RescheduleRequest{ID: p.BookingOf().ID,
		SlotStart: p.SlotAt(slot), Actor: "user:jo"}); err != nil {
		p.T.Fatal(err)
	}
}

// hooked opens a practice with a webhook.
func hooked(t *testing.T, url string) *enginetest.TestPractice {
	t.Helper()
	p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
		Change: func(o *engine.Options) {
			o.Notices.Hooks = notice.NewHooks(notice.HookOptions{AllowPrivate: true})
		}})
	if _, err := p.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
		s.Webhooks = []clinic.WebhookEndpoint{{ID: "crm", URL: url, Active: true}}
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMovedAgentBookingIsAnnouncedOnce: the desk moves an agent's booking that has already been written to the
// practice-management system. When that system has the new time too, the booking is not announced a second time.
func TestMovedAgentBookingIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	url, _ := enginetest.HookReceiver(t, 200)
	synctest.Test(t, func(t *testing.T) {
		p := hooked(t, url)
		p.Ask(p.Wish(48 * 3))
		p.Until(time.Minute, "settled", p.Settled)
		move(p, 48*3+4)
		p.Until(time.Minute, "settled", p.Settled)
		got := slices.DeleteFunc(notices(p, "webhook"), func(name string) bool { return name == "upstream.completed" })
		if !slices.Equal(got, []string{"appointment.created", "appointment.rescheduled"}) {
			t.Errorf("the webhooks are %v, want one about the booking and one about the move", got)
		}
	})
}

// TestReviewedAgentBookingIsAnnounced: a person decides that an agent's booking is in the practice-management system.
// The booking is then announced, as if the system had confirmed it.
func TestReviewedAgentBookingIsAnnounced(t *testing.T) {
	t.Parallel()
	url, _ := enginetest.HookReceiver(t, 200)
	synctest.Test(t, func(t *testing.T) {
		p := hooked(t, url)
		garbage := upstreamtest.Step{Procedure: enginetest.LookUp, Outcome: upstreamtest.Garbage}
		p.Upstream.Script(upstreamtest.Step{Outcome: upstreamtest.LostApplied}, garbage, garbage, garbage)
		a := p.Ask(p.Wish(48 * 3))
		p.Until(time.Hour, "for review", p.Settled)
		if err := p.Outbound.Review(t.Context(), "user:jo", a.OperationID, outbound.DecisionExists); err != nil {
			t.Fatal(err)
		}
		p.Until(time.Minute, "settled", p.Settled)
		if got := notices(p, "webhook"); !slices.Contains(got, "appointment.created") {
			t.Errorf("the webhooks are %v, want one about the booking", got)
		}
	})
}

// TestNoteOfMovedBookingIsWritten: an agent's booking with a note is refused, and the desk moves it. The note is
// written with the new time.
func TestNoteOfMovedBookingIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited, upstreamtest.SlotTaken)
		wish := p.Wish(48 * 3)
		wish.Note = "afraid of needles"
		p.Ask(wish)
		p.Until(time.Minute, "failed", p.Settled)
		move(p, 48*3+4)
		p.Until(time.Minute, "settled", p.Settled)
		if got := notices(p, "upstream"); !slices.Equal(got, []string{"book", "reschedule", "note"}) {
			t.Errorf("the upstream operations are %v, want the note after the move", got)
		}
	})
}
