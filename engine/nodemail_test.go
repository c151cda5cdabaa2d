package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
)

// TestMailServerAppliesToAllNodes: a mail server that is configured through one node also applies to the other nodes,
// which then send their waiting emails.
func TestMailServerAppliesToAllNodes(t *testing.T) {
	p := enginetest.NewMailProvider(t)
	c := newNodes(t, 2, func(c *nodes) {
		c.options = func(o *engine.Options) { o.Notices = message.Transport{Mailer: p.Mailer(t)} }
	})
	c.clinic("ada")
	if err := c.all[0].Message.Server.Put(t.Context(), "user:olga", p.Wish); err != nil {
		t.Fatal(err)
	}
	c.agree()
	for i, n := range c.all {
		if delivery, why := n.Message.TestMail(t.Context(), enginetest.Tester); delivery != message.MailSent {
			t.Errorf("node %d: an email is %q (%s)", i, delivery, why)
		}
		p.Wants(t, fmt.Sprintf("node %d", i))
	}
}

// TestEmailsKeepTheirOrderUnderSkew: the ids of the node that books are 2 s ahead of those of the node that moves the
// appointment. Both emails for each appointment wait until there is a mail server, so several workers on both nodes
// take them at the same time. The mail server refuses the first attempt at each confirmation, so that the other email
// is due before the next attempt. The booking confirmation still arrives first.
func TestEmailsKeepTheirOrderUnderSkew(t *testing.T) {
	p := enginetest.NewMailProvider(t)
	c := newNodes(t, 2, func(c *nodes) {
		c.options = func(o *engine.Options) {
			mailer, err := notice.NewMailer(notice.MailOptions{Roots: p.Roots})
			if err != nil {
				t.Fatal(err)
			}
			o.Notices = message.Transport{Mailer: mailer}
			o.Outbound.Backoff = 2 * time.Second
		}
	})
	c.clinic("ada")
	c.all[0].Outbound.Outbox.Ids.Ahead = 2 * time.Second
	const moved = 32
	var want [][]string // the operations of each appointment, in the order of the database
	for n := range moved {
		a := c.all[0].mustBook(t, n, c.start.Add(time.Duration(n)*30*time.Minute))
		c.agree()
		if _, err := c.all[1].Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
			SlotStart: a.SlotStart.AddDate(0, 0, 1), Actor: "system"}); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, d := range enginetest.Must(c.all[1].Record.Deliveries(t.Context(), a.ID)) {
			if d.Notice == "confirmation" || d.Notice == "reschedule" {
				ids = append(ids, d.OperationID)
			}
		}
		if len(ids) != 2 || ids[0] < ids[1] {
			t.Fatalf("the emails are %v, want two whose ids are in the reverse order: the test proves nothing", ids)
		}
		p.Busy.Store(ids[0], true)
		want = append(want, ids)
	}
	if err := c.all[0].Message.Server.Put(t.Context(), "user:olga", p.Wish); err != nil {
		t.Fatal(err)
	}
	var arrived []string
	for range 2 * moved {
		select {
		case m := <-p.Taken:
			arrived = append(arrived, enginetest.OperationOf(m))
		case <-time.After(10 * time.Minute):
			t.Fatalf("%d emails arrived, want %d", len(arrived), 2*moved)
		}
	}
	for n, ids := range want {
		first, second := slices.Index(arrived, ids[0]), slices.Index(arrived, ids[1])
		if first < 0 || second < first {
			t.Errorf("appointment %d: the confirmation arrived as %d and the move as %d, want the confirmation first",
				n, first, second)
		}
	}
}
