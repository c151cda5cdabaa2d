package booking_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
	"holdfast/store/sqlite"
)

// bookElsewhere writes a copy of an appointment, at another specialist and start, as another program does: without a
// hold, and without this process having it in memory.
func bookElsewhere(c *enginetest.TestClinic, of *store.Appointment, specialist string,
	start time.Time) store.Appointment {
	c.T.Helper()
	other, err := sqlite.Open(c.T.Context(), sqlite.Options{Path: c.Path})
	if err != nil {
		c.T.Fatal(err)
	}
	defer other.Close()
	b, later := *of, start.Sub(of.SlotStart)
	b.ID, b.Version, b.SpecialistID = "elsewhere-"+specialist+start.Format("-150405"), 1, specialist
	b.SlotStart, b.SlotEnd = of.SlotStart.Add(later), of.SlotEnd.Add(later)
	b.BusyStart, b.BusyEnd = of.BusyStart.Add(later), of.BusyEnd.Add(later)
	if err := other.Write(c.T.Context(), func(tx store.Tx) error {
		return tx.InsertAppointment(c.T.Context(), b)
	}); err != nil {
		c.T.Fatal(err)
	}
	return b
}

// TestConflictTakesAnotherSeat: if only the database refuses the assigned specialist or seat, the booking takes another
// one. It fails only when none is left.
func TestConflictTakesAnotherSeat(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 2, "bea": 1})
	at := c.Start.Add(2 * time.Hour)
	book := func(n int, appointmentType, specialist string, start time.Time) (store.Appointment, error) {
		r := enginetest.BookingOf(n, appointmentType)
		r.SlotStart, r.SpecialistID = start, specialist
		return c.Book(r)
	}
	first, err := book(1, "checkup", "ada", c.Start)
	if err != nil {
		t.Fatal(err)
	}
	bookElsewhere(c, &first, "ada", at)
	if a, err := book(2, "checkup", "", at); err != nil || a.SpecialistID != "bea" {
		t.Errorf("ada's time is booked elsewhere: got %q, %v; want bea", a.SpecialistID, err)
	}
	at = at.Add(time.Hour)
	bookElsewhere(c, &first, "ada", at)
	bookElsewhere(c, &first, "bea", at)
	if a, err := book(3, "checkup", "", at); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("both times are booked elsewhere: got %q, %v; want ErrSlotTaken", a.SpecialistID, err)
	}
	class, err := book(4, "class", "ada", c.Start.Add(6*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	at = c.Start.Add(8 * time.Hour)
	bookElsewhere(c, &class, "ada", at)
	if a, err := book(5, "class", "ada", at); err != nil || a.Seat == class.Seat {
		t.Errorf("a seat is booked elsewhere: got seat %d, %v; want another one", a.Seat, err)
	}
	c.WantNoHolds()
}

// interrupted is a live state that calls its function just before its next claim.
type interrupted struct {
	holds.Backend
	first func()
}

func (x *interrupted) Claim(ctx context.Context, c holds.Claim) (holds.Hold, error) {
	if first := x.first; first != nil {
		x.first = nil
		first()
	}
	return x.Backend.Claim(ctx, c)
}

// TestRoomBookedBeforeClaimIsNotHeld: another client books the only free room after the offers were read and before
// the claim. The client gets no hold on the new time, and keeps the hold that the new one was to replace.
func TestRoomBookedBeforeClaimIsNotHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.WithRooms(t)
		live := &interrupted{Backend: c.Holds}
		e, err := engine.New(t.Context(), engine.Options{Store: c.Store, Holds: live})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Booking.CloseCache)
		ask := booking.HoldRequest{AppointmentTypeID: "peel", SlotStart: c.Start, SpecialistID: "ada",
			Client: enginetest.Client(3)}
		old, err := e.Booking.Hold(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		for n, replaces := range []string{"", old.ID} {
			at := c.Start.Add(time.Duration(n+1) * time.Hour)
			c.MustBook(enginetest.Peels(1, at, "ben"))
			ask.SlotStart, ask.Replaces = at, replaces
			live.first = func() { c.MustBook(enginetest.Peels(2, at, "cleo")) }
			if h, err := e.Booking.Hold(t.Context(), ask); !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("replacing %q: got hold %q, %v; want ErrSlotTaken", replaces, h.ID, err)
			}
		}
		left, err := c.Booking.Holds(t.Context())
		if err != nil || len(left) != 1 {
			t.Fatalf("the holds are %+v, %v; want only the old one", left, err)
		}
		if h := left[0]; !h.SlotStart.Equal(c.Start) || !h.Owner.Is(old.Owner) || h.Resources != old.Resources ||
			!h.ExpiresAt.Equal(old.ExpiresAt) {
			t.Errorf("the hold is %+v, want that of %+v", h, old)
		}
	})
}

// TestRefusedBookingSettlesItsHold: a refused booking returns its hold to the client or the request, which can try
// again, unless this client can no longer book the time.
func TestRefusedBookingSettlesItsHold(t *testing.T) {
	t.Parallel()
	errFull := errors.New("the day is full")
	isInvalid := func(err error) bool { return errors.As(err, new(*record.ValidationError)) }
	isCooling := func(err error) bool { return errors.As(err, new(*booking.CooldownError)) }
	coolDown := func(c *enginetest.TestClinic, _ *booking.Request) {
		r := enginetest.BookingOf(1, "cooling")
		r.SlotStart = c.Start.Add(3 * time.Hour)
		c.MustBook(r)
	}
	for name, x := range map[string]struct {
		happens   func(*enginetest.TestClinic, *booking.Request)
		isRefusal func(error) bool
		isHeld    bool // after the refusal
	}{
		"booked elsewhere": {func(c *enginetest.TestClinic, _ *booking.Request) {
			r := enginetest.BookingOf(2, "cooling")
			r.SlotStart, r.SpecialistID = c.Start.Add(5*time.Hour), "ada"
			a := c.MustBook(r)
			bookElsewhere(c, &a, "ada", c.Start)
		}, func(err error) bool { return errors.Is(err, store.ErrSlotTaken) }, false},
		"cooldown": {coolDown, isCooling, false},
		"cooldown of a request": {func(c *enginetest.TestClinic, r *booking.Request) {
			coolDown(c, r)
			if _, err := c.Booking.ReleaseHold(t.Context(), r.HoldID, r.Client); err != nil {
				t.Fatal(err)
			}
			h, err := c.Booking.HoldForRequest(t.Context(), booking.RequestedSlot{AppointmentTypeID: "cooling",
				SpecialistID: "ada", Start: c.Start}, record.NewOwner(), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			r.Confirms = &booking.Confirmation{RequestID: record.NewID(), Owner: r.Client.Owner().String()}
			r.HoldID, r.Client, r.Owner = h.ID, "", h.Owner
		}, isCooling, true},
		"a limit of the caller": {func(_ *enginetest.TestClinic, r *booking.Request) {
			r.Admit = func(context.Context, store.Tx) error { return errFull }
		}, func(err error) bool { return errors.Is(err, errFull) }, true},
		"another specialist": {func(_ *enginetest.TestClinic, r *booking.Request) { r.SpecialistID = "bea" },
			isInvalid, true},
		"another type": {func(_ *enginetest.TestClinic, r *booking.Request) { r.AppointmentTypeID = "checkup" },
			isInvalid, true},
		"another start": {func(c *enginetest.TestClinic, r *booking.Request) { r.SlotStart = c.Start.Add(time.Hour) },
			isInvalid, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := enginetest.NewClinic(t, map[string]int{"ada": 1, "bea": 1})
			r := enginetest.BookingOf(1, "cooling")
			r.HoldID = c.MustHold(1, "cooling", c.Start, "ada").ID
			x.happens(c, &r)
			if a, err := c.Book(r); !x.isRefusal(err) {
				t.Errorf("got appointment %q, %v; want a refusal for this reason", a.ID, err)
			}
			left, err := c.Booking.Holds(t.Context())
			if err != nil || len(left) > 1 || x.isHeld != (len(left) == 1) {
				t.Fatalf("the holds are %+v, %v; want the time held: %t", left, err, x.isHeld)
			}
			if x.isHeld && (left[0].ID != r.HoldID || left[0].Pinned) {
				t.Errorf("the hold is %+v, want %s, not pinned", left[0], r.HoldID)
			}
		})
	}
}
