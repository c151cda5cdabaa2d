package engine_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// TestNodesOfferTimeOnce: two nodes serve the same waiting list. Each time is offered to one entry, and each entry
// gets one offer and one email about it.
func TestNodesOfferTimeOnce(t *testing.T) {
	mailer, err := notice.NewMailer(notice.MailOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := newNodes(t, 2, func(c *nodes) {
		c.options = func(o *engine.Options) {
			o.BaseURL, o.Notices.Mailer = "https://book.example.org", mailer
			enginetest.OffersToFiles(o)
		}
	})
	c.clinic("ada")
	ctx := t.Context()
	const times = 4
	var booked []store.Appointment
	for n := range times {
		booked = append(booked, c.all[n%2].mustBook(t, n, c.start.Add(time.Duration(n)*30*time.Minute)))
	}
	for n := range times + 2 { // there are two more entries than times
		_, err := c.all[n%2].Waitlist.Join(ctx, waitlist.JoinRequest{
			AppointmentTypeID: "checkup", Actor: "user:desk",
			Patient: store.Patient{Name: "Waiting", Email: string(rune('a'+n)) + "@example.org"},
			Wish: store.WaitlistWish{From: store.DateOf(c.start), To: store.DateOf(c.start), Earliest: 12 * 60,
				Latest: 14 * 60},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c.agree()
	for n, a := range booked {
		if _, err := c.all[(n+1)%2].Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "system"}); err != nil {
			t.Fatal(err)
		}
	}
	offers := func() []store.WaitlistOffer { return enginetest.Must(c.all[0].store.OpenWaitlistOffers(ctx)) }
	c.until(time.Minute, "all times are offered", func() bool { return len(offers()) == times })
	for _, n := range c.all {
		n.Waitlist.Wake()
	}
	c.agree()
	starts, entries := map[time.Time]bool{}, map[string]bool{}
	for _, o := range offers() {
		starts[o.SlotStart], entries[o.EntryID] = true, true
		if mails := enginetest.Must(c.all[1].Record.Deliveries(ctx, o.ID)); len(mails) != 1 {
			t.Errorf("an offer has %d emails, want 1", len(mails))
		}
	}
	if len(starts) != times || len(entries) != times {
		t.Errorf("%d times are offered to %d entries, want %d to as many", len(starts), len(entries), times)
	}
	if live, _, err := c.all[1].Waitlist.List(ctx, 10); err != nil || len(live) != times+2 {
		t.Errorf("the waiting list at the other node: got %d, %v", len(live), err)
	}
	if _, err := c.all[0].Waitlist.Accept(ctx, offers()[0].ID, "manage", nil); err != nil {
		t.Errorf("accepted at a node that did not make the offer: %v", err)
	}
}
