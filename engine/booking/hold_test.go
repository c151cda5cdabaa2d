package booking_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

func TestHoldBlocksEveryOverlappingType(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		c.MustHold(1, "surgery", c.Start, "ada") // busy from 15 minutes before to 30 after the hour
		for _, x := range []struct {
			name      string
			start     time.Duration
			available int
		}{
			{"before the buffer", -60 * time.Minute, 1},
			{"into the buffer before", -30 * time.Minute, 0},
			{"the same time", 0, 0},
			{"into the buffer after", 60 * time.Minute, 0},
			{"after the buffer", 90 * time.Minute, 1},
		} {
			slot := c.Slot(2, "checkup", c.Start.Add(x.start), "ada")
			if slot == nil || slot.Available != x.available || slot.Held != 1-x.available {
				t.Errorf("%s: listed %+v, want %d available", x.name, slot, x.available)
			}
			_, err := c.Hold(2, "checkup", c.Start.Add(x.start), "ada")
			var held *holds.HeldError
			if x.available == 0 && !errors.As(err, &held) || x.available == 1 && err != nil {
				t.Errorf("%s: claim got %v", x.name, err)
			}
		}
		if slot := c.Slot(1, "surgery", c.Start, "ada"); slot == nil || !slot.OwnHold || slot.Available != 1 {
			t.Errorf("its owner sees %+v, want its own hold and 1 available", slot)
		}
		time.Sleep(30 * time.Second)
		if _, err := c.Hold(3, "checkup", c.Start, "ada"); err != nil {
			t.Errorf("at the instant of expiry: %v", err)
		}
	})
}

func TestConcurrentHoldsHaveOneWinner(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "bea": 1})
	first, second := c.MustHold(1, "checkup", c.Start, ""), c.MustHold(2, "checkup", c.Start, "")
	if first.SpecialistID == second.SpecialistID {
		t.Errorf("both claims got %s", first.SpecialistID)
	}
	var held *holds.HeldError
	if _, err := c.Hold(3, "checkup", c.Start, ""); !errors.As(err, &held) {
		t.Errorf("the third claim: got %v, want *HeldError", err)
	}
	again := c.MustHold(2, "checkup", c.Start, "")
	if again.ID != second.ID {
		t.Errorf("the repeated claim got hold %s with %s, want the same one, %s with %s", again.ID, again.SpecialistID,
			second.ID, second.SpecialistID)
	}
}

func TestHoldRefusals(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	tomorrow := store.DateOf(c.Start)
	if _, err := c.Clinic.PutOverride(ctx, "key:test", store.Override{SpecialistID: "ada",
		Date: tomorrow.AddDays(3), Closed: true}, nil); err != nil {
		t.Fatal(err)
	}
	r := enginetest.BookingOf(9, "checkup")
	r.SlotStart = c.Start.Add(5 * time.Hour)
	c.MustBook(r)
	for _, x := range []struct {
		name  string
		start time.Time
		want  error
	}{
		{"between two starts", c.Start.Add(7 * time.Minute),
			&availability.NotBookableError{Reason: availability.ReasonNotASlotStart}},
		{"in the past", c.Start.Add(-96 * time.Hour),
			&availability.NotBookableError{Reason: availability.ReasonTooSoon}},
		{"past the horizon", c.Start.Add(100 * 24 * time.Hour),
			&availability.NotBookableError{Reason: availability.ReasonTooFar}},
		{"on a closed date", c.Start.Add(72 * time.Hour),
			&availability.NotBookableError{Reason: availability.ReasonOverrideClosed}},
		{"taken", r.SlotStart, store.ErrSlotTaken},
	} {
		_, err := c.Hold(1, "checkup", x.start, "ada")
		var got, want *availability.NotBookableError
		if errors.As(x.want, &want) {
			if !errors.As(err, &got) || *got != *want {
				t.Errorf("%s: got %v, want %v", x.name, err, x.want)
			}
		} else if !errors.Is(err, x.want) {
			t.Errorf("%s: got %v, want %v", x.name, err, x.want)
		}
	}
	for n := range 3 {
		c.MustHold(1, "checkup", c.Start.Add(time.Duration(n)*time.Hour), "ada")
	}
	if _, err := c.Hold(1, "checkup", c.Start.Add(3*time.Hour), "ada"); !errors.Is(err, holds.ErrQuota) {
		t.Errorf("the fourth hold: got %v, want ErrQuota", err)
	}
	var invalid *record.ValidationError
	if _, err := c.Booking.Hold(ctx, booking.HoldRequest{AppointmentTypeID: "checkup", SlotStart: c.Start,
		Client: "fifteen-chars.."}); !errors.As(err, &invalid) {
		t.Errorf("a client of 15 characters: got %v, want *ValidationError", err)
	}
}

// TestCooldownOfHold: the cooldown applies to a new booking, and not to the move of the appointment that began it.
func TestCooldownOfHold(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	book := func(n int, appointmentType string, hours int) store.Appointment {
		r := enginetest.BookingOf(n, appointmentType)
		r.SlotStart = c.Start.Add(time.Duration(hours) * time.Hour)
		return c.MustBook(r)
	}
	cancelled := book(1, "cooling", 1)
	var err error
	if cancelled, err = c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: cancelled.ID,
		Actor: "manage"}); err != nil {
		t.Fatal(err)
	}
	a, other := book(1, "cooling", 2), book(1, "checkup", 3)
	for name, x := range map[string]struct {
		moving    *store.Appointment
		atDesk    bool
		isRefused bool
	}{
		"a new booking":         {nil, false, true},
		"its own appointment":   {&a, false, false},
		"one that is cancelled": {&cancelled, false, true},
		"one of another type":   {&other, false, true},
		"at the desk":           {nil, true, false},
	} {
		h, err := c.Booking.Hold(t.Context(), booking.HoldRequest{AppointmentTypeID: "cooling",
			SlotStart: c.Start.Add(6 * time.Hour), Client: enginetest.Client(1), Moving: x.moving, Displace: x.atDesk})
		isCooling := errors.As(err, new(*booking.CooldownError))
		if isCooling != x.isRefused || err != nil && !isCooling {
			t.Errorf("%s: got hold %q, %v; want a refusal for the cooldown: %t", name, h.ID, err, x.isRefused)
		}
	}
}

func TestOverrideShowsInTheNextListing(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	watch, err := c.Booking.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if c.Slot(1, "checkup", c.Start, "ada") == nil {
		t.Fatal("the slot is not listed at first")
	}
	o, err := c.Clinic.PutOverride(ctx, "key:test", store.Override{SpecialistID: "ada",
		Date: store.DateOf(c.Start), Closed: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if slot := c.Slot(1, "checkup", c.Start, "ada"); slot != nil {
		t.Errorf("a closed date lists %+v", slot)
	}
	events, err := watch.Next(ctx, nil)
	if err != nil || events[0].Kind != holds.EventAvailability || events[0].SpecialistID != "ada" ||
		events[0].Generation != c.Clinic.Generation("checkup") {
		t.Errorf("the event is %+v (%v), want availability of ada with generation %d", events, err,
			c.Clinic.Generation("checkup"))
	}
	if err := c.Clinic.DeleteOverride(ctx, "key:test", o.ID); err != nil {
		t.Fatal(err)
	}
	if c.Slot(1, "checkup", c.Start, "ada") == nil {
		t.Error("the slot is not listed again")
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "bea": 1, "cem": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart, r.SpecialistID = c.Start, "ada"
	c.MustBook(r)
	c.MustHold(2, "checkup", c.Start, "bea")
	got, err := c.Booking.Explain(context.Background(), "checkup", "", c.Start, "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]availability.Reason{"ada": availability.ReasonTaken, "bea": availability.ReasonHeld, "cem": ""}
	for _, x := range got {
		if x.Reason != want[x.SpecialistID] || x.Bookable != (x.Reason == "") {
			t.Errorf("%s: %+v, want reason %q", x.SpecialistID, x, want[x.SpecialistID])
		}
		delete(want, x.SpecialistID)
	}
	if len(want) > 0 {
		t.Errorf("nothing is said of %v", want)
	}
	own, err := c.Booking.Explain(context.Background(), "checkup", "bea", c.Start, enginetest.Client(2))
	if err != nil || len(own) != 1 || !own[0].Bookable {
		t.Errorf("the client that holds the slot gets %+v, %v; want bookable, as in its listing", own, err)
	}
}
