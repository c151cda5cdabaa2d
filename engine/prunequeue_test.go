package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/store"
)

// TestDeliveredOperationsArePruned: however many operations are delivered in a day, the queue stores a bounded number
// of them and none of their content.
func TestDeliveredOperationsArePruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kept = 3
		var queue store.Queue
		c, _ := noticeClinic(t, func(o *engine.Options) { queue, o.Outbound.Completed = o.Queue, kept })
		for n := range 8 {
			r := bookingOf(n, "checkup")
			r.SlotStart = c.start.Add(time.Duration(n) * time.Hour)
			r.Patient.Email = "rosa@example.org"
			c.mustBook(r)
			time.Sleep(time.Second)
		}
		time.Sleep(20 * time.Second)
		delivered, err := queue.Operations(t.Context(), store.OperationFilter{Status: store.OperationCompleted})
		if err != nil || len(delivered) != 8 {
			t.Fatalf("%d mails were delivered, want 8: %v", len(delivered), err)
		}
		for _, op := range delivered {
			if len(op.Payload) > 0 {
				t.Errorf("what was delivered still says %s", op.Payload)
			}
		}
		time.Sleep(time.Minute)
		if n, err := queue.Counts(t.Context()); err != nil || n.Completed != kept {
			t.Errorf("a minute later the queue has %+v, want %d delivered: %v", n, kept, err)
		}
	})
}
