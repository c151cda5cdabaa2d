package node_test

import (
	"reflect"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

var (
	nine  = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	owner = holds.ClientID("client-0000000000000001").Owner()
	slot  = holds.Span{
		AppointmentTypeID: "checkup", SpecialistID: "ada", Seat: 2, SlotStart: nine,
		SlotEnd: nine.Add(30 * time.Minute), BusyStart: nine.Add(-10 * time.Minute),
		BusyEnd: nine.Add(45 * time.Minute),
	}
)

// TestEventIsReadBack: a node reads back everything that another node wrote in an event, except the number. If a new
// field of Event is not in the stored event, this test fails.
func TestEventIsReadBack(t *testing.T) {
	t.Parallel()
	full := holds.Event{
		Kind: holds.EventHold, At: nine.Add(time.Millisecond), HoldID: "h", Span: slot, Resources: "room-1 laser",
		ExpiresAt: nine.Add(time.Minute), MaxExpiresAt: nine.Add(time.Hour), Owner: owner,
		Reason: holds.ReasonDisplaced, AppointmentTypeIDs: []string{"checkup", "surgery"}, AppointmentID: "a",
		Version: 7, Generation: 1 << 60, SessionID: "s", ConnectionID: "c",
	}
	for i, v := 0, reflect.ValueOf(full); i < v.NumField(); i++ {
		if name := v.Type().Field(i).Name; name != "Seq" && v.Field(i).IsZero() {
			t.Errorf("the test's event does not set %s", name)
		}
	}
	for _, e := range []holds.Event{full, {Kind: holds.EventStream, At: nine}} {
		e.Seq = 5
		text, err := node.WriteEvent(&e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := node.ReadEvent(string(text))
		if err != nil {
			t.Fatal(err)
		}
		e.Seq = 0
		if !reflect.DeepEqual(got, e) {
			t.Errorf("got  %+v\nwant %+v", got, e)
		}
	}
}

// stored is a hold as the servers store it: without a pin it expires in 1 minute, with its pin in 2.
const stored = `{"id":"h","appointmentTypeId":"checkup","specialistId":"ada","owner":"OWNER","slotStart":1795424400000,` +
	`"slotEnd":1795426200000,"busyStart":1795423800000,"busyEnd":1795427100000,"seat":2,"resources":"room-1",` +
	`"lapsesAt":1795424460000,"pinnedUntil":PIN,"maxExpiresAt":1795425300000,"life":900000,"restarts":3,"call":"c1"}`

// TestHoldExpiresWithItsPin: a hold ends at the later of its expiry and the end of its pin. A backend that takes the
// hold over gets both.
func TestHoldExpiresWithItsPin(t *testing.T) {
	t.Parallel()
	for pin, minutes := range map[string]int{"0": 1, "1795424520000": 2} {
		text := replaced(stored, "OWNER", owner.String(), "PIN", pin)
		want := holds.Hold{
			ID: "h", Span: slot, Resources: "room-1", Owner: owner,
			ExpiresAt: nine.Add(time.Duration(minutes) * time.Minute), MaxExpiresAt: nine.Add(15 * time.Minute),
			Restarts: 3, Pinned: minutes == 2,
		}
		if h, call, err := node.ReadHold(text); err != nil || call != "c1" || h != want {
			t.Errorf("pinned until %s: got %+v, %q, %v\nwant %+v", pin, h, call, err, want)
		}
		r, err := node.ReadRemains(text)
		if err != nil || r.Hold != want || !r.LapsesAt.Equal(nine.Add(time.Minute)) || r.Life != 15*time.Minute {
			t.Errorf("pinned until %s: got %+v, %v", pin, r, err)
		}
	}
	for _, text := range []string{"", "{", `{"owner":"x"}`} {
		if h, _, err := node.ReadHold(text); err == nil {
			t.Errorf("%q is parsed as %+v", text, h)
		}
	}
}

// TestSelectionIsRead: a stored selection does not contain its deadline.
func TestSelectionIsRead(t *testing.T) {
	t.Parallel()
	text := `{"owner":"` + owner.String() + `","appointmentTypeId":"checkup","specialistId":"ada","seat":2,` +
		`"slotStart":1795424400000,"slotEnd":1795426200000,"busyStart":1795423800000,"busyEnd":1795427100000}`
	got, err := node.ReadSelection(text, nine.Add(10*time.Second).UnixMilli())
	if want := (holds.Selection{Span: slot, Owner: owner, ExpiresAt: nine.Add(10 * time.Second)}); err != nil ||
		got != want {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if _, err := node.ReadSelection("[]", 0); err == nil {
		t.Error("a list is parsed as a selection")
	}
}

// TestInstantKeepsZero: 0 means no time, and a positive duration never becomes 0.
func TestInstantKeepsZero(t *testing.T) {
	t.Parallel()
	if got := node.Unix(time.Time{}); got != 0 || !node.Instant(0).IsZero() {
		t.Errorf("the zero time is stored as %d and parsed as %s", got, node.Instant(0))
	}
	if got := node.Instant(node.Unix(nine)); got != nine {
		t.Errorf("%s is parsed as %s", nine, got)
	}
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2,
		time.Second: 1000} {
		if got := node.Milliseconds(d); got != want {
			t.Errorf("%s is %d ms, want %d", d, got, want)
		}
	}
}
