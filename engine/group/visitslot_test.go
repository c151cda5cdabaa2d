package group_test

import (
	"context"
	"errors"
	"fmt"
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
	"holdfast/store"
)

// TestVisitSlotsLeaveOutTakenTime: a visit cannot be held at a time when all specialists are booked, whatever the order
// of their priorities.
func TestVisitSlotsLeaveOutTakenTime(t *testing.T) {
	t.Parallel()
	for name, priorities := range enginetest.PriorityOrders {
		t.Run(name, func(t *testing.T) {
			c := enginetest.NewClinic(t, priorities)
			for n, specialist := range []string{"ada", "ben", "cem"} {
				r := enginetest.BookingOf(n, "checkup")
				r.SlotStart, r.SpecialistID = c.Start, specialist
				c.MustBook(r)
			}
			c.Slot(9, "checkup", c.Start.Add(time.Hour), "")
			if h, err := c.HoldVisit(9, c.Start, "", "checkup", "checkup"); !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("a visit at a taken time: got %+v, %v; want %v", h, err, store.ErrSlotTaken)
			}
		})
	}
}

// crowdedClinic opens a clinic with twenty specialists and twenty holds for each.
func crowdedClinic(t testing.TB) *enginetest.TestClinic {
	t.Helper()
	who := make(map[string]int)
	for i := range 20 {
		who[fmt.Sprintf("s%02d", i)] = 1
	}
	c := enginetest.NewClinic(t, who)
	n := 0
	for id := range who {
		for i := range 20 {
			n++
			c.MustHold(n, "checkup", c.Start.Add(time.Duration(i)*24*time.Hour), id)
		}
	}
	return c
}

func twoFor(c *enginetest.TestClinic, days int, desk bool) group.SlotsRequest {
	from := store.DateOf(c.Start)
	return group.SlotsRequest{AppointmentTypeIDs: []string{"checkup", "checkup"}, From: from, To: from.AddDays(days),
		Desk: desk}
}

// TestVisitSlotsLimitPublicRange: any visitor may list a visit's start times, and the server has to compute each list.
// So callers other than the desk may list only a few days.
func TestVisitSlotsLimitPublicRange(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	for _, test := range []struct {
		days int
		desk bool
		want string
	}{
		{group.MaxPublicDays, false, ""}, {group.MaxPublicDays + 1, false, "1 to 14 days after from"},
		{0, false, "1 to 14 days after from"}, {booking.MaxTimeslotDays, true, ""},
		{booking.MaxTimeslotDays + 1, true, "1 to 62 days after from"},
	} {
		_, err := c.Group.Visit.Slots(t.Context(), twoFor(c, test.days, test.desk))
		var invalid *record.ValidationError
		if test.want == "" && err != nil || test.want != "" &&
			(!errors.As(err, &invalid) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%d days, desk %t: got %v, want %q", test.days, test.desk, err, test.want)
		}
	}
}

// asked is a context that becomes cancelled after a number of calls to Err.
type asked struct {
	context.Context
	left int
}

func (a *asked) Err() error {
	if a.left--; a.left <= 0 {
		return context.Canceled
	}
	return a.Context.Err()
}

// TestVisitSlotsStopForCancelledRequest: the engine stops computing when the caller's context is cancelled.
func TestVisitSlotsStopForCancelledRequest(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	all := twoFor(c, booking.MaxTimeslotDays, true)
	// this loads the data into memory
	if list, err := c.Group.Visit.Slots(t.Context(), all); err != nil || len(list.Slots) < 1000 {
		t.Fatalf("%d starts, %v", len(list.Slots), err)
	}
	if _, err := c.Group.Visit.Slots(&asked{t.Context(), 3}, all); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled during the third specialist: got %v, want context.Canceled", err)
	}
}

// TestVisitSlotsGroupHoldsOnce: the holds of all clients are grouped once, so a list of many start times needs few
// allocations per start time. The test does not run in parallel, because the allocations of other tests would count.
func TestVisitSlotsGroupHoldsOnce(t *testing.T) {
	c := crowdedClinic(t)
	var list booking.Timeslots
	measured := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			var err error
			if list, err = c.Group.Visit.Slots(context.Background(), twoFor(c, 14, false)); err != nil {
				b.Fatal(err)
			}
		}
	})
	if len(list.Slots) == 0 {
		t.Fatal("no start is listed")
	}
	if each := measured.AllocedBytesPerOp() / int64(len(list.Slots)); each > 20_000 {
		t.Errorf("%d bytes for each of %d starts: the list copies all holds for each start", each, len(list.Slots))
	}
	t.Logf("%d starts: %s, %d bytes", len(list.Slots), time.Duration(measured.NsPerOp()), measured.AllocedBytesPerOp())
}

// TestVisitSlotsShowOwnHold: a start time is marked as held if another client holds part of the visit's time, and as
// own if the requesting client does.
func TestVisitSlotsShowOwnHold(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	types := []string{"peel", "checkup"}
	for n, who := range []string{"ada", "ben"} {
		if _, err := c.HoldVisit(n+1, c.Start, who, types...); err != nil {
			t.Fatal(err)
		}
	}
	day := store.DateOf(c.Start)
	for n, want := range map[int]booking.Timeslot{1: {Available: 1, Held: 1, OwnHold: true,
		SpecialistIDs: []string{"ada", "cleo"}}, 3: {Held: 3, SpecialistIDs: []string{}}} {
		list, err := c.Group.Visit.Slots(t.Context(), group.SlotsRequest{AppointmentTypeIDs: types,
			From: day, To: day.AddDays(1), Client: enginetest.Client(n)})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(list.Slots, func(x booking.Timeslot) bool { return x.Start.Equal(c.Start) })
		if at < 0 {
			t.Fatalf("client %d: the start is not listed", n)
		}
		got := list.Slots[at]
		if got.Available != want.Available || got.Held != want.Held || got.OwnHold != want.OwnHold ||
			!slices.Equal(got.SpecialistIDs, want.SpecialistIDs) {
			t.Errorf("client %d: got %+v, want %+v", n, got, want)
		}
	}
}

// TestVisitHoldBooksOnlyItsTypes: a hold can be used only for the types that it was created for, even if others take
// equally long, and only if the current schedule still allows its time.
func TestVisitHoldBooksOnlyItsTypes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	closed := func(c *enginetest.TestClinic) {
		if _, err := c.Clinic.PutOverride(ctx, "system", store.Override{SpecialistID: "ada",
			Date: store.DateOf(c.Start), Closed: true}, nil); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(change func(*store.AppointmentType)) func(*enginetest.TestClinic) {
		return func(c *enginetest.TestClinic) {
			if _, err := c.Clinic.UpdateAppointmentType(ctx, "system", "checkup", change); err != nil {
				t.Fatal(err)
			}
		}
	}
	anotherDoes := edit(func(x *store.AppointmentType) {
		x.Specialists = slices.DeleteFunc(slices.Clone(x.Specialists), func(a store.Assignment) bool {
			return a.SpecialistID == "ada"
		})
	})
	for name, test := range map[string]struct {
		since       func(*enginetest.TestClinic)
		types       []string
		ignoreHours bool
		want        string
	}{
		"the same":              {nil, []string{"checkup", "checkup"}, false, ""},
		"one that needs a room": {nil, []string{"checkup", "peel"}, false, "hold the visit again"},
		"and outside the hours": {nil, []string{"checkup", "peel"}, true, "hold the visit again"},
		"another specialist":    {anotherDoes, []string{"checkup", "checkup"}, true, "hold the visit again"},
		"not offered any more": {edit(func(x *store.AppointmentType) {
			x.Active = false
		}), []string{"checkup", "checkup"}, false, string(availability.ReasonInactive)},
		"closed since": {closed, []string{"checkup", "checkup"}, false,
			string(availability.ReasonOverrideClosed)},
		"closed since, and the desk goes": {closed, []string{"checkup", "checkup"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := enginetest.WithRooms(t)
			h, err := c.HoldVisit(1, c.Start, "ada", "checkup", "checkup")
			if err != nil {
				t.Fatal(err)
			}
			if test.since != nil {
				test.since(c)
			}
			r := enginetest.Family(time.Time{}, test.types...)
			r.HoldID, r.Client, r.IgnoreHours = h.ID, enginetest.Client(1), test.ignoreHours
			list, err := c.Group.Visit.Book(ctx, r)
			if test.want == "" {
				if err != nil || len(list) != 2 {
					t.Errorf("%d booked, %v", len(list), err)
				}
				return
			}
			var no *availability.NotBookableError
			if err == nil || !strings.Contains(err.Error(), test.want) &&
				!(errors.As(err, &no) && string(no.Reason) == test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if there := c.Confirmed(); len(there) != 0 {
				t.Errorf("%d are booked", len(there))
			}
			if held, err := c.Booking.Holds(ctx); err != nil || len(held) != 1 || held[0].Pinned {
				t.Errorf("the hold is %+v, %v; want it unchanged", held, err)
			}
		})
	}
}

// TestVisitMovesWithinUpstreamOpenings: a visit can move to times that the upstream lists as open. The visit's own time
// there counts as open.
func TestVisitMovesWithinUpstreamOpenings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		column := enginetest.AlwaysOpen()
		column[0].FromHour, column[0].ToHour = 10, 12
		p := enginetest.OpenPractice(t, column)
		time.Sleep(6 * time.Minute)
		list, err := p.Group.Visit.Book(t.Context(), enginetest.Family(p.SlotAt(20), "cleaning", "cleaning"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Minute)
		for _, test := range []struct {
			slot        int
			ignoreHours bool
			want        error
		}{{30, false, store.ErrSlotTaken}, {23, false, store.ErrSlotTaken}, {19, false, store.ErrSlotTaken},
			{21, false, nil}, {30, true, nil}} {
			_, err := p.Group.Visit.Move(t.Context(),
				group.VisitMove{Which: group.Which{ID: list[0].ID, Actor: enginetest.Jo},
					SlotStart: p.SlotAt(test.slot), IgnoreHours: test.ignoreHours})
			if !errors.Is(err, test.want) {
				t.Errorf("to the half hour %d, ignoring hours %t: got %v, want %v", test.slot, test.ignoreHours, err,
					test.want)
			}
		}
	})
}
