package engine_test

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

// These tests check selections and polling: which slots other clients are looking at, also without a stream.

func (c *testClinic) look(n int, start time.Time, specialist string, lock bool) booking.Selected {
	c.t.Helper()
	s, err := c.Booking.Select(c.t.Context(), looking(n, start, specialist, lock))
	if err != nil {
		c.t.Fatalf("client %d selects %s: %v", n, start.Format(time.TimeOnly), err)
	}
	return s
}

// listHook is a live state that runs once, if set, before it answers List.
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

// TestPollSeesAHoldBecomeABooking: a held start is booked after a poll has read the list and before it reads the
// holds. The start is never shown as free.
func TestPollSeesAHoldBecomeABooking(t *testing.T) {
	db := enginetest.Database(t)
	live := &listHook{Backend: enginetest.Holds(t, db)}
	e, err := engine.New(t.Context(), engine.Options{Store: db, Holds: live})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Clinic.Import(t.Context(), "system", enginetest.ClinicFile(map[string]int{"ada": 1})); err != nil {
		t.Fatal(err)
	}
	c := &testClinic{Engine: e, t: t, start: enginetest.Noon(time.UTC, 2)}
	h, err := c.hold(1, "checkup", c.start, "ada")
	if err != nil {
		t.Fatal(err)
	}
	wantStarts(t, "locked before", c.poll(2, "checkup", "ada", time.Time{}).Locked, c.start)
	if _, err := c.hold(1, "checkup", c.start.Add(time.Hour), "ada"); err != nil { // otherwise the earlier poll is shared
		t.Fatal(err)
	}
	live.once = func() {
		r := bookingOf(1, "checkup")
		r.HoldID = h.ID
		if _, err := c.Booking.Book(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	p := c.poll(2, "checkup", "ada", time.Time{})
	if live.once != nil {
		t.Fatal("the poll did not ask for the holds")
	}
	wantStarts(t, "booked", p.Booked, c.start)
	wantStarts(t, "locked", p.Locked, c.start.Add(time.Hour))
}

func looking(n int, start time.Time, specialist string, lock bool) booking.SelectRequest {
	return booking.SelectRequest{AppointmentTypeID: "checkup", SlotStart: start, SpecialistID: specialist, Client: client(n), Lock: lock}
}

// poll polls the day of the clinic's start as client n.
func (c *testClinic) poll(n int, appointmentType, specialist string, selected time.Time) booking.Poll {
	c.t.Helper()
	p, err := c.Booking.Poll(c.t.Context(), booking.PollRequest{
		AppointmentTypeID: appointmentType, Date: store.DateOf(c.start), SpecialistID: specialist, Client: client(n), Selected: selected,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func wantStarts(t *testing.T, what string, got []time.Time, want ...time.Time) {
	t.Helper()
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// kinds returns the events in a comparable form.
func kinds(events []holds.Event) []string {
	var list []string
	for _, ev := range events {
		s := string(ev.Kind)
		if ev.Reason != "" {
			s += " " + string(ev.Reason)
		}
		list = append(list, s+" "+ev.SlotStart.Format("15:04"))
	}
	return list
}

func TestSelectionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClinic(t, map[string]int{"ada": 1})
		events := c.events(holds.EventSelect, holds.EventDeselect)
		x := c.look(1, c.start, "", false)
		if x.SpecialistID != "ada" || x.Hold != nil || time.Until(x.ExpiresAt) != holds.SelectionTTL {
			t.Errorf("got %+v, want ada for 10 s without a hold", x)
		}
		time.Sleep(holds.SelectionTTL - time.Millisecond)
		wantStarts(t, "a moment before", c.poll(2, "checkup", "", time.Time{}).Looking, c.start)
		time.Sleep(time.Millisecond)
		wantStarts(t, "at its end", c.poll(2, "checkup", "", time.Time{}).Looking)
		time.Sleep(50 * time.Millisecond)
		at := c.start.Format("15:04")
		if got, want := kinds(events()), []string{"select " + at, "deselect expired " + at}; !slices.Equal(got, want) {
			t.Errorf("the streams were told %v, want %v", got, want)
		}
	})
}

func TestPollRenewsOwnSelection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClinic(t, map[string]int{"ada": 1})
		c.look(1, c.start, "", false)
		events := c.events(holds.EventSelect, holds.EventDeselect)
		for range 20 {
			time.Sleep(5 * time.Second)
			wantStarts(t, "one's own", c.poll(1, "checkup", "", time.Time{}).Looking, c.start)
			wantStarts(t, "for others", c.poll(2, "checkup", "", time.Time{}).Looking, c.start)
		}
		if got := kinds(events()); len(got) != 0 {
			t.Errorf("renewing told the streams %v", got)
		}
		p, err := c.Booking.Poll(t.Context(), booking.PollRequest{AppointmentTypeID: "checkup", Date: store.DateOf(c.start)})
		if err != nil {
			t.Fatal(err)
		}
		wantStarts(t, "for somebody without a client", p.Looking, c.start)
		time.Sleep(11 * time.Second) // the tab was frozen
		wantStarts(t, "lapsed", c.poll(2, "checkup", "", time.Time{}).Looking)
		c.poll(1, "checkup", "", c.start)
		wantStarts(t, "made anew by a poll that says what it looks at", c.poll(2, "checkup", "", time.Time{}).Looking, c.start)
	})
}

func TestPollSelectsBookableOnly(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	b := bookingOf(9, "checkup")
	b.SlotStart = c.start
	c.mustBook(b)
	for what, start := range map[string]time.Time{
		"a booked slot": c.start, "no slot's start": c.start.Add(7 * time.Minute), "another day": c.start.AddDate(0, 0, 3),
	} {
		c.poll(1, "checkup", "", start)
		if all, err := c.holds.Selected(t.Context(), c.start.AddDate(0, 0, -9), c.start.AddDate(0, 0, 9)); err != nil || len(all) != 0 {
			t.Errorf("%s was selected: %v, %v", what, all, err)
		}
	}
}

func TestClientHasOneSelection(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	later := c.start.Add(time.Hour)
	events := c.events(holds.EventSelect, holds.EventDeselect)
	c.look(1, c.start, "", false)
	c.look(1, later, "", false)
	wantStarts(t, "looked at", c.poll(2, "checkup", "", time.Time{}).Looking, later)
	if gone, err := c.Booking.Deselect(t.Context(), looking(1, c.start, "", false)); err != nil || gone {
		t.Errorf("deselecting the one before: got %v, %v; want nothing to end", gone, err)
	}
	for _, want := range []bool{true, false} {
		if gone, err := c.Booking.Deselect(t.Context(), looking(1, later, "", false)); err != nil || gone != want {
			t.Errorf("deselecting: got %v, %v; want %v", gone, err, want)
		}
	}
	a, b := c.start.Format("15:04"), later.Format("15:04")
	if got, want := kinds(events()), []string{"select " + a, "deselect released " + a, "select " + b, "deselect released " + b}; !slices.Equal(got, want) {
		t.Errorf("the streams were told %v, want %v", got, want)
	}
}

// TestLock: a selection excludes no other client. A lock does, for up to 600 seconds if the type allows it.
func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClinic(t, map[string]int{"ada": 1})
		c.look(1, c.start, "", false)
		c.look(2, c.start, "", false)
		x := c.look(1, c.start, "", true)
		if x.Hold == nil || time.Until(x.Hold.ExpiresAt) != booking.LockTTL {
			t.Fatalf("got the hold %+v, want one of 600 s", x.Hold)
		}
		wantStarts(t, "for others", c.poll(2, "checkup", "", time.Time{}).Locked, c.start)
		wantStarts(t, "for its owner", c.poll(1, "checkup", "", time.Time{}).Locked, c.start)
		var held *holds.HeldError
		if _, err := c.Booking.Select(t.Context(), looking(2, c.start, "", true)); !errors.As(err, &held) {
			t.Errorf("another lock: got %v, want a *HeldError", err)
		}
		c.look(2, c.start, "ada", false) // a selection is always possible
		if gone, err := c.Booking.Deselect(t.Context(), looking(2, c.start, "", false)); err != nil || !gone {
			t.Errorf("another's deselect: got %v, %v", gone, err)
		}
		wantStarts(t, "after another's deselect", c.poll(2, "checkup", "", time.Time{}).Locked, c.start)
		time.Sleep(time.Minute) // the selection expires, the lock stays
		if gone, err := c.Booking.Deselect(t.Context(), looking(1, c.start, "", false)); err != nil || !gone {
			t.Errorf("its owner's deselect: got %v, %v; want the lock released", gone, err)
		}
		wantStarts(t, "released", c.poll(2, "checkup", "", time.Time{}).Locked)

		if _, err := c.Clinic.UpdateAppointmentType(t.Context(), "system", "checkup", func(t *store.AppointmentType) { t.MaxHoldSeconds = 300 }); err != nil {
			t.Fatal(err)
		}
		if x := c.look(1, c.start, "", true); time.Until(x.Hold.ExpiresAt) != 300*time.Second {
			t.Errorf("the type's maximum is 300 s, the lock lives %v", time.Until(x.Hold.ExpiresAt))
		}
	})
}

func TestPollTellsBookedFromLocked(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1, "bea": 1})
	at := func(minutes int) time.Time { return c.start.Add(time.Duration(minutes) * time.Minute) }
	for i, id := range []string{"ada", "bea"} {
		b := bookingOf(i, "checkup")
		b.SlotStart, b.SpecialistID = at(0), id
		c.mustBook(b)
	}
	b := bookingOf(3, "checkup")
	b.SlotStart, b.SpecialistID = at(30), "ada"
	c.mustBook(b)
	c.mustHold(4, "surgery", at(120), "ada") // busy from 105 to 210
	c.mustHold(5, "checkup", at(120), "bea")

	pooled := c.poll(9, "checkup", "", time.Time{})
	wantStarts(t, "booked, pooled", pooled.Booked, at(0))
	wantStarts(t, "locked, pooled", pooled.Locked, at(120))
	ada := c.poll(9, "checkup", "ada", time.Time{})
	wantStarts(t, "booked, ada", ada.Booked, at(0), at(30))
	wantStarts(t, "locked, ada", ada.Locked, at(90), at(120), at(150), at(180))
	wantStarts(t, "locked, pooled, for its owner", c.poll(5, "checkup", "", time.Time{}).Locked, at(120))
	if pooled.Generation != c.Clinic.Generation("checkup") {
		t.Errorf("the generation: got %d, want %d", pooled.Generation, c.Clinic.Generation("checkup"))
	}

	for seat := range 2 { // a group is locked when every free seat is held
		c.mustHold(20+seat, "class", at(300), "bea")
	}
	wantStarts(t, "a group with a seat left", c.poll(9, "class", "bea", time.Time{}).Locked, at(120))
	c.mustHold(22, "class", at(300), "bea")
	wantStarts(t, "a full group", c.poll(9, "class", "bea", time.Time{}).Locked, at(120), at(300))
}

// TestPollIsConsistent: polls share one reading of the live state. Each change of it shows in the very next poll.
func TestPollIsConsistent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClinic(t, map[string]int{"ada": 1})
		at := []time.Time{c.start}
		want := func(what string, looking, locked, booked []time.Time) {
			t.Helper()
			for range 2 {
				p := c.poll(9, "checkup", "", time.Time{})
				wantStarts(t, what+", looked at", p.Looking, looking...)
				wantStarts(t, what+", locked", p.Locked, locked...)
				wantStarts(t, what+", booked", p.Booked, booked...)
			}
		}
		want("at first", nil, nil, nil)
		c.look(1, c.start, "", false)
		want("selected", at, nil, nil)
		if _, err := c.Booking.Deselect(t.Context(), looking(1, c.start, "", false)); err != nil {
			t.Fatal(err)
		}
		want("deselected", nil, nil, nil)
		h := c.mustHold(1, "checkup", c.start, "")
		want("held", nil, at, nil)
		if _, err := c.Booking.ReleaseHold(t.Context(), h.ID, client(1)); err != nil {
			t.Fatal(err)
		}
		want("released", nil, nil, nil)
		h = c.mustHold(1, "checkup", c.start, "")
		want("held again", nil, at, nil)
		time.Sleep(30*time.Second - time.Nanosecond)
		want("a moment before it lapses", nil, at, nil)
		time.Sleep(time.Nanosecond)
		want("lapsed", nil, nil, nil)
		h = c.mustHold(1, "checkup", c.start, "")
		want("held once more", nil, at, nil)
		b := bookingOf(1, "checkup")
		b.HoldID = h.ID
		a := c.mustBook(b)
		want("booked", nil, nil, at)
		if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "system"}); err != nil {
			t.Fatal(err)
		}
		want("cancelled", nil, nil, nil)
		wantStarts(t, "for its owner", c.poll(1, "checkup", "", time.Time{}).Locked)
	})
}

// TestPollWithoutTypeKeepsFreeStarts: a poll without a type marks a start only if no type can be held there. A longer
// type does not fit before a lock, a shorter one does.
func TestPollWithoutTypeKeepsFreeStarts(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	locked, booked := c.start.Add(time.Hour), c.start.Add(4*time.Hour)
	c.look(1, locked, "ada", true)
	r := bookingOf(2, "checkup")
	r.SlotStart, r.SpecialistID = booked, "ada"
	c.mustBook(r)
	for name, specialist := range map[string]string{"by date": "", "by date and specialist": "ada"} {
		p := c.poll(3, "", specialist, time.Time{})
		wantStarts(t, name+", locked", p.Locked, locked)
		wantStarts(t, name+", booked", p.Booked, booked)
	}
	held := booked.Add(-time.Hour) // no surgery that begins here ends before the appointment
	c.look(4, held, "ada", true)
	p := c.poll(3, "", "ada", time.Time{})
	wantStarts(t, "a held start that is booked for the longer type, locked", p.Locked, locked, held)
	wantStarts(t, "a held start that is booked for the longer type, booked", p.Booked, booked)
	p = c.poll(3, "surgery", "ada", time.Time{})
	if len(p.Locked) < 2 || len(p.Booked) < 2 {
		t.Errorf("by the longer type: locked %v and booked %v, want the starts before them too", p.Locked, p.Booked)
	}
}

func TestPollDaysAreLocal(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1, "bea": 1})
	if _, err := c.Clinic.UpdateSpecialist(t.Context(), "system", "ada", func(p *store.Specialist) { p.Timezone = "Asia/Kolkata" }); err != nil {
		t.Fatal(err)
	}
	midnight := availability.StartOfDay(time.UTC, store.DateOf(c.start))
	late := midnight.Add(23 * time.Hour) // 04:30 of the day after, in Kolkata
	c.look(1, late, "ada", false)
	ada := c.poll(2, "checkup", "ada", time.Time{})
	if ada.Zone.String() != "Asia/Kolkata" {
		t.Errorf("the zone: got %v", ada.Zone)
	}
	wantStarts(t, "the same date, in Kolkata", ada.Looking)
	pooled := c.poll(2, "checkup", "", time.Time{})
	if pooled.Zone.String() != "UTC" {
		t.Errorf("the zone: got %v", pooled.Zone)
	}
	wantStarts(t, "the date, in the clinic's zone", pooled.Looking, late)
	next, err := c.Booking.Poll(t.Context(), booking.PollRequest{AppointmentTypeID: "checkup", Date: store.DateOf(c.start).AddDays(1), SpecialistID: "ada", Client: client(2)})
	if err != nil {
		t.Fatal(err)
	}
	wantStarts(t, "the date after, in Kolkata", next.Looking, late)
}

func TestBadSelections(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	good := looking(1, c.start, "", false)
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
			if _, err := c.Booking.Select(t.Context(), r); !errors.As(err, &invalid) || invalid.Fields[0].Field != field {
				t.Errorf("select with a bad %s: got %v", field, err)
			}
			if _, err := c.Booking.Deselect(t.Context(), r); !errors.As(err, &invalid) || invalid.Fields[0].Field != field {
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
		t.Errorf("deselecting of an unknown type: got %v, %v", gone, err)
	}
	r = good
	r.SlotStart = c.start.Add(time.Minute)
	_, err := c.Booking.Select(t.Context(), r)
	wantRefusal(t, "no slot's start", err, availability.ReasonNotASlotStart)
	r.SlotStart = c.start.AddDate(-1, 0, 0)
	_, err = c.Booking.Select(t.Context(), r)
	wantRefusal(t, "past", err, availability.ReasonTooSoon)
	var invalid *record.ValidationError
	if _, err := c.Booking.Poll(t.Context(), booking.PollRequest{AppointmentTypeID: "checkup", SpecialistID: "nobody"}); !errors.As(err, &invalid) {
		t.Errorf("a poll of an unknown specialist: got %v", err)
	}
	if _, err := c.Booking.Poll(t.Context(), booking.PollRequest{AppointmentTypeID: "unknown"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a poll of an unknown type: got %v", err)
	}
}
