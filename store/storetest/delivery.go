package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testDelivery(t *testing.T, h Harness) {
	s := h.open(t)
	ctx := t.Context()
	first := store.Delivery{OperationID: "op-1", AppointmentID: "a1", Channel: "email", Notice: "confirmation",
		State: "queued", UpdatedAt: monday}
	second := store.Delivery{OperationID: "op-2", AppointmentID: "a1", Channel: "webhook",
		Notice: "appointment.created", State: "queued", UpdatedAt: monday}
	others := store.Delivery{OperationID: "op-0", AppointmentID: "a2", Channel: "upstream", State: "queued",
		UpdatedAt: monday}
	put := func(d store.Delivery) { write(t, s, func(tx store.Tx) error { return tx.PutDelivery(ctx, d) }) }
	for _, d := range []store.Delivery{second, others, first} { // their ids are in a different order
		put(d)
	}
	first.State, first.Detail, first.UpdatedAt = "failed", "the mail server said no", monday.Add(time.Hour)
	settled := first
	settled.Notice = "" // an outcome is stored without reading the notice first
	put(settled)
	third := store.Delivery{OperationID: "op-0-late", AppointmentID: "a1", Channel: "email", State: "queued",
		UpdatedAt: monday}
	put(third)
	second.State = "delivered"
	put(second)
	want := []store.Delivery{second, first, third}
	if got, err := s.Deliveries(ctx, "a1"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want them in the order of their creation: %+v", got, err, want)
	}
	if got, err := s.Deliveries(ctx, "unknown"); err != nil || len(got) != 0 {
		t.Errorf("of an unknown appointment: got %+v, %v", got, err)
	}
}
