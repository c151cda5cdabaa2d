package web

import (
	"runtime"
	"testing"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
)

// TestEncodedSlotsEndWithList: a list is encoded once, and its JSON is freed when the engine drops the list.
func TestEncodedSlotsEndWithList(t *testing.T) {
	t.Parallel()
	var e encodedLists
	count := func() (n int) {
		e.all.Range(func(any, any) bool { n++; return true })
		return n
	}
	list, other := &booking.SlotList{Rooms: new(availability.Rooms)}, &booking.SlotList{Rooms: new(availability.Rooms)}
	first := e.of(list)
	if again := e.of(list); again != first {
		t.Error("the list was encoded twice")
	}
	if e.of(other) == first || count() != 2 {
		t.Errorf("two lists have %d encodings", count())
	}
	runtime.KeepAlive(list)
	for limit := time.Now().Add(10 * time.Minute); count() > 1; runtime.Gosched() {
		if runtime.GC(); time.Now().After(limit) {
			t.Fatalf("%d encodings remain after the first list was freed", count())
		}
	}
	if e.of(other) == first {
		t.Error("the list in use lost its encoding")
	}
	runtime.KeepAlive(other)
}
