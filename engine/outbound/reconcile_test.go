package outbound_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// lateQueue is a queue in which it takes a minute to read one operation.
type lateQueue struct{ store.Queue }

func (q lateQueue) Operation(ctx context.Context, id string) (store.Operation, error) {
	time.Sleep(time.Minute)
	return q.Queue.Operation(ctx, id)
}

// TestReconcileKeepsFailed: an email fails for the last time while the server compares the outbox with the queue. It
// must stay failed, so that a person can retry it.
func TestReconcileKeepsFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Queue = lateQueue{o.Queue} })
		if err := os.WriteFile(folder, nil, 0o600); err != nil { // not a folder, so no email can be written
			t.Fatal(err)
		}
		booking := enginetest.BookingOf(1, "checkup")
		booking.SlotStart = c.Start
		a := c.MustBook(booking)
		time.Sleep(24 * time.Hour)
		s, err := c.Outbound.Status(t.Context(), outbound.QueueFilter{Status: store.OperationFailed})
		if err != nil || s.Failed != 1 || len(s.Operations) != 1 || s.Operations[0].AppointmentID != a.ID {
			t.Fatalf("%d operations are failed, want the confirmation: %+v, %v", s.Failed, s.Operations, err)
		}
		if err := os.Remove(folder); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Outbound.RetryFailed(t.Context(), enginetest.Jo); err != nil || r.Retried != 1 {
			t.Fatalf("%+v were retried, want 1: %v", r, err)
		}
		time.Sleep(time.Hour)
		list, err := c.Record.Deliveries(t.Context(), a.ID)
		if err != nil || len(list) == 0 {
			t.Fatalf("%d deliveries: %v", len(list), err)
		}
		for _, d := range list {
			if d.Notice == "confirmation" && d.State != outbound.DeliveryDelivered {
				t.Errorf("the confirmation is %s (%s), want delivered", d.State, d.Detail)
			}
		}
	})
}
