package message_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// TestBookingOfPastVisitFailsNoMessage: the desk records a visit after its end. The confirmations are not needed. They
// do not end as failures that need the desk's attention. If the visit is cancelled, the patient gets a message.
func TestBookingOfPastVisitFailsNoMessage(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c := reminding(t, fake)
		r := texting(c)
		time.Sleep(24 * time.Hour)
		r.SlotStart = time.Now().UTC().Add(-2 * time.Hour)
		r.Source, r.Actor, r.IgnoreHours = store.SourceStaff, enginetest.Jo, true
		a := c.MustBook(r)
		time.Sleep(time.Minute)
		want := map[string]string{"confirmation": outbound.DeliveryNotNeeded}
		check := func() {
			t.Helper()
			list, err := c.Record.Deliveries(context.Background(), a.ID)
			if err != nil || len(list) != 2*len(want) {
				t.Fatalf("got %+v and %v, want %d by email and by text message", list, err, len(want))
			}
			for _, d := range list {
				if d.State != want[d.Notice] {
					t.Errorf("the %s by %s is %s (%s), want %s", d.Notice, d.Channel, d.State, d.Detail, want[d.Notice])
				}
			}
		}
		check()
		c.DeskCancels(a.ID)
		time.Sleep(time.Minute)
		want["cancellation"] = outbound.DeliveryDelivered
		check()
	})
}
