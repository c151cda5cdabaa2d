package engine_test

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
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// withRooms is a clinic with ada, ben and cleo, two rooms and a laser: "peel" of 30 minutes needs a room, "laser" of
// 60, with 30 after it, a room and the laser.
func withRooms(t testing.TB) *testClinic {
	t.Helper()
	who := map[string]int{"ada": 3, "ben": 2, "cleo": 1}
	c := newClinic(t, who)
	f := enginetest.ClinicFile(who)
	everyone := f.AppointmentTypes[0].Specialists
	for _, id := range []string{"room-1", "room-2", "laser-1"} {
		f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: id, Kind: "resource", Name: id, Timezone: "UTC", Active: true})
	}
	for _, x := range []clinic.AppointmentTypeEntry{
		{ID: "peel", DurationMinutes: 30, Needs: []store.Need{{"room-1", "room-2"}}},
		{ID: "laser", DurationMinutes: 60, SlotStepMinutes: 30, BufferAfterMinutes: 30, Needs: []store.Need{{"laser-1"}, {"room-2", "room-1"}}},
	} {
		x.Name, x.HorizonDays, x.Capacity, x.Active, x.Specialists = x.ID, 60, 1, true, everyone
		x.HoldTTLSeconds, x.MaxHoldSeconds, x.HoldQuota = 30, 900, 3
		f.AppointmentTypes = append(f.AppointmentTypes, x)
	}
	if _, err := c.Clinic.Import(context.Background(), "system", f); err != nil {
		t.Fatal(err)
	}
	return c
}

// peels returns a booking of "peel" with a specialist.
func peels(n int, start time.Time, who string) booking.Request {
	r := bookingOf(n, "peel")
	r.SlotStart, r.SpecialistID, r.Source, r.Actor = start, who, store.SourceStaff, "user:jo"
	return r
}

// TestDeactivatedRoomIsNotBooked: a deactivated room is not booked, although a client held it before.
func TestDeactivatedRoomIsNotBooked(t *testing.T) {
	c := withRooms(t)
	h := c.mustHold(1, "peel", c.start, "ada")
	if _, err := c.Clinic.UpdateSpecialist(context.Background(), jo, "room-1", func(p *store.Specialist) { p.Active = false }); err != nil {
		t.Fatal(err)
	}
	r := bookingOf(1, "peel")
	r.HoldID = h.ID
	var not *availability.NotBookableError
	if a, err := c.book(r); !errors.As(err, &not) || not.Reason != availability.ReasonInactive {
		t.Errorf("got %q, %v; want the room to be switched off", a.Resources, err)
	}
	r.HoldID = c.mustHold(1, "peel", c.start, "ada").ID
	if a := c.mustBook(r); !slices.Equal(a.Resources, []string{"room-2"}) {
		t.Errorf("held anew it takes %q, want the other room", a.Resources)
	}
}

// TestRequestTakesAnotherRoom: the room that was held for a request is deactivated, and its confirmation takes
// another room.
func TestRequestTakesAnotherRoom(t *testing.T) {
	c := withRooms(t)
	if _, err := c.Clinic.UpdateAppointmentType(context.Background(), jo, "peel", func(t *store.AppointmentType) { t.Page.Approval = true }); err != nil {
		t.Fatal(err)
	}
	r := bookingOf(1, "peel")
	r.SlotStart, r.Patient.Phone = c.start, "030 1234567"
	asked, err := c.Request.Book(context.Background(), r, visitor(1))
	if err != nil || asked.Request == nil {
		t.Fatalf("got %+v, %v; want a request", asked, err)
	}
	if _, err := c.Clinic.UpdateSpecialist(context.Background(), jo, "room-1", func(p *store.Specialist) { p.Active = false }); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Request.Confirm(context.Background(), asked.Request.ID, jo, nil); err != nil || !slices.Equal(a.Resources, []string{"room-2"}) {
		t.Errorf("confirmed it takes %q, %v; want the other room", a.Resources, err)
	}
	c.unheld()
}

func TestAppointmentTakesRoom(t *testing.T) {
	c := withRooms(t)
	first, second := c.mustBook(peels(1, c.start, "ada")), c.mustBook(peels(2, c.start, "ben"))
	if !slices.Equal(first.Resources, []string{"room-1"}) || !slices.Equal(second.Resources, []string{"room-2"}) {
		t.Errorf("got rooms %q and %q, want one each", first.Resources, second.Resources)
	}
	if _, err := c.book(peels(3, c.start, "cleo")); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("a third, with two rooms: got %v, want ErrSlotTaken", err)
	}
	if slot := c.slot(3, "peel", c.start, ""); slot != nil {
		t.Errorf("still listed: %+v", slot)
	}
	if slot := c.slot(3, "checkup", c.start, ""); slot == nil || !slices.Equal(slot.SpecialistIDs, []string{"cleo"}) {
		t.Errorf("what needs no room: got %+v, want cleo", slot)
	}
	if slot := c.slot(3, "peel", c.start.Add(30*time.Minute), ""); slot == nil || slot.Available != 2 {
		t.Errorf("half an hour later: got %+v, want room for two of three", slot)
	}
	if _, err := c.Booking.Cancel(context.Background(), booking.CancelRequest{ID: first.ID, Actor: "user:jo"}); err != nil {
		t.Fatal(err)
	}
	if got := c.mustBook(peels(3, c.start, "cleo")); !slices.Equal(got.Resources, []string{"room-1"}) {
		t.Errorf("after a cancellation: got %q, want the room that is free again", got.Resources)
	}
}

func TestHoldTakesRoom(t *testing.T) {
	c := withRooms(t)
	held := c.mustHold(1, "laser", c.start, "ada")
	if held.Resources != "laser-1 room-2" {
		t.Errorf("got %q, want the laser and the first room of its list", held.Resources)
	}
	if slot := c.slot(2, "laser", c.start, ""); slot == nil || slot.Available != 0 || len(slot.SpecialistIDs) != 0 || slot.Held == 0 {
		t.Errorf("the laser is held: got %+v, want it listed as held and nobody free", slot)
	}
	if slot := c.slot(1, "laser", c.start, ""); slot == nil || !slot.OwnHold || slot.Available == 0 {
		t.Errorf("to whoever holds it: got %+v, want the own hold", slot)
	}
	var inTheWay *holds.HeldError
	if _, err := c.hold(2, "laser", c.start, "ben"); !errors.As(err, &inTheWay) {
		t.Errorf("with ben: got %v, want a HeldError", err)
	}
	// The laser needs half an hour after it.
	if _, err := c.hold(2, "laser", c.start.Add(time.Hour), "ben"); !errors.As(err, &inTheWay) {
		t.Errorf("an hour later: got %v, want a HeldError", err)
	}
	if got := c.mustHold(2, "peel", c.start, "ben"); got.Resources != "room-1" {
		t.Errorf("a peel beside it: got %q, want the other room", got.Resources)
	}
	r := bookingOf(1, "laser")
	r.HoldID = held.ID
	if a := c.mustBook(r); !slices.Equal(a.Resources, []string{"laser-1", "room-2"}) {
		t.Errorf("booked: got %q, want what was held", a.Resources)
	}
	explained, err := c.Booking.Explain(context.Background(), "laser", "", c.start)
	if err != nil || len(explained) != 3 || slices.ContainsFunc(explained, func(x booking.Explanation) bool { return x.Reason != availability.ReasonTaken }) {
		t.Errorf("why not: got %+v, %v; want it taken for everybody", explained, err)
	}
}

func TestRescheduleMovesRoom(t *testing.T) {
	c := withRooms(t)
	ctx := context.Background()
	a := c.mustBook(peels(1, c.start, "ada"))
	moved, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: c.start.Add(30 * time.Minute), Actor: "user:jo", Undoable: true})
	if err != nil || !slices.Equal(moved.Resources, []string{"room-1"}) {
		t.Fatalf("moved: got %q, %v", moved.Resources, err)
	}
	c.mustBook(peels(2, c.start, "ben"))
	c.mustBook(peels(3, c.start, "cleo"))
	if _, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: a.ID, Actor: "user:jo"}); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("undone with both rooms taken: got %v, want ErrSlotTaken", err)
	}
	// To a type that needs nothing, and back.
	plain, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: moved.SlotStart, AppointmentTypeID: "cooling", Actor: "user:jo"})
	if err != nil || len(plain.Resources) != 0 {
		t.Errorf("another type: got %q, %v; want no room", plain.Resources, err)
	}
	c.mustBook(peels(4, moved.SlotStart, "ben"))
	c.mustBook(peels(5, moved.SlotStart, "cleo"))
	if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: moved.SlotStart, AppointmentTypeID: "peel", Actor: "user:jo"}); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("back, with both rooms taken: got %v, want ErrSlotTaken", err)
	}
}

func TestUndoneCancelTakesRoomAgain(t *testing.T) {
	c := withRooms(t)
	ctx := context.Background()
	a := c.mustBook(peels(1, c.start, "ada"))
	if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "user:jo", Undoable: true}); err != nil {
		t.Fatal(err)
	}
	back, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: a.ID, Actor: "user:jo"})
	if err != nil || !slices.Equal(back.Resources, []string{"room-1"}) {
		t.Errorf("got %q, %v; want its room", back.Resources, err)
	}
}

func TestRoomHoursAndBlocksApply(t *testing.T) {
	c := withRooms(t)
	ctx := context.Background()
	for _, id := range []string{"room-1", "room-2"} {
		if _, err := c.Clinic.CreateBlock(ctx, "user:jo", store.Block{SpecialistID: id, Start: c.start, End: c.start.Add(time.Hour), Reason: "painted"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if slot := c.slot(1, "peel", c.start, ""); slot != nil {
		t.Errorf("both rooms blocked: still listed: %+v", slot)
	}
	if _, err := c.hold(1, "peel", c.start, ""); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("both rooms blocked: got %v, want ErrSlotTaken", err)
	}
	c.mustHold(1, "peel", c.start.Add(time.Hour), "ada")
	at := c.start.Add(3 * time.Hour)
	hours := []store.WeeklyWindow{{Weekday: store.Weekday(at.Weekday()), Window: store.Window{Start: store.TimeOfDay(at.Hour()*60 + 30), End: store.TimeOfDay(at.Hour()*60 + 60)}}}
	for _, id := range []string{"room-1", "room-2"} {
		if err := c.Clinic.PutWeeklyHours(ctx, "user:jo", id, hours); err != nil {
			t.Fatal(err)
		}
	}
	if slot := c.slot(1, "peel", at, ""); slot != nil {
		t.Errorf("before the rooms open: still listed: %+v", slot)
	}
	if slot := c.slot(1, "peel", at.Add(30*time.Minute), ""); slot == nil {
		t.Error("while the rooms are open: not listed")
	}
}

func TestSeriesTakesRooms(t *testing.T) {
	c := withRooms(t)
	r := c.weekly(3)
	r.AppointmentTypeID = "peel"
	list := c.mustBookSeries(r)
	for _, a := range list {
		if !slices.Equal(a.Resources, []string{"room-1"}) {
			t.Errorf("%s: got %q, want a room", a.SlotStart, a.Resources)
		}
	}
	c.mustBook(peels(1, list[1].SlotStart, "ben"))
	var conflict *group.ConflictError
	if _, err := c.Group.Series.Book(context.Background(), r); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Place != 1 {
		t.Errorf("a second series: got %v, want a conflict at its second time", err)
	}
	c.unheld()
}

func TestTypeNeedsAreValidated(t *testing.T) {
	c := withRooms(t)
	ctx := context.Background()
	for name, test := range map[string]struct {
		edit func(*store.AppointmentType)
		want string
	}{
		"somebody":             {func(x *store.AppointmentType) { x.Needs = []store.Need{{"ada"}} }, "no room or device"},
		"nobody":               {func(x *store.AppointmentType) { x.Needs = []store.Need{{"room-9"}} }, "no room or device"},
		"nothing of a group":   {func(x *store.AppointmentType) { x.Needs = []store.Need{{}} }, "1 to 50"},
		"one twice":            {func(x *store.AppointmentType) { x.Needs = []store.Need{{"room-1"}, {"room-2", "room-1"}} }, "named twice"},
		"a room for a group":   {func(x *store.AppointmentType) { x.Capacity = 3 }, "capacity must be 1"},
		"a room as specialist": {func(x *store.AppointmentType) { x.Specialists = []store.Assignment{{SpecialistID: "room-1"}} }, "name it in needs"},
	} {
		_, err := c.Clinic.UpdateAppointmentType(ctx, "user:jo", "peel", test.edit)
		var invalid *record.ValidationError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	if err := c.Clinic.ArchiveSpecialist(ctx, "user:jo", "laser-1"); err == nil || !strings.Contains(err.Error(), "needs it") {
		t.Errorf("archiving what is needed: got %v", err)
	}
	if _, err := c.Clinic.UpdateSpecialist(ctx, "user:jo", "ada", func(p *store.Specialist) { p.Kind = store.ResourceKind }); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
		t.Errorf("a person who becomes a room: got %v", err)
	}
}

// TestRoomIsNeverDoubleBooked: twelve concurrent workers hold, book, move and cancel appointments that share two
// rooms and a laser. In the end no two appointments use one of them at the same time, and the memory equals the
// database.
func TestRoomIsNeverDoubleBooked(t *testing.T) {
	c := withRooms(t)
	ctx := context.Background()
	var wg sync.WaitGroup
	for worker := range 12 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 17))
			var mine []string
			for n := range 25 {
				kind := []string{"peel", "laser", "checkup"}[random.IntN(3)]
				start := c.start.Add(time.Duration(30*random.IntN(16)) * time.Minute)
				switch {
				case len(mine) > 0 && random.IntN(4) == 0:
					_, _ = c.Booking.Cancel(ctx, booking.CancelRequest{ID: mine[random.IntN(len(mine))], Actor: "user:jo"})
				case len(mine) > 0 && random.IntN(3) == 0:
					_, _ = c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: mine[random.IntN(len(mine))], SlotStart: start, Actor: "user:jo"})
				case random.IntN(2) == 0:
					h, err := c.hold(100*worker+n, kind, start, "")
					if err == nil {
						r := bookingOf(100*worker+n, kind)
						r.HoldID = h.ID
						if a, err := c.book(r); err == nil {
							mine = append(mine, a.ID)
						}
					}
				default:
					r := bookingOf(100*worker+n, kind)
					r.SlotStart, r.Source, r.Actor, r.Displace = start, store.SourceStaff, "user:jo", random.IntN(2) == 0
					if a, err := c.book(r); err == nil {
						mine = append(mine, a.ID)
					}
				}
			}
		})
	}
	wg.Wait()
	all, shared := c.confirmed(), 0
	for i := range all {
		for _, other := range all[i+1:] {
			for _, id := range all[i].Resources {
				if !slices.Contains(other.Resources, id) {
					continue
				}
				shared++
				if all[i].BusyStart.Before(other.SlotEnd) && other.SlotStart.Before(all[i].BusyEnd) {
					t.Errorf("%s is taken by %s at %s and %s at %s", id, all[i].ID, all[i].SlotStart, other.ID, other.SlotStart)
				}
			}
		}
		if want := map[string]int{"peel": 1, "laser": 2}[all[i].AppointmentTypeID]; len(all[i].Resources) != want {
			t.Errorf("%s: got %q, want %d of them", all[i].AppointmentTypeID, all[i].Resources, want)
		}
	}
	if shared == 0 {
		t.Error("nobody shared anything")
	}
	c.unheld()
	if found, err := c.Differences(ctx); err != nil || len(found) > 0 {
		t.Errorf("memory is not what the database is: %v, %v", found, err)
	}
}
