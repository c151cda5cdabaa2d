package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// These tests check the guarantees of booking, cancelling and moving with a real database and a real table of holds.

func TestBookWithLiveHold(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	h := c.mustHold(1, "checkup", c.start, "ada")
	r := bookingOf(1, "checkup")
	r.HoldID = h.ID
	a := c.mustBook(r)
	if a.SpecialistID != "ada" || !a.SlotStart.Equal(c.start) || a.Status != store.Confirmed {
		t.Errorf("booked %s at %s (%s), want ada at %s", a.SpecialistID, a.SlotStart, a.Status, c.start)
	}
	if held, _ := c.Booking.Holds(context.Background()); len(held) != 0 {
		t.Errorf("%d holds are left after the booking, want none", len(held))
	}
	if slot := c.slot(2, "checkup", c.start, "ada"); slot != nil {
		t.Errorf("the booked slot is still listed: %+v", slot)
	}
}

func TestBookWithExpiredHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClinic(t, map[string]int{"ada": 1})
		free := c.mustHold(1, "checkup", c.start, "ada")
		lost := c.mustHold(2, "checkup", c.start.Add(time.Hour), "ada")
		time.Sleep(31 * time.Second)
		c.mustHold(3, "checkup", c.start.Add(time.Hour), "ada")

		r := bookingOf(1, "checkup")
		r.HoldID = free.ID
		if a := c.mustBook(r); !a.SlotStart.Equal(c.start) {
			t.Errorf("a lapsed hold booked %s, want its own slot %s", a.SlotStart, c.start)
		}
		r = bookingOf(2, "checkup")
		r.HoldID = lost.ID
		var held *holds.HeldError
		if _, err := c.book(r); !errors.As(err, &held) {
			t.Errorf("a lapsed hold whose slot somebody else holds: got %v, want *HeldError", err)
		}
		r = bookingOf(4, "checkup")
		r.HoldID = free.ID
		if _, err := c.book(r); !errors.Is(err, holds.ErrNotOwner) {
			t.Errorf("another client's lapsed hold: got %v, want ErrNotOwner", err)
		}
		r.HoldID = "unknown"
		if _, err := c.book(r); !errors.Is(err, holds.ErrNotFound) {
			t.Errorf("an unknown hold: got %v, want ErrNotFound", err)
		}
	})
}

func TestBookWithoutHold(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	r := bookingOf(1, "checkup")
	r.SlotStart = c.start
	c.mustBook(r)
	r = bookingOf(2, "checkup")
	r.SlotStart = c.start
	if _, err := c.book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("a booked slot: got %v, want ErrSlotTaken", err)
	}
	c.mustHold(3, "checkup", c.start.Add(time.Hour), "ada")
	r.SlotStart = c.start.Add(time.Hour)
	var held *holds.HeldError
	if _, err := c.book(r); !errors.As(err, &held) {
		t.Errorf("another's live hold: got %v, want *HeldError", err)
	}
	r.Displace, r.Source, r.Actor = true, store.SourceStaff, "user:jo"
	c.mustBook(r)
}

// TestRefusedDeskBookingDisplacesNoHold: a client keeps its hold if the desk cannot book the time either.
func TestRefusedDeskBookingDisplacesNoHold(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	r := bookingOf(1, "checkup")
	r.SlotStart = c.start.Add(time.Hour)
	c.mustBook(r)
	h := c.mustHold(2, "checkup", c.start.Add(2*time.Hour), "ada")
	r = bookingOf(3, "surgery") // its buffer overlaps the appointment, and its time the hold
	r.SlotStart, r.SpecialistID = c.start.Add(90*time.Minute), "ada"
	r.Displace, r.Source, r.Actor = true, store.SourceStaff, "user:jo"
	if _, err := c.book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Fatalf("got %v, want ErrSlotTaken", err)
	}
	if live, err := c.Booking.Holds(t.Context()); err != nil || len(live) != 1 || live[0].ID != h.ID {
		t.Errorf("the holds are %+v, %v; want the one there was", live, err)
	}
}

func TestBookRace(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	const racers = 50
	var won, refused int
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range racers {
		all.Go(func() {
			r := bookingOf(n, "checkup")
			r.SlotStart = c.start
			_, err := c.book(r)
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
	c := newClinic(t, map[string]int{"ada": 10, "bea": 10, "cem": 5})
	var got []string
	for n := range 3 {
		r := bookingOf(n, "checkup")
		r.SlotStart = c.start
		got = append(got, c.mustBook(r).SpecialistID)
	}
	first, _ := availability.Assign("checkup", c.start, []store.Assignment{{SpecialistID: "ada", Priority: 10}, {SpecialistID: "bea", Priority: 10}, {SpecialistID: "cem", Priority: 5}})
	if got[0] != first || got[1] == first || got[1] == "cem" || got[2] != "cem" {
		t.Errorf("assigned %v, want %s, then the other of priority 10, then cem", got, first)
	}
	r := bookingOf(9, "checkup")
	r.SlotStart = c.start
	if _, err := c.book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("with everybody booked: got %v, want ErrSlotTaken", err)
	}
}

func TestGroupSession(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	seats := map[int]bool{}
	for n := range 3 {
		r := bookingOf(n, "class")
		r.SlotStart = c.start
		if n == 1 { // one of them has a hold
			r.HoldID = c.mustHold(n, "class", c.start, "ada").ID
		}
		seats[c.mustBook(r).Seat] = true
	}
	if len(seats) != 3 {
		t.Errorf("the seats are %v, want three different ones", seats)
	}
	r := bookingOf(4, "class")
	r.SlotStart = c.start
	if _, err := c.book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("the seat past the capacity: got %v, want ErrSlotTaken", err)
	}
	r = bookingOf(5, "checkup")
	r.SlotStart = c.start.Add(30 * time.Minute)
	if _, err := c.book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("another type over a running group: got %v, want ErrSlotTaken", err)
	}
}

func TestCooldown(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	taken := bookingOf(9, "cooling")
	taken.SlotStart = c.start
	c.mustBook(taken)

	r := bookingOf(1, "cooling")
	r.SlotStart = c.start
	if _, err := c.book(r); !errors.Is(err, store.ErrSlotTaken) {
		t.Fatalf("a taken slot: got %v, want ErrSlotTaken", err)
	}
	r.SlotStart = c.start.Add(time.Hour)
	a := c.mustBook(r) // the refused booking used up nothing
	var cooling *booking.CooldownError
	r.SlotStart = c.start.Add(2 * time.Hour)
	if _, err := c.book(r); !errors.As(err, &cooling) {
		t.Fatalf("a second booking: got %v, want *CooldownError", err)
	} else if want := a.CreatedAt.Add(24 * time.Hour); !cooling.Until.Equal(want) {
		t.Errorf("cooling until %s, want %s", cooling.Until, want)
	}
	if _, err := c.hold(1, "cooling", r.SlotStart, "ada"); !errors.As(err, &cooling) {
		t.Errorf("a hold while cooling: got %v, want *CooldownError", err)
	}
	if held, _ := c.Booking.Holds(ctx); len(held) != 0 {
		t.Errorf("%d holds are left behind by refusals, want none", len(held))
	}
	if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
		t.Fatal(err)
	}
	c.mustBook(r)
}

func TestCancelFreesTheSlot(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	r := bookingOf(1, "surgery")
	r.SlotStart = c.start
	a := c.mustBook(r)
	for range 2 { // the second call changes nothing
		cancelled, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage"})
		if err != nil || cancelled.Status != store.Cancelled || cancelled.Version != 2 {
			t.Fatalf("cancel: %v, status %s version %d, want cancelled 2", err, cancelled.Status, cancelled.Version)
		}
	}
	r = bookingOf(2, "surgery")
	r.SlotStart = c.start
	c.mustBook(r)
	if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Version: 1, Actor: "key:x"}); !errors.Is(err, store.ErrVersion) {
		t.Errorf("a stale version: got %v, want ErrVersion", err)
	}
}

func TestIdempotencyCommitsWithTheBooking(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	once := &record.Once{Scope: "s", Key: "k", Fingerprint: [32]byte{1}, Answer: func(v any) (int, []byte) { return 201, []byte(v.(store.Appointment).ID) }}
	r := bookingOf(1, "checkup")
	r.SlotStart, r.Once = c.start, once
	a := c.mustBook(r)
	got, err := c.Record.Recall(ctx, once)
	if err != nil || got == nil || string(got.Body) != a.ID || got.Status != 201 {
		t.Fatalf("recall: %v %+v, want 201 %s", err, got, a.ID)
	}
	other := *once
	other.Fingerprint = [32]byte{2}
	if _, err := c.Record.Recall(ctx, &other); !errors.Is(err, record.ErrIdempotencyMismatch) {
		t.Errorf("the same key with another body: got %v, want ErrIdempotencyMismatch", err)
	}
	// A key that another request has used since then undoes the booking.
	r = bookingOf(2, "checkup")
	r.SlotStart, r.Once = c.start.Add(time.Hour), once
	if _, err := c.book(r); !errors.Is(err, store.ErrDuplicate) {
		t.Errorf("a used key: got %v, want ErrDuplicate", err)
	}
	if slot := c.slot(3, "checkup", r.SlotStart, ""); slot == nil || slot.Available != 1 {
		t.Errorf("the slot of the undone booking is %+v, want free", slot)
	}
	// A refused booking stores no answer.
	r = bookingOf(2, "checkup")
	r.SlotStart, r.Once = c.start, &record.Once{Scope: "s", Key: "k2", Answer: once.Answer}
	_, _ = c.book(r)
	if got, err := c.Record.Recall(ctx, r.Once); got != nil || err != nil {
		t.Errorf("a refused booking is remembered: %+v %v", got, err)
	}
}

func TestOverbookIsOutsideTheGuarantee(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	r := bookingOf(1, "checkup")
	r.SlotStart = c.start
	c.mustBook(r)
	over := bookingOf(2, "checkup")
	over.SlotStart, over.SpecialistID, over.Source, over.OverbookReason = c.start, "ada", store.SourceStaff, "pain"
	if a := c.mustBook(over); !a.Overbook {
		t.Error("the appointment is not marked as an overbook")
	}
	// An overbook at a free time occupies it like any other appointment.
	over.SlotStart = c.start.Add(2 * time.Hour)
	c.mustBook(over)
	if slot := c.slot(3, "checkup", over.SlotStart, ""); slot != nil {
		t.Errorf("a slot under an overbook is listed: %+v", slot)
	}
	for n, specialist := range []string{"", "ada"} {
		r := bookingOf(4+n, "checkup")
		r.SlotStart, r.SpecialistID = over.SlotStart, specialist
		if a, err := c.book(r); !errors.Is(err, store.ErrSlotTaken) {
			t.Errorf("booking of %q under an overbook: got %s and %v, want ErrSlotTaken", specialist, a.ID, err)
		}
	}
}
