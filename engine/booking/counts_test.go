package booking_test

import (
	"slices"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// refusalsOf returns how many times an act was refused for a reason.
func refusalsOf(c booking.Counts, act booking.Act, reason string) uint64 {
	i := slices.IndexFunc(c.Refused, func(r booking.RefusalCount) bool {
		return r.Act == actNames[act] && r.Reason == reason
	})
	return c.Refused[i].Count
}

var actNames = map[booking.Act]string{booking.ActHold: "hold", booking.ActBook: "book", booking.ActMove: "move"}

// TestCountsSeparateActsAndReasons: each refused act is counted once, under the reason that its caller receives.
func TestCountsSeparateActsAndReasons(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	at := func(slot int) time.Time { return c.Start.Add(time.Duration(slot) * 30 * time.Minute) }
	refused := func(act booking.Act, reason string) uint64 { return refusalsOf(c.Booking.Counts(), act, reason) }
	book := func(n, slot int, edit func(*booking.Request)) error {
		r := enginetest.BookingOf(n, "checkup")
		r.SlotStart = at(slot)
		if edit != nil {
			edit(&r)
		}
		_, err := c.Book(r)
		return err
	}
	hold := func(n, slot int) error { _, err := c.Hold(n, "checkup", at(slot), ""); return err }
	c.MustHold(1, "checkup", at(0), "")
	if err := book(2, 1, nil); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		act    booking.Act
		reason string
		do     func() error
	}{
		"a held slot held":    {booking.ActHold, "slot_held", func() error { return hold(3, 0) }},
		"a held slot booked":  {booking.ActBook, "slot_held", func() error { return book(3, 0, nil) }},
		"a taken slot held":   {booking.ActHold, "slot_taken", func() error { return hold(3, 1) }},
		"a taken slot booked": {booking.ActBook, "slot_taken", func() error { return book(3, 1, nil) }},
		"beyond the horizon":  {booking.ActHold, "too_far", func() error { return hold(3, 48*365) }},
		"between two starts": {booking.ActBook, "not_a_slot_start", func() error {
			return book(3, 2, func(r *booking.Request) { r.SlotStart = at(2).Add(time.Minute) })
		}},
		"yesterday": {booking.ActBook, "too_soon", func() error { return book(3, -96-48, nil) }},
		"a hold that is gone": {booking.ActBook, "hold_expired", func() error {
			return book(3, 2, func(r *booking.Request) { r.HoldID, r.SlotStart = "gone", time.Time{} })
		}},
		"without a name": {booking.ActBook, "invalid", func() error {
			return book(3, 2, func(r *booking.Request) { r.Patient.Name = "" })
		}},
		"of an unknown type": {booking.ActHold, "invalid", func() error {
			_, err := c.Hold(3, "unknown", at(2), "")
			return err
		}},
		"more than the quota": {booking.ActHold, "quota_exceeded", func() error {
			hold(4, 4)
			hold(4, 5)
			hold(4, 6)
			return hold(4, 7)
		}},
		"booked a moment ago": {booking.ActHold, "cooldown_active", func() error {
			r := enginetest.BookingOf(5, "cooling")
			r.SlotStart = at(8)
			c.MustBook(r)
			_, err := c.Hold(5, "cooling", at(9), "")
			return err
		}},
	} {
		before := refused(test.act, test.reason)
		if err := test.do(); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if got := refused(test.act, test.reason) - before; got != 1 {
			t.Errorf("%s: %s for %s was counted %d times, want once", name, actNames[test.act], test.reason, got)
		}
	}
	counts := c.Booking.Counts()
	if counts.Bookings[0] != 2 || counts.Bookings[2] != 0 || counts.Holds != 4 || counts.Conflicts != 0 {
		t.Errorf("got %+v, want 2 public bookings, 4 holds and no conflict", counts)
	}
}

// TestConflictIsCounted: the database refuses a time that another process booked and that this process did not have in
// memory.
func TestConflictIsCounted(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart, r.Source = c.Start, store.SourceStaff
	a := c.MustBook(r)
	b := bookElsewhere(c, &a, "ada", a.SlotStart.Add(2*time.Hour))
	r = enginetest.BookingOf(2, "checkup")
	r.SlotStart = b.SlotStart
	if _, err := c.Book(r); err == nil {
		t.Error("Book succeeded for a slot that another program booked")
	}
	if _, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
		SlotStart: b.SlotStart, Actor: "system"}); err == nil {
		t.Error("Move succeeded to a slot that another program booked")
	}
	if _, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
		SlotStart: a.SlotStart.Add(time.Hour), Actor: "system"}); err != nil {
		t.Error(err)
	}
	if got := c.Booking.Counts(); got.Conflicts != 2 || got.Moves != 1 || got.Bookings[2] != 1 ||
		refusalsOf(got, booking.ActMove, "slot_taken") != 1 {
		t.Errorf("got %+v, want 2 conflicts, 1 move, 1 refused move, 1 booking by the desk", got)
	}
}
