package engine_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// These tests change the system clock. Waiting operations must run neither early nor late, and a reminder must follow
// the new clock.

// settable is a wall clock that can be set, unlike the synctest clock.
type settable struct{ by atomic.Int64 }

func (s *settable) set(by time.Duration) { s.by.Add(int64(by)) }

func (s *settable) with(o *engine.Options) {
	engine.SetWall(o, func() time.Time { return time.Now().Add(time.Duration(s.by.Load())) })
}

var clockSteps = map[string]time.Duration{"10 minutes forward": 10 * time.Minute, "2 hours back": -2 * time.Hour,
	"a second forward": time.Second}

// TestClockStepKeepsQuarantine: a write reaches the upstream late. An earlier look-up would not find the booking, and
// the booking would be written twice.
func TestClockStepKeepsQuarantine(t *testing.T) {
	for name, step := range clockSteps {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock settable
				p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
					Change: clock.with})
				p.Upstream.Script(upstreamtest.Step{Outcome: upstreamtest.Late, Delay: 80 * time.Second})
				written := time.Now()
				p.Ask(p.Wish(48 * 3))
				time.Sleep(20 * time.Second)
				clock.set(step)
				r := enginetest.BookingOf(1, "cleaning") // this booking wakes the worker
				r.SlotStart = p.SlotAt(48*4 + 10)
				if _, err := p.Booking.Book(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				p.Until(3*time.Minute, "settled", p.Settled)
				if at := p.Asked(enginetest.LookUp); len(at) == 0 || at[0].Sub(written) < 89*time.Second ||
					at[0].Sub(written) > 110*time.Second {
					t.Errorf("the look-up at %v came after %v, want 90 s", at, written)
				}
				if s := p.Upstream.Score(); s.Appointments != 2 || s.Duplicates != 0 {
					t.Errorf("practice system: %+v, want each once", s)
				}
			})
		})
	}
}

func TestClockStepKeepsRetry(t *testing.T) {
	for name, step := range clockSteps {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock settable
				p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
					Change: clock.with})
				p.Upstream.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited, upstreamtest.RateLimited)
				p.Ask(p.Wish(48 * 5))
				time.Sleep(15 * time.Second) // the third attempt was refused 5 s ago, and the fourth is due in 15 s
				tried := len(p.Asked("SetAppointment"))
				clock.set(step)
				time.Sleep(10 * time.Second)
				if n := len(p.Asked("SetAppointment")); n != tried {
					t.Errorf("10 s after the clock change there were %d more attempts, want none", n-tried)
				}
				p.Until(30*time.Second, "settled", p.Settled)
			})
		})
	}
}

// TestClockStepDelaysNoNewMessage: the clock is set forward by 3 hours, as after a machine has slept. A patient books
// before the queue has noticed this. The confirmation does not wait for 3 hours.
func TestClockStepDelaysNoNewMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock settable
		clock.set(-3 * time.Hour)
		c, _ := enginetest.NoticeClinic(t, clock.with)
		time.Sleep(time.Minute)
		clock.set(3 * time.Hour)
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		time.Sleep(15 * time.Second)
		if got := c.States(a.ID); got["confirmation"] != "delivered" {
			t.Errorf("15 s after the booking, the emails are %v", got)
		}
	})
}

func TestReminderFollowsClockStep(t *testing.T) {
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		var clock settable
		c, _ := enginetest.NoticeClinic(t, clock.with)
		if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
			s.ReminderHours = 24
		}); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		time.Sleep(time.Minute)
		clock.set(time.Hour)
		time.Sleep(time.Until(c.Start.Add(-25*time.Hour - time.Minute)))
		if got := c.States(a.ID); got["reminder"] != "queued" {
			t.Errorf("a minute before it is due, the emails are %v", got)
		}
		time.Sleep(time.Minute + 15*time.Second)
		if got := c.States(a.ID); got["reminder"] != "delivered" {
			t.Errorf("when it is due, the emails are %v", got)
		}
	})
}

// TestTextOfMorningFollowsClockStep: the text message of an offer that is made at night waits for 07:00. If the clock
// is set forward by 6 hours, as after a machine has slept, the message is still sent at 07:00, before the offer ends.
func TestTextOfMorningFollowsClockStep(t *testing.T) {
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		var clock settable
		c, _ := enginetest.NoticeClinic(t, clock.with, enginetest.OffersToFiles,
			func(o *engine.Options) { o.Notices.Texter = enginetest.TexterTo(t, fake) })
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start // 12:00
		taken, day := c.MustBook(r), store.DateOf(c.Start)
		time.Sleep(time.Until(c.Start.Add(-13*time.Hour - time.Minute)))
		_, err := c.Waitlist.Join(t.Context(), waitlist.JoinRequest{AppointmentTypeID: "checkup", Actor: "user:desk",
			Wish:    store.WaitlistWish{From: day, To: day, Earliest: 12 * 60, Latest: 12*60 + 30},
			Patient: store.Patient{Name: "Ada", Email: "ada@example.org", Phone: "+49 170 1234567"},
			Said:    clinic.Said{SMS: true}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // 23:00
		c.MustCancel(taken.ID)
		time.Sleep(time.Minute)
		clock.set(6 * time.Hour) // 05:01
		time.Sleep(time.Hour + 58*time.Minute)
		if got := fake.Texts(); len(got) != 0 {
			t.Errorf("a minute before 07:00 the gateway received %+v", got)
		}
		time.Sleep(time.Minute + 15*time.Second)
		if got := fake.Texts(); len(got) != 1 {
			t.Errorf("at 07:00 the gateway received %+v, want the offer", got)
		}
	})
}
