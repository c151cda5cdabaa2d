package booking_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// TestDeactivatedRoomIsNotBooked: a deactivated room is not booked, even if a client already held it.
func TestDeactivatedRoomIsNotBooked(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	h := c.MustHold(1, "peel", c.Start, "ada")
	if _, err := c.Clinic.UpdateSpecialist(context.Background(), enginetest.Jo, "room-1", func(p *store.Specialist) { p.Active = false }); err != nil {
		t.Fatal(err)
	}
	r := enginetest.BookingOf(1, "peel")
	r.HoldID = h.ID
	var not *availability.NotBookableError
	if a, err := c.Book(r); !errors.As(err, &not) || not.Reason != availability.ReasonInactive {
		t.Errorf("got %q, %v; want the room deactivated", a.Resources, err)
	}
	r.HoldID = c.MustHold(1, "peel", c.Start, "ada").ID
	if a := c.MustBook(r); !slices.Equal(a.Resources, []string{"room-2"}) {
		t.Errorf("the second hold has %q, want the other room", a.Resources)
	}
}

// TestRequestTakesAnotherRoom: the room held for a request is deactivated, and confirming the request books another
// room.
func TestRequestTakesAnotherRoom(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	if _, err := c.Clinic.UpdateAppointmentType(context.Background(), enginetest.Jo, "peel", func(t *store.AppointmentType) { t.Page.Approval = true }); err != nil {
		t.Fatal(err)
	}
	r := enginetest.BookingOf(1, "peel")
	r.SlotStart, r.Patient.Phone = c.Start, "030 1234567"
	asked, err := c.Request.Book(context.Background(), r, enginetest.Visitor(1))
	if err != nil || asked.Request == nil {
		t.Fatalf("got %+v, %v; want a request", asked, err)
	}
	if _, err := c.Clinic.UpdateSpecialist(context.Background(), enginetest.Jo, "room-1", func(p *store.Specialist) { p.Active = false }); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Request.Confirm(context.Background(), asked.Request.ID, time.Time{}, enginetest.Jo, nil); err != nil || !slices.Equal(a.Resources, []string{"room-2"}) {
		t.Errorf("the booking has %q, %v; want the other room", a.Resources, err)
	}
	c.WantNoHolds()
}

func TestAppointmentTakesRoom(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	first, second := c.MustBook(enginetest.Peels(1, c.Start, "ada")), c.MustBook(enginetest.Peels(2, c.Start, "ben"))
	if !slices.Equal(first.Resources, []string{"room-1"}) || !slices.Equal(second.Resources, []string{"room-2"}) {
		t.Errorf("got rooms %q and %q, want one for each", first.Resources, second.Resources)
	}
	if _, err := c.Book(enginetest.Peels(3, c.Start, "cleo")); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("a third booking, with two rooms: got %v, want ErrSlotTaken", err)
	}
	if slot := c.Slot(3, "peel", c.Start, ""); slot != nil {
		t.Errorf("the slot is still listed: %+v", slot)
	}
	if slot := c.Slot(3, "checkup", c.Start, ""); slot == nil || !slices.Equal(slot.SpecialistIDs, []string{"cleo"}) {
		t.Errorf("a type without a room: got %+v, want cleo", slot)
	}
	if slot := c.Slot(3, "peel", c.Start.Add(30*time.Minute), ""); slot == nil || slot.Available != 2 {
		t.Errorf("half an hour later: got %+v, want two of three specialists", slot)
	}
	if _, err := c.Booking.Cancel(context.Background(), booking.CancelRequest{ID: first.ID, Actor: "user:jo"}); err != nil {
		t.Fatal(err)
	}
	if got := c.MustBook(enginetest.Peels(3, c.Start, "cleo")); !slices.Equal(got.Resources, []string{"room-1"}) {
		t.Errorf("after a cancellation: got %q, want the freed room", got.Resources)
	}
}

func TestHoldTakesRoom(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	held := c.MustHold(1, "laser", c.Start, "ada")
	if held.Resources != "laser-1 room-2" {
		t.Errorf("got %q, want the laser and the first room of its list", held.Resources)
	}
	if slot := c.Slot(2, "laser", c.Start, ""); slot == nil || slot.Available != 0 || len(slot.SpecialistIDs) != 0 || slot.Held == 0 {
		t.Errorf("while the laser is held: got %+v, want the slot listed as held, without a free specialist", slot)
	}
	if slot := c.Slot(1, "laser", c.Start, ""); slot == nil || !slot.OwnHold || slot.Available == 0 {
		t.Errorf("for the client that holds it: got %+v, want its own hold", slot)
	}
	var inTheWay *holds.HeldError
	if _, err := c.Hold(2, "laser", c.Start, "ben"); !errors.As(err, &inTheWay) {
		t.Errorf("with ben: got %v, want a HeldError", err)
	}
	// The laser stays busy for half an hour after the appointment.
	if _, err := c.Hold(2, "laser", c.Start.Add(time.Hour), "ben"); !errors.As(err, &inTheWay) {
		t.Errorf("an hour later: got %v, want a HeldError", err)
	}
	if got := c.MustHold(2, "peel", c.Start, "ben"); got.Resources != "room-1" {
		t.Errorf("a peel at the same time: got %q, want the other room", got.Resources)
	}
	r := enginetest.BookingOf(1, "laser")
	r.HoldID = held.ID
	if a := c.MustBook(r); !slices.Equal(a.Resources, []string{"laser-1", "room-2"}) {
		t.Errorf("booked: got %q, want the held resources", a.Resources)
	}
	explained, err := c.Booking.Explain(context.Background(), "laser", "", c.Start, "")
	if err != nil || len(explained) != 3 || slices.ContainsFunc(explained, func(x booking.Explanation) bool { return x.Reason != availability.ReasonTaken }) {
		t.Errorf("explanation: got %+v, %v; want it taken for all specialists", explained, err)
	}
}

func TestRescheduleMovesRoom(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	ctx := context.Background()
	a := c.MustBook(enginetest.Peels(1, c.Start, "ada"))
	moved, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: c.Start.Add(30 * time.Minute), Actor: "user:jo", Undoable: true})
	if err != nil || !slices.Equal(moved.Resources, []string{"room-1"}) {
		t.Fatalf("moved: got %q, %v", moved.Resources, err)
	}
	c.MustBook(enginetest.Peels(2, c.Start, "ben"))
	c.MustBook(enginetest.Peels(3, c.Start, "cleo"))
	if _, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: a.ID, Actor: "user:jo"}); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("undo with both rooms taken: got %v, want ErrSlotTaken", err)
	}
	// Change to a type that needs no resources, and back.
	plain, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: moved.SlotStart, AppointmentTypeID: "cooling", Actor: "user:jo"})
	if err != nil || len(plain.Resources) != 0 {
		t.Errorf("another type: got %q, %v; want no room", plain.Resources, err)
	}
	c.MustBook(enginetest.Peels(4, moved.SlotStart, "ben"))
	c.MustBook(enginetest.Peels(5, moved.SlotStart, "cleo"))
	if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: moved.SlotStart, AppointmentTypeID: "peel", Actor: "user:jo"}); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("first type again, with both rooms taken: got %v, want ErrSlotTaken", err)
	}
}

func TestUndoneCancelTakesRoomAgain(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	ctx := context.Background()
	a := c.MustBook(enginetest.Peels(1, c.Start, "ada"))
	if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "user:jo", Undoable: true}); err != nil {
		t.Fatal(err)
	}
	back, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: a.ID, Actor: "user:jo"})
	if err != nil || !slices.Equal(back.Resources, []string{"room-1"}) {
		t.Errorf("got %q, %v; want its room", back.Resources, err)
	}
}

func TestRoomHoursAndBlocksApply(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	ctx := context.Background()
	for _, id := range []string{"room-1", "room-2"} {
		if _, err := c.Clinic.CreateBlock(ctx, "user:jo", store.Block{SpecialistID: id, Start: c.Start, End: c.Start.Add(time.Hour), Reason: "painted"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if slot := c.Slot(1, "peel", c.Start, ""); slot != nil {
		t.Errorf("both rooms blocked: still listed: %+v", slot)
	}
	if _, err := c.Hold(1, "peel", c.Start, ""); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("both rooms blocked: got %v, want ErrSlotTaken", err)
	}
	c.MustHold(1, "peel", c.Start.Add(time.Hour), "ada")
	at := c.Start.Add(3 * time.Hour)
	hours := []store.WeeklyWindow{{Weekday: store.Weekday(at.Weekday()), Window: store.Window{Start: store.TimeOfDay(at.Hour()*60 + 30), End: store.TimeOfDay(at.Hour()*60 + 60)}}}
	for _, id := range []string{"room-1", "room-2"} {
		if err := c.Clinic.PutWeeklyHours(ctx, "user:jo", id, hours); err != nil {
			t.Fatal(err)
		}
	}
	if slot := c.Slot(1, "peel", at, ""); slot != nil {
		t.Errorf("before the rooms open, the slot is listed: %+v", slot)
	}
	if slot := c.Slot(1, "peel", at.Add(30*time.Minute), ""); slot == nil {
		t.Error("while the rooms are open, the slot is not listed")
	}
}

func TestTypeNeedsAreValidated(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	ctx := context.Background()
	for name, test := range map[string]struct {
		edit func(*store.AppointmentType)
		want string
	}{
		"a person":             {func(x *store.AppointmentType) { x.Needs = []store.Need{{"ada"}} }, "no room or device"},
		"an unknown resource":  {func(x *store.AppointmentType) { x.Needs = []store.Need{{"room-9"}} }, "no room or device"},
		"nothing of a group":   {func(x *store.AppointmentType) { x.Needs = []store.Need{{}} }, "1 to 50"},
		"one twice":            {func(x *store.AppointmentType) { x.Needs = []store.Need{{"room-1"}, {"room-2", "room-1"}} }, "named twice"},
		"a room for a group":   {func(x *store.AppointmentType) { x.Capacity = 3 }, "capacity must be 1"},
		"a room as specialist": {func(x *store.AppointmentType) { x.Specialists = []store.Assignment{{SpecialistID: "room-1"}} }, "put it in needs"},
	} {
		_, err := c.Clinic.UpdateAppointmentType(ctx, "user:jo", "peel", test.edit)
		var invalid *record.ValidationError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	if err := c.Clinic.ArchiveSpecialist(ctx, "user:jo", "laser-1"); err == nil || !strings.Contains(err.Error(), "needs this room or device") {
		t.Errorf("archiving a room that a type needs: got %v", err)
	}
	if _, err := c.Clinic.UpdateSpecialist(ctx, "user:jo", "ada", func(p *store.Specialist) { p.Kind = store.ResourceKind }); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
		t.Errorf("a change of kind from person to room: got %v", err)
	}
}

// TestRoomIsNeverDoubleBooked: twelve concurrent workers hold, book, move and cancel appointments that share two rooms
// and a laser. Afterwards, no two appointments use the same resource at the same time, and the state in memory matches
// the database.
func TestRoomIsNeverDoubleBooked(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	ctx := context.Background()
	var wg sync.WaitGroup
	for worker := range 12 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 17))
			var mine []string
			for n := range 25 {
				kind := []string{"peel", "laser", "checkup"}[random.IntN(3)]
				start := c.Start.Add(time.Duration(30*random.IntN(16)) * time.Minute)
				switch {
				case len(mine) > 0 && random.IntN(4) == 0:
					_, _ = c.Booking.Cancel(ctx, booking.CancelRequest{ID: mine[random.IntN(len(mine))], Actor: "user:jo"})
				case len(mine) > 0 && random.IntN(3) == 0:
					_, _ = c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: mine[random.IntN(len(mine))], SlotStart: start, Actor: "user:jo"})
				case random.IntN(2) == 0:
					h, err := c.Hold(100*worker+n, kind, start, "")
					if err == nil {
						r := enginetest.BookingOf(100*worker+n, kind)
						r.HoldID = h.ID
						if a, err := c.Book(r); err == nil {
							mine = append(mine, a.ID)
						}
					}
				default:
					r := enginetest.BookingOf(100*worker+n, kind)
					r.SlotStart, r.Source, r.Actor, r.Displace = start, store.SourceStaff, "user:jo", random.IntN(2) == 0
					if a, err := c.Book(r); err == nil {
						mine = append(mine, a.ID)
					}
				}
			}
		})
	}
	wg.Wait()
	all, shared := c.Confirmed(), 0
	for i := range all {
		for _, other := range all[i+1:] {
			for _, id := range all[i].Resources {
				if !slices.Contains(other.Resources, id) {
					continue
				}
				shared++
				if all[i].BusyStart.Before(other.SlotEnd) && other.SlotStart.Before(all[i].BusyEnd) {
					t.Errorf("%s is in %s at %s and in %s at %s", id, all[i].ID, all[i].SlotStart, other.ID, other.SlotStart)
				}
			}
		}
		if want := map[string]int{"peel": 1, "laser": 2}[all[i].AppointmentTypeID]; len(all[i].Resources) != want {
			t.Errorf("%s: got %q, want %d of them", all[i].AppointmentTypeID, all[i].Resources, want)
		}
	}
	if shared == 0 {
		t.Error("no two appointments used the same resource")
	}
	c.WantNoHolds()
	if found, err := c.Differences(ctx); err != nil || len(found) > 0 {
		t.Errorf("memory differs from the database: %v, %v", found, err)
	}
}

// TestRoomServesItsOwnPlace: a room whose hours name a place is listed, held and booked only for specialists who work
// at that place at that time. A specialist whose hours name no place takes any room.
func TestRoomServesItsOwnPlace(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	ctx := context.Background()
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Clinic", Timezone: "UTC", Settings: &clinic.Settings{
		Places: []clinic.Place{{ID: "north", Name: "North"}, {ID: "south", Name: "South"}}}}}
	if _, err := c.Clinic.Import(ctx, "system", f); err != nil {
		t.Fatal(err)
	}
	for id, place := range map[string]string{"ada": "north", "room-1": "north", "ben": "south", "room-2": "south"} {
		var hours []store.WeeklyWindow
		for day := range 7 {
			hours = append(hours, store.WeeklyWindow{Weekday: store.Weekday(day),
				Window: store.Window{Start: 0, End: 1440, Place: place}})
		}
		if err := c.Clinic.PutWeeklyHours(ctx, "user:jo", id, hours); err != nil {
			t.Fatal(err)
		}
	}
	wantSlot := func(start time.Time, available int, specialists ...string) {
		t.Helper()
		if slot := c.Slot(9, "peel", start, ""); slot == nil || slot.Available != available ||
			!slices.Equal(slot.SpecialistIDs, specialists) {
			t.Errorf("the slot is %+v, want %d available with %q", slot, available, specialists)
		}
	}
	wantRoom := func(n int, start time.Time, who, room string) {
		t.Helper()
		if a := c.MustBook(enginetest.Peels(n, start, who)); !slices.Equal(a.Resources, []string{room}) {
			t.Errorf("the appointment with %s has %q, want %s", who, a.Resources, room)
		}
	}
	first, second, third := c.Start, c.Start.Add(time.Hour), c.Start.Add(2*time.Hour)
	wantSlot(first, 2, "ada", "ben", "cleo")
	wantRoom(1, first, "ben", "room-2")
	wantSlot(first, 1, "ada", "cleo")
	wantRoom(2, first, "ada", "room-1")

	wantRoom(3, second, "cleo", "room-1")
	wantSlot(second, 1, "ben")
	if _, err := c.Book(enginetest.Peels(4, second, "ada")); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("only the room at the other place is free: got %v, want ErrSlotTaken", err)
	}

	c.MustHold(5, "peel", third, "cleo")
	wantSlot(third, 1, "ben")
	if h, err := c.Hold(6, "peel", third, "ada"); err == nil {
		t.Errorf("the hold took the room at the other place: %q", h.Resources)
	}
	c.MustHold(7, "peel", third, "ben")
}

// TestHoldFollowsScheduleChanges: the schedule changes after a client has held a time, so that the hold no longer has
// the specialist or the rooms that a booking needs. The booking is refused, and the client can hold the time again.
func TestHoldFollowsScheduleChanges(t *testing.T) {
	t.Parallel()
	edit := func(typeID string, change func(*store.AppointmentType)) func(*enginetest.TestClinic) error {
		return func(c *enginetest.TestClinic) error {
			_, err := c.Clinic.UpdateAppointmentType(c.T.Context(), enginetest.Jo, typeID, change)
			return err
		}
	}
	for _, x := range []struct {
		name       string
		typeID     string
		change     func(*enginetest.TestClinic) error
		want       availability.Reason
		specialist string
		rooms      []string // the rooms of the second hold
	}{
		{"a block of the room", "peel", func(c *enginetest.TestClinic) error {
			_, err := c.Clinic.CreateBlock(c.T.Context(), enginetest.Jo, store.Block{SpecialistID: "room-1",
				Start: c.Start, End: c.Start.Add(time.Hour)}, nil)
			return err
		}, availability.ReasonOverrideClosed, "ada", []string{"room-2"}},
		{"a type that needs a room now", "checkup", edit("checkup", func(x *store.AppointmentType) {
			x.Needs = []store.Need{{"room-1", "room-2"}}
		}), availability.ReasonOverrideClosed, "ada", []string{"room-1"}},
		{"a type that needs another room now", "peel", edit("peel", func(x *store.AppointmentType) {
			x.Needs = []store.Need{{"room-2"}}
		}), availability.ReasonOverrideClosed, "ada", []string{"room-2"}},
		{"a specialist who no longer serves the type", "checkup", edit("checkup", func(x *store.AppointmentType) {
			x.Specialists = slices.DeleteFunc(x.Specialists, func(a store.Assignment) bool { return a.SpecialistID == "ada" })
		}), availability.ReasonInactive, "ben", nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := enginetest.WithRooms(t)
			r := enginetest.BookingOf(1, x.typeID)
			r.HoldID = c.MustHold(1, x.typeID, c.Start, "ada").ID
			if err := x.change(c); err != nil {
				t.Fatal(err)
			}
			a, err := c.Book(r)
			if err == nil {
				t.Fatalf("booked with %s in %q", a.SpecialistID, a.Resources)
			}
			enginetest.WantRefusal(t, "booking", err, x.want)
			c.WantNoHolds()
			r.HoldID = c.MustHold(1, x.typeID, c.Start, x.specialist).ID
			if a := c.MustBook(r); !slices.Equal(a.Resources, x.rooms) {
				t.Errorf("the second hold has %q, want %q", a.Resources, x.rooms)
			}
		})
	}
}

// TestRequestLeavesClosedRoom: the room held for a request is blocked, and confirming the request books another room.
func TestRequestLeavesClosedRoom(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	if _, err := c.Clinic.UpdateAppointmentType(t.Context(), enginetest.Jo, "peel", func(x *store.AppointmentType) {
		x.Page.Approval = true
	}); err != nil {
		t.Fatal(err)
	}
	r := enginetest.BookingOf(1, "peel")
	r.SlotStart, r.Patient.Phone = c.Start, "030 1234567"
	asked, err := c.Request.Book(t.Context(), r, enginetest.Visitor(1))
	if err != nil || asked.Request == nil {
		t.Fatalf("got %+v, %v; want a request", asked, err)
	}
	if _, err := c.Clinic.CreateBlock(t.Context(), enginetest.Jo, store.Block{SpecialistID: "room-1", Start: c.Start,
		End: c.Start.Add(time.Hour)}, nil); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Request.Confirm(t.Context(), asked.Request.ID, time.Time{}, enginetest.Jo, nil); err != nil ||
		!slices.Equal(a.Resources, []string{"room-2"}) {
		t.Errorf("the booking has %q, %v; want the other room", a.Resources, err)
	}
	c.WantNoHolds()
}

// TestListingNamesSpecialistsWithRooms: while a hold takes the only room at one place, the listing does not name the
// specialists there, even if as many appointments as before are possible at the other place.
func TestListingNamesSpecialistsWithRooms(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	ctx := t.Context()
	if _, err := c.Clinic.UpdateSettings(ctx, enginetest.Jo, func(s *clinic.Settings) {
		s.Places = []clinic.Place{{ID: "north", Name: "North"}, {ID: "south", Name: "South"}}
	}); err != nil {
		t.Fatal(err)
	}
	for id, place := range map[string]string{"ada": "north", "room-1": "north", "ben": "south", "room-2": "south"} {
		var hours []store.WeeklyWindow
		for day := range 7 {
			hours = append(hours, store.WeeklyWindow{Weekday: store.Weekday(day),
				Window: store.Window{Start: 0, End: 1440, Place: place}})
		}
		if err := c.Clinic.PutWeeklyHours(ctx, enginetest.Jo, id, hours); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Clinic.UpdateAppointmentType(ctx, enginetest.Jo, "laser", func(x *store.AppointmentType) {
		x.Specialists = slices.DeleteFunc(x.Specialists, func(a store.Assignment) bool { return a.SpecialistID == "cleo" })
	}); err != nil {
		t.Fatal(err)
	}
	wantSlot := func(what string, held int, specialists ...string) {
		t.Helper()
		if slot := c.Slot(9, "laser", c.Start, ""); slot == nil || slot.Available != 1 || slot.Held != held ||
			!slices.Equal(slot.SpecialistIDs, specialists) {
			t.Errorf("%s: the slot is %+v, want one appointment with %q", what, slot, specialists)
		}
	}
	wantSlot("before", 0, "ada", "ben")
	if h := c.MustHold(1, "peel", c.Start, "cleo"); h.Resources != "room-1" {
		t.Fatalf("the hold has %q, want room-1", h.Resources)
	}
	wantSlot("while the northern room is held", 0, "ben")
	if h, err := c.Hold(2, "laser", c.Start, "ada"); err == nil {
		t.Errorf("ada has %q", h.Resources)
	}
}
