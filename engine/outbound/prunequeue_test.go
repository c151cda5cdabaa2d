package outbound_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestDeliveredOperationsArePruned: however many operations are delivered in a day, the queue stores a limited number
// of them and none of their content.
func TestDeliveredOperationsArePruned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const kept = 3
		var queue store.Queue
		c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { queue, o.Outbound.Completed = o.Queue, kept })
		for n := range 8 {
			r := enginetest.BookingOf(n, "checkup")
			r.SlotStart = c.Start.Add(time.Duration(n) * time.Hour)
			r.Patient.Email = "rosa@example.org"
			c.MustBook(r)
			time.Sleep(time.Second)
		}
		time.Sleep(20 * time.Second)
		delivered, err := queue.Operations(t.Context(), store.OperationFilter{Status: store.OperationCompleted})
		if err != nil || len(delivered) != 8 {
			t.Fatalf("%d emails were delivered, want 8: %v", len(delivered), err)
		}
		for _, op := range delivered {
			if len(op.Payload) > 0 {
				t.Errorf("the delivered operation still contains %s", op.Payload)
			}
		}
		time.Sleep(time.Minute)
		if n, err := queue.Counts(t.Context()); err != nil || n.Completed != kept {
			t.Errorf("a minute later the queue has %+v, want %d delivered: %v", n, kept, err)
		}
	})
}
