package web_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// fillingQueue is a queue whose disk becomes full: after the test has set armed, the next recorded attempt fills it.
type fillingQueue struct {
	store.Queue
	armed, full *atomic.Bool
}

func (q fillingQueue) Change(ctx context.Context, op store.Operation, event, detail string) error {
	if q.full.Load() {
		return store.ErrFull
	}
	err := q.Queue.Change(ctx, op, event, detail)
	if err == nil && q.armed.CompareAndSwap(true, false) {
		q.full.Store(true)
	}
	return err
}

// TestPersonActsOnStuckDelivery: the disk is full when an attempt ends, so the queue cannot store the outcome and shows
// the operation as processing. If the desk retries the operation or gives it up, the response contains the reason for
// the failure. Both work as soon as the disk has room: the desk retries the first operation and gives up the second
// one.
func TestPersonActsOnStuckDelivery(t *testing.T) {
	armed, full := &atomic.Bool{}, &atomic.Bool{}
	h, fake := newPractice(t, func(o *engine.Options) {
		o.Queue = fillingQueue{o.Queue, armed, full}
		o.Outbound.Backoff = 24 * time.Hour // no automatic retry during the test
	})
	stuck := func(n int, name string) (path string) {
		t.Helper()
		armed.Store(true)
		fake.Script(upstreamtest.Step{Procedure: "SetPatient", Outcome: upstreamtest.RateLimited})
		h.book(n+1, "checkup", map[string]any{
			"slotStartDate": h.at(30 * n), "specialistId": "ada", "patient": map[string]any{"name": name},
		}).want(201)
		for end := time.Now().Add(10 * time.Minute); h.engine.Outbound.Unsaved() == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the outcome was stored, or there was no attempt")
			}
		}
		list := h.do("GET", "/v1/queue-status?status=processing", nil, asAdmin).want(200)
		if list.get("processing") != 1.0 {
			t.Fatalf("on the full disk: got %s, want one operation processing", list.raw)
		}
		op, _ := list.get("operations").([]any)[0].(map[string]any)
		path = "/v1/queue/" + op["id"].(string)
		h.do("POST", path+"/retry", nil, asAdmin).problem(507, "storage_full")
		h.do("DELETE", path, nil, asAdmin).problem(507, "storage_full")
		full.Store(false)
		return path
	}
	h.do("POST", stuck(0, "Lena")+"/retry", nil, asAdmin).want(200)
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		queue := h.do("GET", "/v1/queue-status", nil, asAdmin).want(200)
		if queue.get("completed") == 1.0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the retried booking was not written: %s", queue.raw)
		}
	}
	h.do("DELETE", stuck(1, "Mia"), nil, asAdmin).want(200)
	if got := h.do("GET", "/v1/queue-status?status=pending", nil, asAdmin).want(200); got.get("pending") != 0.0 {
		t.Errorf("after giving up: got %s, want no operation waiting", got.raw)
	}
	if n := fake.Score().Appointments; n != 1 {
		t.Errorf("practice system: got %d appointments, want only the one that was retried", n)
	}
}
