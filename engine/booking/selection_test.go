package booking_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// These tests check selections and polling: which slots other clients are looking at, even without a stream.

func look(c *enginetest.TestClinic, n int, start time.Time, specialist string, lock bool) booking.Selected {
	c.T.Helper()
	s, err := c.Booking.Select(c.T.Context(), looking(n, start, specialist, lock))
	if err != nil {
		c.T.Fatalf("client %d selects %s: %v", n, start.Format(time.TimeOnly), err)
	}
	return s
}

// listHook is a live state that calls its function, if set, once, before its next List.
type listHook struct {
	holds.Backend
	once func()
}

func (h *listHook) List(ctx context.Context, specialistIDs ...string) ([]holds.Hold, error) {
	if once := h.once; once != nil {
		h.once = nil
		once()
	}
	return h.Backend.List(ctx, specialistIDs...)
}

// TestPollSeesAHoldBecomeABooking: a held start time is booked after a poll has read the list and before it reads the
// holds. The time is never shown as free.
func TestPollSeesAHoldBecomeABooking(t *testing.T) {
	t.Parallel()
	db := enginetest.Database(t)
	live := &listHook{Backend: enginetest.Holds(t, db)}
	e, err := engine.New(t.Context(), engine.Options{Store: db, Holds: live})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Clinic.Import(t.Context(), "system", enginetest.ClinicFile(map[string]int{"ada": 1})); err != nil {
		t.Fatal(err)
	}
	c := &enginetest.TestClinic{Engine: e, T: t, Start: enginetest.Noon(time.UTC, 2)}
	h, err := c.Hold(1, "checkup", c.Start, "ada")
	if err != nil {
		t.Fatal(err)
	}
	wantStarts(t, "locked before", poll(c, 2, "checkup", "ada", time.Time{}).Locked, c.Start)
	// otherwise, the result of the earlier poll is shared
	if _, err := c.Hold(1, "checkup", c.Start.Add(time.Hour), "ada"); err != nil {
		t.Fatal(err)
	}
	live.once = func() {
		r := enginetest.BookingOf(1, "checkup")
		r.HoldID = h.ID
		if _, err := c.Booking.Book(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	p := poll(c, 2, "checkup", "ada", time.Time{})
	if live.once != nil {
		t.Fatal("the poll did not read the holds")
	}
	wantStarts(t, "booked", p.Booked, c.Start)
	wantStarts(t, "locked", p.Locked, c.Start.Add(time.Hour))
}

func looking(n int, start time.Time, specialist string, lock bool) booking.SelectRequest {
	return booking.SelectRequest{AppointmentTypeID: "checkup", SlotStart: start, SpecialistID: specialist,
		Client: enginetest.Client(n), Lock: lock}
}

// poll polls the day of c.Start, as client n.
func poll(c *enginetest.TestClinic, n int, appointmentType, specialist string, selected time.Time) booking.Poll {
	c.T.Helper()
	p, err := c.Booking.Poll(c.T.Context(), booking.PollRequest{
		AppointmentTypeID: appointmentType, Date: store.DateOf(c.Start), SpecialistID: specialist,
		Client: enginetest.Client(n), Selected: selected,
	})
	if err != nil {
		c.T.Fatal(err)
	}
	return p
}

func wantStarts(t *testing.T, what string, got []time.Time, want ...time.Time) {
	t.Helper()
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestSelectionExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		events := c.Events(holds.EventSelect, holds.EventDeselect)
		x := look(c, 1, c.Start, "", false)
		if x.SpecialistID != "ada" || x.Hold != nil || time.Until(x.ExpiresAt) != holds.SelectionTTL {
			t.Errorf("got %+v, want ada for 10 s without a hold", x)
		}
		time.Sleep(holds.SelectionTTL - time.Millisecond)
		wantStarts(t, "a moment before", poll(c, 2, "checkup", "", time.Time{}).Looking, c.Start)
		time.Sleep(time.Millisecond)
		wantStarts(t, "at its end", poll(c, 2, "checkup", "", time.Time{}).Looking)
		time.Sleep(50 * time.Millisecond)
		at := c.Start.Format("15:04")
		if got, want := enginetest.Kinds(events()), []string{"select " +
			at, "deselect expired " + at}; !slices.Equal(got, want) {
			t.Errorf("the streams got %v, want %v", got, want)
		}
	})
}

func TestPollRenewsOwnSelection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		look(c, 1, c.Start, "", false)
		events := c.Events(holds.EventSelect, holds.EventDeselect)
		for range 20 {
			time.Sleep(5 * time.Second)
			wantStarts(t, "one's own", poll(c, 1, "checkup", "", time.Time{}).Looking, c.Start)
			wantStarts(t, "for others", poll(c, 2, "checkup", "", time.Time{}).Looking, c.Start)
		}
		if got := enginetest.Kinds(events()); len(got) != 0 {
			t.Errorf("after a renewal, the streams received %v", got)
		}
		p, err := c.Booking.Poll(t.Context(), booking.PollRequest{AppointmentTypeID: "checkup",
			Date: store.DateOf(c.Start)})
		if err != nil {
			t.Fatal(err)
		}
		wantStarts(t, "for a caller without a client", p.Looking, c.Start)
		time.Sleep(11 * time.Second) // the tab was frozen
		wantStarts(t, "lapsed", poll(c, 2, "checkup", "", time.Time{}).Looking)
		poll(c, 1, "checkup", "", c.Start)
		wantStarts(t, "selected again by a poll with its start", poll(c, 2, "checkup", "", time.Time{}).Looking,
			c.Start)
	})
}

func TestPollSelectsBookableOnly(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	b := enginetest.BookingOf(9, "checkup")
	b.SlotStart = c.Start
	c.MustBook(b)
	for what, start := range map[string]time.Time{
		"a booked slot": c.Start, "no slot's start": c.Start.Add(7 * time.Minute),
		"another day": c.Start.AddDate(0, 0, 3),
	} {
		poll(c, 1, "checkup", "", start)
		if all, err := c.Holds.Selected(t.Context(), c.Start.AddDate(0, 0, -9), c.Start.AddDate(0, 0, 9)); err != nil ||
			len(all) != 0 {
			t.Errorf("%s was selected: %v, %v", what, all, err)
		}
	}
}

func TestClientHasOneSelection(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	later := c.Start.Add(time.Hour)
	events := c.Events(holds.EventSelect, holds.EventDeselect)
	look(c, 1, c.Start, "", false)
	look(c, 1, later, "", false)
	wantStarts(t, "looked at", poll(c, 2, "checkup", "", time.Time{}).Looking, later)
	if gone, err := c.Booking.Deselect(t.Context(), looking(1, c.Start, "", false)); err != nil || gone {
		t.Errorf("ending the previous selection: got %v, %v; want false", gone, err)
	}
	for _, want := range []bool{true, false} {
		if gone, err := c.Booking.Deselect(t.Context(), looking(1, later, "", false)); err != nil || gone != want {
			t.Errorf("deselecting: got %v, %v; want %v", gone, err, want)
		}
	}
	a, b := c.Start.Format("15:04"), later.Format("15:04")
	if got, want := enginetest.Kinds(events()), []string{"select " +
		a, "deselect released " + a, "select " + b, "deselect released " + b}; !slices.Equal(got, want) {
		t.Errorf("the streams got %v, want %v", got, want)
	}
}

// TestLock: a selection does not exclude other clients. A lock does, for up to 600 seconds if the type allows it.
func TestLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		look(c, 1, c.Start, "", false)
		look(c, 2, c.Start, "", false)
		x := look(c, 1, c.Start, "", true)
		if x.Hold == nil || time.Until(x.Hold.ExpiresAt) != booking.LockTTL {
			t.Fatalf("got the hold %+v, want one of 600 s", x.Hold)
		}
		wantStarts(t, "for others", poll(c, 2, "checkup", "", time.Time{}).Locked, c.Start)
		wantStarts(t, "for its owner", poll(c, 1, "checkup", "", time.Time{}).Locked, c.Start)
		var held *holds.HeldError
		if _, err := c.Booking.Select(t.Context(), looking(2, c.Start, "", true)); !errors.As(err, &held) {
			t.Errorf("another lock: got %v, want a *HeldError", err)
		}
		look(c, 2, c.Start, "ada", false) // a selection is always possible
		if gone, err := c.Booking.Deselect(t.Context(), looking(2, c.Start, "", false)); err != nil || !gone {
			t.Errorf("another client's deselect: got %v, %v", gone, err)
		}
		wantStarts(t, "after another's deselect", poll(c, 2, "checkup", "", time.Time{}).Locked, c.Start)
		time.Sleep(time.Minute) // the selection expires, the lock remains
		if gone, err := c.Booking.Deselect(t.Context(), looking(1, c.Start, "", false)); err != nil || !gone {
			t.Errorf("its owner's deselect: got %v, %v; want the lock released", gone, err)
		}
		wantStarts(t, "released", poll(c, 2, "checkup", "", time.Time{}).Locked)

		if _, err := c.Clinic.UpdateAppointmentType(t.Context(), "system", "checkup", func(t *store.AppointmentType) {
			t.MaxHoldSeconds = 300
		}); err != nil {
			t.Fatal(err)
		}
		if x := look(c, 1, c.Start, "", true); time.Until(x.Hold.ExpiresAt) != 300*time.Second {
			t.Errorf("the type's maximum is 300 s, the lock lasts %v", time.Until(x.Hold.ExpiresAt))
		}
	})
}

func TestPollTellsBookedFromLocked(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "bea": 1})
	at := func(minutes int) time.Time { return c.Start.Add(time.Duration(minutes) * time.Minute) }
	for i, id := range []string{"ada", "bea"} {
		b := enginetest.BookingOf(i, "checkup")
		b.SlotStart, b.SpecialistID = at(0), id
		c.MustBook(b)
	}
	b := enginetest.BookingOf(3, "checkup")
	b.SlotStart, b.SpecialistID = at(30), "ada"
	c.MustBook(b)
	c.MustHold(4, "surgery", at(120), "ada") // busy from 105 to 210
	c.MustHold(5, "checkup", at(120), "bea")

	pooled := poll(c, 9, "checkup", "", time.Time{})
	wantStarts(t, "booked, pooled", pooled.Booked, at(0))
	wantStarts(t, "locked, pooled", pooled.Locked, at(120))
	ada := poll(c, 9, "checkup", "ada", time.Time{})
	wantStarts(t, "booked, ada", ada.Booked, at(0), at(30))
	wantStarts(t, "locked, ada", ada.Locked, at(90), at(120), at(150), at(180))
	wantStarts(t, "locked, pooled, for its owner", poll(c, 5, "checkup", "", time.Time{}).Locked, at(120))
	if pooled.Generation != c.Clinic.Generation("checkup") {
		t.Errorf("the generation: got %d, want %d", pooled.Generation, c.Clinic.Generation("checkup"))
	}

	for seat := range 2 { // a group is locked when every free seat is held
		c.MustHold(20+seat, "class", at(300), "bea")
	}
	wantStarts(t, "a group with a seat left", poll(c, 9, "class", "bea", time.Time{}).Locked, at(120))
	c.MustHold(22, "class", at(300), "bea")
	wantStarts(t, "a full group", poll(c, 9, "class", "bea", time.Time{}).Locked, at(120), at(300))
}

// TestPollIsConsistent: polls share one reading of the live state, and each change to the live state appears in the
// very next poll.
func TestPollIsConsistent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		at := []time.Time{c.Start}
		want := func(what string, looking, locked, booked []time.Time) {
			t.Helper()
			for range 2 {
				p := poll(c, 9, "checkup", "", time.Time{})
				wantStarts(t, what+", looked at", p.Looking, looking...)
				wantStarts(t, what+", locked", p.Locked, locked...)
				wantStarts(t, what+", booked", p.Booked, booked...)
			}
		}
		want("at first", nil, nil, nil)
		look(c, 1, c.Start, "", false)
		want("selected", at, nil, nil)
		if _, err := c.Booking.Deselect(t.Context(), looking(1, c.Start, "", false)); err != nil {
			t.Fatal(err)
		}
		want("deselected", nil, nil, nil)
		h := c.MustHold(1, "checkup", c.Start, "")
		want("held", nil, at, nil)
		if _, err := c.Booking.ReleaseHold(t.Context(), h.ID, enginetest.Client(1)); err != nil {
			t.Fatal(err)
		}
		want("released", nil, nil, nil)
		h = c.MustHold(1, "checkup", c.Start, "")
		want("held again", nil, at, nil)
		time.Sleep(30*time.Second - time.Nanosecond)
		want("a moment before it lapses", nil, at, nil)
		time.Sleep(time.Nanosecond)
		want("lapsed", nil, nil, nil)
		h = c.MustHold(1, "checkup", c.Start, "")
		want("held once more", nil, at, nil)
		b := enginetest.BookingOf(1, "checkup")
		b.HoldID = h.ID
		a := c.MustBook(b)
		want("booked", nil, nil, at)
		if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "system"}); err != nil {
			t.Fatal(err)
		}
		want("cancelled", nil, nil, nil)
		wantStarts(t, "for its owner", poll(c, 1, "checkup", "", time.Time{}).Locked)
	})
}

// TestPollWithoutTypeKeepsFreeStarts: a poll without a type marks a start time only if no type can be held there. A
// longer type does not fit before a lock, but a shorter one does.
func TestPollWithoutTypeKeepsFreeStarts(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	locked, booked := c.Start.Add(time.Hour), c.Start.Add(4*time.Hour)
	look(c, 1, locked, "ada", true)
	r := enginetest.BookingOf(2, "checkup")
	r.SlotStart, r.SpecialistID = booked, "ada"
	c.MustBook(r)
	for name, specialist := range map[string]string{"by date": "", "by date and specialist": "ada"} {
		p := poll(c, 3, "", specialist, time.Time{})
		wantStarts(t, name+", locked", p.Locked, locked)
		wantStarts(t, name+", booked", p.Booked, booked)
	}
	held := booked.Add(-time.Hour) // no surgery that begins here would end before the appointment
	look(c, 4, held, "ada", true)
	p := poll(c, 3, "", "ada", time.Time{})
	wantStarts(t, "a held start that is booked for the longer type, locked", p.Locked, locked, held)
	wantStarts(t, "a held start that is booked for the longer type, booked", p.Booked, booked)
	p = poll(c, 3, "surgery", "ada", time.Time{})
	if len(p.Locked) < 2 || len(p.Booked) < 2 {
		t.Errorf("by the longer type: locked %v and booked %v, want the starts before them too", p.Locked, p.Booked)
	}
}

func TestPollDaysAreLocal(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "bea": 1})
	if _, err := c.Clinic.UpdateSpecialist(t.Context(), "system", "ada", func(p *store.Specialist) {
		p.Timezone = "Asia/Kolkata"
	}); err != nil {
		t.Fatal(err)
	}
	midnight := availability.StartOfDay(time.UTC, store.DateOf(c.Start))
	late := midnight.Add(23 * time.Hour) // 04:30 the next day in Kolkata
	look(c, 1, late, "ada", false)
	ada := poll(c, 2, "checkup", "ada", time.Time{})
	if ada.Zone.String() != "Asia/Kolkata" {
		t.Errorf("the zone: got %v", ada.Zone)
	}
	wantStarts(t, "the same date, in Kolkata", ada.Looking)
	pooled := poll(c, 2, "checkup", "", time.Time{})
	if pooled.Zone.String() != "UTC" {
		t.Errorf("the zone: got %v", pooled.Zone)
	}
	wantStarts(t, "the date, in the clinic's zone", pooled.Looking, late)
	next, err := c.Booking.Poll(t.Context(), booking.PollRequest{AppointmentTypeID: "checkup",
		Date: store.DateOf(c.Start).AddDays(1), SpecialistID: "ada", Client: enginetest.Client(2)})
	if err != nil {
		t.Fatal(err)
	}
	wantStarts(t, "the date after, in Kolkata", next.Looking, late)
}

func TestBadSelections(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	good := looking(1, c.Start, "", false)
	for field, spoil := range map[string]func(*booking.SelectRequest){
		"appointmentTypeId": func(r *booking.SelectRequest) { r.AppointmentTypeID = "a b" },
		"specialistId":      func(r *booking.SelectRequest) { r.SpecialistID = "a b" },
		"clientId":          func(r *booking.SelectRequest) { r.Client = "short" },
		"slotStartDate":     func(r *booking.SelectRequest) { r.SlotStart = time.Time{} },
	} {
		for _, lock := range []bool{false, true} {
			r := good
			r.Lock = lock
			spoil(&r)
			var invalid *record.ValidationError
			if _, err := c.Booking.Select(t.Context(), r); !errors.As(err, &invalid) ||
				invalid.Fields[0].Field != field {
				t.Errorf("select with a bad %s: got %v", field, err)
			}
			if _, err := c.Booking.Deselect(t.Context(), r); !errors.As(err, &invalid) ||
				invalid.Fields[0].Field != field {
				t.Errorf("deselect with a bad %s: got %v", field, err)
			}
		}
	}
	r := good
	r.AppointmentTypeID = "unknown"
	if _, err := c.Booking.Select(t.Context(), r); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown type: got %v, want ErrNotFound", err)
	}
	if gone, err := c.Booking.Deselect(t.Context(), r); err != nil || gone {
		t.Errorf("deselecting an unknown type: got %v, %v", gone, err)
	}
	r = good
	r.SlotStart = c.Start.Add(time.Minute)
	_, err := c.Booking.Select(t.Context(), r)
	enginetest.WantRefusal(t, "no slot's start", err, availability.ReasonNotASlotStart)
	r.SlotStart = c.Start.AddDate(-1, 0, 0)
	_, err = c.Booking.Select(t.Context(), r)
	enginetest.WantRefusal(t, "past", err, availability.ReasonTooSoon)
	var invalid *record.ValidationError
	if _, err := c.Booking.Poll(t.Context(), booking.PollRequest{AppointmentTypeID: "checkup",
		SpecialistID: "unknown"}); !errors.As(err, &invalid) {
		t.Errorf("a poll for an unknown specialist: got %v", err)
	}
	if _, err := c.Booking.Poll(t.Context(), booking.PollRequest{AppointmentTypeID: "unknown"}); !errors.Is(err,
		store.ErrNotFound) {
		t.Errorf("a poll for an unknown type: got %v", err)
	}
}
