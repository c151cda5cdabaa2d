package message_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/engine/waitlist"
	"holdfast/store"
	"holdfast/store/bolt"
)

// offerAtNight lets a patient wait for a time that becomes free at 23:00, and returns after the email with its offer.
// The offer's text message waits for the morning.
func offerAtNight(t *testing.T, c *enginetest.TestClinic) {
	t.Helper()
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	taken := c.MustBook(r)
	day := store.DateOf(c.Start)
	time.Sleep(time.Until(c.Start.Add(-13*time.Hour - time.Minute))) // while the list is empty, time passes faster
	_, err := c.Waitlist.Join(t.Context(), waitlist.JoinRequest{AppointmentTypeID: "checkup", Actor: "user:desk",
		Wish:    store.WaitlistWish{From: day, To: day, Earliest: 12 * 60, Latest: 12*60 + 30},
		Patient: store.Patient{Name: "Ada", Email: "ada@example.org", Phone: "0170 1234567"},
		Said:    clinic.Said{SMS: true}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(c.Start.Add(-13 * time.Hour))) // 23:00
	c.MustCancel(taken.ID)
	time.Sleep(time.Minute)
}

// TestOfferTextWaitsForMorning: a time becomes free in the evening. The person who waits for it gets the text message
// at 07:00, when the offer's half hour begins.
func TestOfferTextWaitsForMorning(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c := smsClinic(t, fake, enginetest.OffersToFiles)
		offerAtNight(t, c)
		time.Sleep(time.Until(c.Start.Add(-5*time.Hour - time.Second)))
		if got := fake.Texts(); len(got) != 0 {
			t.Errorf("at night the gateway received %+v", got)
		}
		time.Sleep(time.Minute)
		if got := fake.Texts(); len(got) != 1 || !strings.Contains(got[0].Text, "Held for you until Wed 5 Jan, 07:30") {
			t.Errorf("at 07:00 the gateway received %+v, want the offer until 07:30", got)
		}
	})
}

// TestAcceptedOfferDelaysNoText: an offer is made at night, so its text message waits for the morning. The patient
// accepts the offer with the link in the email. The confirmation is sent at once, and the offer never.
func TestAcceptedOfferDelaysNoText(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := smsClinic(t, fake, enginetest.OffersToFiles), context.Background()
		offerAtNight(t, c)
		offers, err := c.Store.OpenWaitlistOffers(ctx)
		if err != nil || len(offers) != 1 {
			t.Fatalf("the offers are %+v, %v; want one", offers, err)
		}
		a, err := c.Waitlist.Accept(ctx, offers[0].ID, "manage", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := fake.Texts(); len(got) != 1 || !strings.Contains(got[0].Text, "your appointment is on") {
			t.Errorf("a minute later the gateway received %+v, want the confirmation of %s", got, a.ID)
		}
		time.Sleep(time.Until(c.Start.Add(-4*time.Hour - 30*time.Minute)))
		for _, m := range fake.Texts() {
			if strings.Contains(m.Text, "is free") {
				t.Errorf("the gateway received %q, want no message about the accepted offer", m.Text)
			}
		}
	})
}

// loseQueue runs a second engine on the clinic's database with an empty queue, and returns that queue.
func loseQueue(t *testing.T, c *enginetest.TestClinic, fake *noticetest.Gateway) *bolt.Queue {
	t.Helper()
	queue := enginetest.Queue(t)
	next, err := engine.New(t.Context(), engine.Options{Store: c.Store, Holds: enginetest.Holds(t, c.Store),
		Queue: queue, QueueRebuilt: true, Notices: message.Transport{Texter: enginetest.TexterTo(t, fake)}})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Run(t, next.Run)
	return queue
}

// TestLostQueueKeepsOfferText: the queue is lost at night, such as in a restore of a backup. The server makes a new one
// from the outbox. No attempt was made to send the offer, so it is sent in the morning and the desk is not asked.
func TestLostQueueKeepsOfferText(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c := smsClinic(t, fake, enginetest.OffersToFiles)
		offerAtNight(t, c)
		queue := loseQueue(t, c, fake)
		time.Sleep(time.Minute)
		list, err := queue.Operations(t.Context(), store.OperationFilter{Kinds: []store.OperationKind{store.SMS}})
		morning := c.Start.Add(-5 * time.Hour)
		if err != nil || len(list) != 1 || list[0].NeedsReview || !list[0].NextAttemptAt.Equal(morning) {
			t.Errorf("the new queue contains %+v, %v; want the offer, due at %s", list, err, morning)
		}
	})
}

// TestLostQueueTellsDesk: the queue is lost after a text message was due, so the desk must decide about it. The reason
// is not an interrupted attempt.
func TestLostQueueTellsDesk(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	fake.Answer(func(noticetest.Text) (int, string) { return 503, "" })
	synctest.Test(t, func(t *testing.T) {
		c := smsClinic(t, fake)
		a := c.MustBook(texting(c))
		time.Sleep(10 * time.Second)
		loseQueue(t, c, fake)
		time.Sleep(time.Second)
		list, err := c.Store.Deliveries(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(d store.Delivery) bool {
			return d.Notice == "confirmation" && d.Channel == "sms" && d.State == outbound.DeliveryReview &&
				strings.Contains(d.Detail, "the queue was lost")
		}) {
			t.Errorf("the deliveries are %+v, want a decision about the confirmation because the queue was lost", list)
		}
	})
}

// TestOfferOfEarlierTimeHeedsConsent: a patient waits for an earlier time, and then gives another number or no longer
// agrees to text messages.
func TestOfferOfEarlierTimeHeedsConsent(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	no := false
	for name, x := range map[string]struct {
		change booking.PatientRequest
		want   string // the number that gets the offer; empty means none
	}{
		"unchanged": {change: booking.PatientRequest{Edit: func(*store.Patient) {}}, want: "+491701234567"},
		"another number": {change: booking.PatientRequest{Edit: func(p *store.Patient) { p.Phone = "0170 7654321" }},
			want: "+491707654321"},
		"no consent": {change: booking.PatientRequest{Edit: func(*store.Patient) {}, SMS: &no}},
	} {
		t.Run(name, func(t *testing.T) {
			fake := noticetest.NewGateway(t)
			synctest.Test(t, func(t *testing.T) {
				c, ctx := smsClinic(t, fake, enginetest.OffersToFiles), context.Background()
				r := enginetest.BookingOf(2, "checkup")
				r.SlotStart = c.Start
				taken := c.MustBook(r)
				late := texting(c)
				late.SlotStart = c.Start.Add(2 * time.Hour)
				a, day := c.MustBook(late), store.DateOf(c.Start)
				time.Sleep(time.Until(c.Start.Add(-4*time.Hour - 30*time.Minute)))
				if _, err := c.Waitlist.Join(ctx, waitlist.JoinRequest{Sooner: &a, Actor: "manage",
					Wish: store.WaitlistWish{From: day, To: day, Earliest: 12 * 60, Latest: 12*60 + 30}}); err != nil {
					t.Fatal(err)
				}
				x.change.ID, x.change.Actor = a.ID, "system"
				if _, err := c.Booking.ChangePatient(ctx, x.change); err != nil {
					t.Fatal(err)
				}
				before := len(fake.Texts())
				c.MustCancel(taken.ID)
				time.Sleep(time.Minute)
				to := ""
				for _, m := range fake.Texts()[before:] {
					if to += m.To; !strings.Contains(m.Text, "is free") {
						t.Errorf("the gateway received %+v", m)
					}
				}
				if to != x.want {
					t.Errorf("the offer went to %q, want %q", to, x.want)
				}
			})
		})
	}
}
