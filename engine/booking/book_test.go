package booking_test

import (
	"context"
	"errors"
	"strings"
	"sync"
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

// These tests check the guarantees of booking, cancelling and moving with a real database and a real table of holds.

func TestBookWithLiveHold(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	h := c.MustHold(1, "checkup", c.Start, "ada")
	r := enginetest.BookingOf(1, "checkup")
	r.HoldID = h.ID
	a := c.MustBook(r)
	if a.SpecialistID != "ada" || !a.SlotStart.Equal(c.Start) || a.Status != store.Confirmed {
		t.Errorf("booked %s at %s (%s), want ada at %s", a.SpecialistID, a.SlotStart, a.Status, c.Start)
	}
	if held, _ := c.Booking.Holds(context.Background()); len(held) != 0 {
		t.Errorf("%d holds remain after the booking, want none", len(held))
	}
	if slot := c.Slot(2, "checkup", c.Start, "ada"); slot != nil {
		t.Errorf("the booked slot is still listed: %+v", slot)
	}
}

func TestBookWithExpiredHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		free := c.MustHold(1, "checkup", c.Start, "ada")
		lost := c.MustHold(2, "checkup", c.Start.Add(time.Hour), "ada")
		time.Sleep(31 * time.Second)
		c.MustHold(3, "checkup", c.Start.Add(time.Hour), "ada")

		r := enginetest.BookingOf(1, "checkup")
		r.HoldID = free.ID
		if a := c.MustBook(r); !a.SlotStart.Equal(c.Start) {
			t.Errorf("an expired hold booked %s, want its own slot %s", a.SlotStart, c.Start)
		}
		r = enginetest.BookingOf(2, "checkup")
		r.HoldID = lost.ID
		var held *holds.HeldError
		if _, err := c.Book(r); !errors.As(err, &held) {
			t.Errorf("an expired hold whose slot another client holds: got %v, want *HeldError", err)
		}
		r = enginetest.BookingOf(4, "checkup")
		r.HoldID = free.ID
		if _, err := c.Book(r); !errors.Is(err, holds.ErrNotOwner) {
			t.Errorf("another client's expired hold: got %v, want ErrNotOwner", err)
		}
		r.HoldID = "unknown"
		if _, err := c.Book(r); !errors.Is(err, holds.ErrNotFound) {
			t.Errorf("an unknown hold: got %v, want ErrNotFound", err)
		}
	})
}

func TestBookWithoutHold(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	c.MustBook(r)
	r = enginetest.BookingOf(2, "checkup")
	r.SlotStart = c.Start
	if _, err := c.Book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("a booked slot: got %v, want ErrSlotTaken", err)
	}
	c.MustHold(3, "checkup", c.Start.Add(time.Hour), "ada")
	r.SlotStart = c.Start.Add(time.Hour)
	var held *holds.HeldError
	if _, err := c.Book(r); !errors.As(err, &held) {
		t.Errorf("another client's live hold: got %v, want *HeldError", err)
	}
	r.Displace, r.Source, r.Actor = true, store.SourceStaff, "user:jo"
	c.MustBook(r)
}

// TestRefusedDeskBookingDisplacesNoHold: a client keeps its hold if the desk cannot book the time.
func TestRefusedDeskBookingDisplacesNoHold(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start.Add(time.Hour)
	c.MustBook(r)
	h := c.MustHold(2, "checkup", c.Start.Add(2*time.Hour), "ada")
	r = enginetest.BookingOf(3, "surgery") // its buffer overlaps the appointment, and its slot overlaps the hold
	r.SlotStart, r.SpecialistID = c.Start.Add(90*time.Minute), "ada"
	r.Displace, r.Source, r.Actor = true, store.SourceStaff, "user:jo"
	if _, err := c.Book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Fatalf("got %v, want ErrSlotTaken", err)
	}
	if live, err := c.Booking.Holds(t.Context()); err != nil || len(live) != 1 || live[0].ID != h.ID {
		t.Errorf("the holds are %+v, %v; want the first one", live, err)
	}
}

func TestBookRace(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	const racers = 50
	var won, refused int
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range racers {
		all.Go(func() {
			r := enginetest.BookingOf(n, "checkup")
			r.SlotStart = c.Start
			_, err := c.Book(r)
			mu.Lock()
			defer mu.Unlock()
			var held *holds.HeldError
			switch {
			case err == nil:
				won++
			case errors.Is(err, store.ErrSlotTaken) || errors.As(err, &held):
				refused++
			default:
				t.Errorf("racer %d: %v", n, err)
			}
		})
	}
	all.Wait()
	if won != 1 || refused != racers-1 {
		t.Errorf("%d won and %d were refused, want 1 and %d", won, refused, racers-1)
	}
}

func TestBookPooledIsAssigned(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 10, "bea": 10, "cem": 5})
	var got []string
	for n := range 3 {
		r := enginetest.BookingOf(n, "checkup")
		r.SlotStart = c.Start
		got = append(got, c.MustBook(r).SpecialistID)
	}
	first, _ := availability.Assign("checkup", c.Start, []store.Assignment{{SpecialistID: "ada", Priority: 10}, {SpecialistID: "bea", Priority: 10}, {SpecialistID: "cem", Priority: 5}})
	if got[0] != first || got[1] == first || got[1] == "cem" || got[2] != "cem" {
		t.Errorf("assigned %v, want %s, then the other of priority 10, then cem", got, first)
	}
	r := enginetest.BookingOf(9, "checkup")
	r.SlotStart = c.Start
	if _, err := c.Book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("with all specialists booked: got %v, want ErrSlotTaken", err)
	}
}

func TestGroupSession(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	seats := map[int]bool{}
	for n := range 3 {
		r := enginetest.BookingOf(n, "class")
		r.SlotStart = c.Start
		if n == 1 { // one of them has a hold
			r.HoldID = c.MustHold(n, "class", c.Start, "ada").ID
		}
		seats[c.MustBook(r).Seat] = true
	}
	if len(seats) != 3 {
		t.Errorf("the seats are %v, want three different ones", seats)
	}
	r := enginetest.BookingOf(4, "class")
	r.SlotStart = c.Start
	if _, err := c.Book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("a seat above the capacity: got %v, want ErrSlotTaken", err)
	}
	r = enginetest.BookingOf(5, "checkup")
	r.SlotStart = c.Start.Add(30 * time.Minute)
	if _, err := c.Book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("another type during a group session: got %v, want ErrSlotTaken", err)
	}
}

func TestCooldown(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	taken := enginetest.BookingOf(9, "cooling")
	taken.SlotStart = c.Start
	c.MustBook(taken)

	r := enginetest.BookingOf(1, "cooling")
	r.SlotStart = c.Start
	if _, err := c.Book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Fatalf("a taken slot: got %v, want ErrSlotTaken", err)
	}
	r.SlotStart = c.Start.Add(time.Hour)
	a := c.MustBook(r) // the refused booking used up no quota or token
	var cooling *booking.CooldownError
	r.SlotStart = c.Start.Add(2 * time.Hour)
	if _, err := c.Book(r); !errors.As(err, &cooling) {
		t.Fatalf("a second booking: got %v, want *CooldownError", err)
	} else if want := a.CreatedAt.Add(24 * time.Hour); !cooling.Until.Equal(want) {
		t.Errorf("the cooldown ends at %s, want %s", cooling.Until, want)
	}
	if _, err := c.Hold(1, "cooling", r.SlotStart, "ada"); !errors.As(err, &cooling) {
		t.Errorf("a hold during the cooldown: got %v, want *CooldownError", err)
	}
	byProgram := r
	byProgram.SlotStart, byProgram.Source = c.Start.Add(3*time.Hour), store.SourceAPI
	c.MustBook(byProgram) // the cooldown is only for patients who book on the page
	if held, _ := c.Booking.Holds(ctx); len(held) != 0 {
		t.Errorf("%d holds remain after refusals, want none", len(held))
	}
	if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
		t.Fatal(err)
	}
	c.MustBook(r)
}

func TestCancelFreesTheSlot(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	r := enginetest.BookingOf(1, "surgery")
	r.SlotStart = c.Start
	a := c.MustBook(r)
	for range 2 { // the second cancellation changes nothing
		cancelled, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage"})
		if err != nil || cancelled.Status != store.Cancelled || cancelled.Version != 2 {
			t.Fatalf("cancel: %v, status %s version %d, want cancelled 2", err, cancelled.Status, cancelled.Version)
		}
	}
	r = enginetest.BookingOf(2, "surgery")
	r.SlotStart = c.Start
	c.MustBook(r)
	if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Version: 1, Actor: "key:x"}); !errors.Is(err, store.ErrVersion) {
		t.Errorf("a stale version: got %v, want ErrVersion", err)
	}
}

func TestIdempotencyCommitsWithTheBooking(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	once := &record.Once{Scope: "s", Key: "k", Fingerprint: [32]byte{1}, Answer: func(v any) (int, []byte) { return 201, []byte(v.(store.Appointment).ID) }}
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart, r.Once = c.Start, once
	a := c.MustBook(r)
	got, err := c.Record.Recall(ctx, once)
	if err != nil || got == nil || string(got.Body) != a.ID || got.Status != 201 {
		t.Fatalf("recall: %v %+v, want 201 %s", err, got, a.ID)
	}
	other := *once
	other.Fingerprint = [32]byte{2}
	if _, err := c.Record.Recall(ctx, &other); !errors.Is(err, record.ErrIdempotencyMismatch) {
		t.Errorf("the same key with another body: got %v, want ErrIdempotencyMismatch", err)
	}
	// If another request has used the key since then, the booking is undone.
	r = enginetest.BookingOf(2, "checkup")
	r.SlotStart, r.Once = c.Start.Add(time.Hour), once
	if _, err := c.Book(r); !errors.Is(err, store.ErrDuplicate) {
		t.Errorf("a used key: got %v, want ErrDuplicate", err)
	}
	if slot := c.Slot(3, "checkup", r.SlotStart, ""); slot == nil || slot.Available != 1 {
		t.Errorf("the slot of the undone booking is %+v, want free", slot)
	}
	// A refused booking does not store a response.
	r = enginetest.BookingOf(2, "checkup")
	r.SlotStart, r.Once = c.Start, &record.Once{Scope: "s", Key: "k2", Answer: once.Answer}
	_, _ = c.Book(r)
	if got, err := c.Record.Recall(ctx, r.Once); got != nil || err != nil {
		t.Errorf("a refused booking has a stored answer: %+v %v", got, err)
	}
}

func TestOverbookIsOutsideTheGuarantee(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	c.MustBook(r)
	over := enginetest.BookingOf(2, "checkup")
	over.SlotStart, over.SpecialistID, over.Source, over.OverbookReason = c.Start, "ada", store.SourceStaff, "pain"
	if a := c.MustBook(over); !a.Overbook {
		t.Error("the appointment is not marked as overbooked")
	}
	// An overbooked appointment at a free time occupies it like any other.
	over.SlotStart = c.Start.Add(2 * time.Hour)
	c.MustBook(over)
	if slot := c.Slot(3, "checkup", over.SlotStart, ""); slot != nil {
		t.Errorf("a slot that overlaps an overbooked appointment is listed: %+v", slot)
	}
	for n, specialist := range []string{"", "ada"} {
		r := enginetest.BookingOf(4+n, "checkup")
		r.SlotStart, r.SpecialistID = over.SlotStart, specialist
		if a, err := c.Book(r); !errors.Is(err, store.ErrSlotTaken) {
			t.Errorf("booking of %q over an overbooked appointment: got %s and %v, want ErrSlotTaken", specialist, a.ID, err)
		}
	}
}

// TestOverbookNamesTimeAndSpecialist: an overbooking uses no hold, so the request itself must name the time.
func TestOverbookNamesTimeAndSpecialist(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	h := c.MustHold(1, "checkup", c.Start, "ada")
	for name, x := range map[string]struct {
		edit  func(*booking.Request)
		field string // that is refused; empty means none
	}{
		"no specialist":         {func(r *booking.Request) { r.SpecialistID = "" }, "specialistId"},
		"an unknown specialist": {func(r *booking.Request) { r.SpecialistID = "bea" }, "specialistId"},
		"a hold instead of a time": {func(r *booking.Request) { r.HoldID, r.SlotStart = h.ID, time.Time{} },
			"slotStartDate"},
		"a hold at another time": {func(r *booking.Request) { r.HoldID = h.ID }, ""},
		"a long reason": {func(r *booking.Request) { r.OverbookReason = strings.Repeat("a", 501) },
			"overbook.reason"},
	} {
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.SpecialistID, r.Source = c.Start.Add(time.Hour), "ada", store.SourceStaff
		r.OverbookReason = "pain"
		x.edit(&r)
		a, err := c.Book(r)
		var wrong *record.ValidationError
		switch {
		case x.field == "" && (err != nil || !a.Overbook || !a.SlotStart.Equal(r.SlotStart)):
			t.Errorf("%s: got %v at %s; want an overbooking at %s", name, err, a.SlotStart, r.SlotStart)
		case x.field != "" && (!errors.As(err, &wrong) || wrong.Fields[0].Field != x.field):
			t.Errorf("%s: got %v, want %s to be refused", name, err, x.field)
		}
	}
}
