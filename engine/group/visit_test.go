package group_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// at returns the start times of the given appointments, in order, as minutes after the test's start.
func at(c *enginetest.TestClinic, list []store.Appointment) (minutes []int) {
	for _, a := range list {
		minutes = append(minutes, int(a.SlotStart.Sub(c.Start)/time.Minute))
	}
	slices.Sort(minutes)
	return minutes
}

func wantAt(c *enginetest.TestClinic, what string, list []store.Appointment, want ...int) {
	c.T.Helper()
	if got := at(c, list); !slices.Equal(got, want) {
		c.T.Errorf("%s: at %v minutes, want %v", what, got, want)
	}
}

func TestVisitHoldsAndBooksAsOne(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	h, err := c.HoldVisit(1, c.Start, "ada", "checkup", "checkup", "checkup")
	if err != nil || h.SlotEnd != c.Start.Add(90*time.Minute) {
		t.Fatalf("held until %s, %v; want one hold of 90 minutes", h.SlotEnd, err)
	}
	for _, minutes := range []int{0, 30, 60} {
		var held *holds.HeldError
		if _, err := c.Hold(2, "checkup", c.Start.Add(time.Duration(minutes)*time.Minute), "ada"); !errors.As(err,
			&held) {
			t.Errorf("%d minutes after the start: another client got %v, want a HeldError", minutes, err)
		}
	}
	c.MustHold(2, "checkup", c.Start.Add(90*time.Minute), "ada")

	r := enginetest.Family(time.Time{}, "checkup", "checkup", "checkup")
	r.HoldID, r.Client = h.ID, enginetest.Client(1)
	alone := enginetest.BookingOf(1, "checkup")
	alone.HoldID = h.ID
	var invalid *record.ValidationError
	if _, err := c.Book(alone); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "group visit") {
		t.Errorf("one person books with the visit's hold: %v; want an error", err)
	}
	two := r
	two.People = r.People[:2]
	if _, err := c.Group.Visit.Book(t.Context(), two); !errors.As(err, &invalid) ||
		!strings.Contains(err.Error(), "hold the visit again") {
		t.Errorf("two of three people book with the visit's hold: %v; want an error", err)
	}
	list := c.MustVisit(r)
	wantAt(c, "booked", list, 0, 30, 60)
	for i, a := range list {
		if a.VisitID == "" || a.VisitID != list[0].VisitID || a.Patient.Name != r.People[i].Patient.Name ||
			a.Patient.Email != "vogt@example.org" || a.SpecialistID != "ada" {
			t.Errorf("%d is %+v", i, a)
		}
	}
	if there, err := c.Group.Visit.Of(t.Context(), list[2].ID); err != nil || len(there) != 3 {
		t.Errorf("the visit of the last appointment: %d, %v", len(there), err)
	}
	if held, _ := c.Booking.Holds(t.Context()); len(held) != 1 {
		t.Errorf("%d holds remain, want only the later one", len(held))
	}
	if err := c.Store.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestVisitSlotsFitWholeVisit: the gap between two appointments is the larger buffer, as in the guarantee. A start time
// is listed if all appointments fit.
func TestVisitSlotsFitWholeVisit(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "ben": 2})
	wantAt(c, "a checkup, a surgery and a checkup",
		c.MustVisit(enginetest.Family(c.Start, "checkup", "surgery", "checkup")), 0, 45, 135)

	day := store.DateOf(c.Start.AddDate(0, 0, 1))
	noon := c.Start.AddDate(0, 0, 1)
	for _, who := range []string{"ada", "ben"} {
		r := enginetest.BookingOf(9, "checkup")
		r.SlotStart, r.SpecialistID, r.Source, r.Actor = noon, who, store.SourceStaff, enginetest.Jo
		c.MustBook(r)
	}
	starts := func(people int) (minutes []int) {
		list, err := c.Group.Visit.Slots(t.Context(),
			group.SlotsRequest{AppointmentTypeIDs: slices.Repeat([]string{"checkup"}, people), From: day,
				To: day.AddDays(1)})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list.Slots {
			if m := int(x.Start.Sub(noon) / time.Minute); m >= -120 && m <= 60 {
				minutes = append(minutes, m)
			}
		}
		return minutes
	}
	if got := starts(3); !slices.Equal(got, []int{-120, -90, 30, 60}) {
		t.Errorf("the list offers %v to three people around noon, which is booked", got)
	}
	if got := starts(2); !slices.Equal(got, []int{-120, -90, -60, 30, 60}) {
		t.Errorf("the list offers %v to two people around noon, which is booked", got)
	}
	if _, err := c.Group.Visit.Book(t.Context(), enginetest.Family(noon.Add(-30*time.Minute),
		"checkup", "checkup")); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("where the second appointment does not fit: %v", err)
	}
	c.WantNoHolds()
}

func TestVisitRefusesInvalidRequests(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	for name, test := range map[string]struct {
		r    group.VisitRequest
		want string
	}{
		"one":     {enginetest.Family(c.Start, "checkup"), "2 to 6"},
		"a group": {enginetest.Family(c.Start, "checkup", "class"), "people[1].appointmentTypeId: a group session"},
		"a missing name": {func() group.VisitRequest {
			r := enginetest.Family(c.Start, "checkup", "checkup")
			r.People[1].Patient.Name = " "
			return r
		}(), "people[1].name"},
		"no address": {func() group.VisitRequest {
			r := enginetest.Family(c.Start, "checkup", "checkup")
			r.Email = "x"
			return r
		}(), "contact.email"},
		"no start, no hold": {enginetest.Family(time.Time{}, "checkup", "checkup"), "slotStartDate"},
		"an unknown type":   {enginetest.Family(c.Start, "checkup", "magic"), "appointment type"},
	} {
		if _, err := c.Group.Visit.Book(t.Context(), test.r); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	past := enginetest.Family(time.Now().Add(-time.Hour).Truncate(time.Minute), "checkup", "checkup")
	var closed *availability.NotBookableError
	if _, err := c.Group.Visit.Book(t.Context(), past); !errors.As(err, &closed) {
		t.Errorf("in the past: %v", err)
	}
	c.WantNoHolds()
}

func TestVisitTakesRoomForWholeTime(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	h, err := c.HoldVisit(1, c.Start, "ada", "peel", "checkup", "peel")
	if err != nil || h.Resources != "room-1" {
		t.Fatalf("held %q, %v; want one room", h.Resources, err)
	}
	r := enginetest.Family(c.Start, "peel", "checkup", "peel")
	r.HoldID, r.Client = h.ID, enginetest.Client(1)
	list := c.MustVisit(r)
	for i, want := range [][]string{{"room-1"}, nil, {"room-1"}} {
		if !slices.Equal(list[i].Resources, want) {
			t.Errorf("%d has %q, want %q", i, list[i].Resources, want)
		}
	}
	c.MustBook(enginetest.Peels(2, c.Start, "ben"))
	if _, err := c.Group.Visit.Book(t.Context(), enginetest.Family(c.Start, "peel", "peel")); !errors.Is(err,
		store.ErrSlotTaken) {
		t.Errorf("without a room for the first appointment: %v", err)
	}
	if _, err := c.Group.Visit.Move(t.Context(),
		group.VisitMove{Which: group.Which{ID: list[1].ID, Actor: enginetest.Jo},
			SlotStart: c.Start.Add(30 * time.Minute), SpecialistID: "cleo"}); err != nil {
		t.Errorf("half an hour later with cleo: %v", err)
	}
	c.WantNoHolds()
}

// TestVisitRefusedByDatabaseReleasesHold: if the database refuses one appointment that the engine accepted, the whole
// visit is refused.
func TestVisitRefusedByDatabaseReleasesHold(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	h, err := c.HoldVisit(1, c.Start, "ada", "checkup", "checkup", "checkup")
	if err != nil {
		t.Fatal(err)
	}
	other := booking.NewAppointment(&booking.Request{Patient: store.Patient{Name: "A"}, Source: store.SourceStaff},
		holds.Span{AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: c.Start.Add(time.Hour),
			SlotEnd:   c.Start.Add(90 * time.Minute),
			BusyStart: c.Start.Add(time.Hour), BusyEnd: c.Start.Add(90 * time.Minute)})
	if err := c.Store.Write(t.Context(), func(tx store.Tx) error {
		return tx.InsertAppointment(t.Context(), other)
	}); err != nil {
		t.Fatal(err)
	}
	r := enginetest.Family(c.Start, "checkup", "checkup", "checkup")
	r.HoldID, r.Client = h.ID, enginetest.Client(1)
	if _, err := c.Group.Visit.Book(t.Context(), r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("got %v, want ErrSlotTaken", err)
	}
	if there := c.Confirmed(); len(there) != 1 {
		t.Errorf("%d appointments: a visit was booked only in part", len(there)-1)
	}
	c.WantNoHolds()
}

func TestVisitHoldExpiresAsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		h, err := c.HoldVisit(1, c.Start, "ada", "checkup", "checkup")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Second)
		if _, err := c.Booking.ExtendHold(t.Context(), h.ID, enginetest.Client(1), 0, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Second)
		if slot := c.Slot(2, "checkup", c.Start.Add(30*time.Minute), "ada"); slot == nil || slot.Held != 1 {
			t.Errorf("after the extension, the second time is %+v", slot)
		}
		time.Sleep(2 * time.Second)
		for _, minutes := range []int{0, 30} {
			if slot := c.Slot(2, "checkup", c.Start.Add(time.Duration(minutes)*time.Minute), "ada"); slot == nil ||
				slot.Available != 1 {
				t.Errorf("after the expiry, %d minutes after the start, the time is %+v", minutes, slot)
			}
		}
		r := enginetest.Family(c.Start, "checkup", "checkup") // the server must claim the time again
		r.HoldID, r.Client = h.ID, enginetest.Client(1)
		wantAt(c, "booked after all", c.MustVisit(r), 0, 30)
	})
}

// TestVisitHoldReplacesOwnHold: the server releases the client's hold for the first person alone and holds the visit's
// whole time instead. If the visit cannot be held, the client keeps the first hold.
func TestVisitHoldReplacesOwnHold(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	one := c.MustHold(1, "checkup", c.Start, "ada")
	c.MustHold(2, "checkup", c.Start.Add(time.Hour), "ada")
	ask := group.HoldRequest{AppointmentTypeIDs: []string{"checkup", "checkup", "checkup"}, SlotStart: c.Start,
		SpecialistID: "ada", Client: enginetest.Client(1), Replaces: one.ID}
	var held *holds.HeldError
	if _, err := c.Group.Visit.Hold(t.Context(), ask); !errors.As(err, &held) {
		t.Errorf("with the third time taken: %v", err)
	}
	if slot := c.Slot(1, "checkup", c.Start, "ada"); slot == nil || !slot.OwnHold {
		t.Errorf("the single hold was released: %+v", slot)
	}
	ask.AppointmentTypeIDs = ask.AppointmentTypeIDs[:2]
	h, err := c.Group.Visit.Hold(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Group.Visit.Hold(t.Context(), ask); err != nil || again.ID != h.ID {
		t.Errorf("repeated claim: %s, %v; want the same hold", again.ID, err)
	}
	ask.Replaces, ask.Client = h.ID, enginetest.Client(3)
	ask.SlotStart = c.Start.Add(2 * time.Hour)
	if _, err := c.Group.Visit.Hold(t.Context(), ask); !errors.Is(err, holds.ErrNotOwner) {
		t.Errorf("replacing another client's hold: %v", err)
	}
}

// TestRefusedVisitHoldKeepsReplacedHold: the first person's hold is kept if other clients hold every room that another
// person needs, and if the visit's claim is refused.
func TestRefusedVisitHoldKeepsReplacedHold(t *testing.T) {
	t.Parallel()
	var held *holds.HeldError
	for name, test := range map[string]struct {
		first, second string
		others        func(c *enginetest.TestClinic)
		want          func(error) bool
	}{
		"every room is held": {"checkup", "peel", func(c *enginetest.TestClinic) {
			c.MustHold(2, "peel", c.Start.Add(30*time.Minute), "ben")
			c.MustHold(3, "peel", c.Start.Add(30*time.Minute), "cleo")
		}, func(err error) bool { return errors.As(err, &held) && !held.Until.IsZero() }},
		"no more holds for this client": {"checkup", "checkup", func(c *enginetest.TestClinic) {
			c.MustHold(1, "peel", c.Start.Add(24*time.Hour), "ada")
			if _, err := c.Clinic.UpdateAppointmentType(t.Context(), "system", "checkup",
				func(x *store.AppointmentType) { x.HoldQuota = 1 }); err != nil {
				t.Fatal(err)
			}
		}, func(err error) bool { return errors.Is(err, holds.ErrQuota) }},
	} {
		t.Run(name, func(t *testing.T) {
			c := enginetest.WithRooms(t)
			one := c.MustHold(1, test.first, c.Start, "ada")
			test.others(c)
			_, err := c.Group.Visit.Hold(t.Context(),
				group.HoldRequest{AppointmentTypeIDs: []string{test.first, test.second}, SlotStart: c.Start,
					SpecialistID: "ada", Client: enginetest.Client(1), Replaces: one.ID})
			if !test.want(err) {
				t.Errorf("got %v", err)
			}
			all, err := c.Booking.Holds(t.Context())
			if err != nil || !slices.ContainsFunc(all, func(h holds.Hold) bool {
				return h == one
			}) {
				t.Errorf("the earlier hold was released: %+v, %v", all, err)
			}
		})
	}
}
