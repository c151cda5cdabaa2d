package group_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/holds"
	"holdfast/store"
)

const jo = "user:jo"

// clinicOf opens a clinic with these specialists at these priorities. Start is noon, two days ahead.
func clinicOf(t *testing.T, priorities map[string]int) (e *engine.Engine, start time.Time) {
	t.Helper()
	return clinicWith(t, priorities, func(live holds.Backend) holds.Backend { return live })
}

// clinicWith is like clinicOf, with a wrapped live state.
func clinicWith(t *testing.T, priorities map[string]int, wrap func(holds.Backend) holds.Backend) (e *engine.Engine,
	start time.Time) {
	t.Helper()
	db := enginetest.Database(t)
	e, err := engine.New(t.Context(), engine.Options{Store: db, Holds: wrap(enginetest.Holds(t, db))})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Run(t, e.Run)
	if _, err := e.Clinic.Import(t.Context(), "system", enginetest.ClinicFile(priorities)); err != nil {
		t.Fatal(err)
	}
	// When a test ends, no hold may be left, and the state in memory must match the database.
	t.Cleanup(func() {
		if held, err := e.Booking.Holds(context.Background()); err != nil || len(held) > 0 {
			t.Errorf("%d holds remain, %v", len(held), err)
		}
		if d, err := e.Booking.Differences(context.Background()); err != nil || len(d) > 0 {
			t.Errorf("memory differs from the database: %v, %v", d, err)
		}
	})
	return e, enginetest.Noon(time.UTC, 2)
}

// book books one checkup for the desk.
func book(t *testing.T, e *engine.Engine, specialist string, start time.Time) {
	t.Helper()
	r := booking.Request{AppointmentTypeID: "checkup", SpecialistID: specialist, SlotStart: start,
		Source: store.SourceStaff, Actor: jo}
	r.Patient = store.Patient{Name: "Per Lind"}
	if _, err := e.Booking.Book(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func weekly(start time.Time, n int) group.SeriesRequest {
	r := group.SeriesRequest{AppointmentTypeID: "checkup", Source: store.SourceStaff, Actor: jo,
		Patient: store.Patient{Name: "Lena Vogt"}}
	for i := range n {
		r.Times = append(r.Times, group.Time{Start: start.AddDate(0, 0, 7*i)})
	}
	return r
}

func pair(start time.Time) group.VisitRequest {
	return group.VisitRequest{SlotStart: start, Source: store.SourceStaff, Actor: jo, People: []group.Person{
		{AppointmentTypeID: "checkup", Patient: store.Patient{Name: "Lena Vogt"}},
		{AppointmentTypeID: "checkup", Patient: store.Patient{Name: "Mia Vogt"}},
	}}
}

func specialistsOf(list []store.Appointment) (ids []string) {
	for _, a := range list {
		ids = append(ids, a.SpecialistID)
	}
	return ids
}

// TestGroupsAssignByPriorityAgainstIDOrder: a type lists its specialists by priority, but taken time is listed by id.
// In this test, one order is the reverse of the other.
func TestGroupsAssignByPriorityAgainstIDOrder(t *testing.T) {
	e, start := clinicOf(t, map[string]int{"ada": 10, "ben": 20, "cem": 30})
	second := start.AddDate(0, 0, 7)
	book(t, e, "cem", second)
	book(t, e, "ada", second)

	for range 2 { // the taken time comes from the database first, then from memory
		plan, err := e.Group.Series.Plan(t.Context(), group.Rule{AppointmentTypeID: "checkup",
			From: store.DateOf(start), Time: 12 * 60, Count: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := plan[0].SpecialistIDs, []string{"ben", "cem", "ada"}; !slices.Equal(got, want) {
			t.Errorf("first time: the free specialists are %v, want %v", got, want)
		}
		if got, want := plan[1].SpecialistIDs, []string{"ben"}; !slices.Equal(got, want) {
			t.Errorf("second time: the free specialists are %v, want %v", got, want)
		}
	}
	list, err := e.Group.Series.Book(t.Context(), weekly(start, 2))
	if got, want := specialistsOf(list), []string{"cem", "ben"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("series: got %v, %v; want %v", got, err, want)
	}

	// cem is booked in the second half of the visit, and ben in the first half.
	third := start.AddDate(0, 0, 14)
	book(t, e, "cem", third.Add(30*time.Minute))
	book(t, e, "ben", third)
	list, err = e.Group.Visit.Book(t.Context(), pair(third))
	if got, want := specialistsOf(list), []string{"ada", "ada"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("visit: got %v, %v; want %v", got, err, want)
	}
	if _, err := e.Group.Visit.Book(t.Context(), pair(third)); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("second visit at that time: got %v, want ErrSlotTaken", err)
	}
	day := store.DateOf(third)
	slots, err := e.Group.Visit.Slots(t.Context(), group.SlotsRequest{AppointmentTypeIDs: []string{"checkup",
		"checkup"}, From: day, To: day.AddDays(1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range slots.Slots {
		if x.Start.Equal(third) || x.Start.Equal(third.Add(time.Hour)) &&
			!slices.Equal(x.SpecialistIDs, []string{"ada", "ben", "cem"}) {
			t.Errorf("listed at %s: %v", x.Start.Format(time.TimeOnly), x.SpecialistIDs)
		}
	}
	list, err = e.Group.Visit.Move(t.Context(), group.VisitMove{Which: group.Which{ID: list[0].ID, Actor: jo},
		SlotStart: start, SpecialistID: "cem"})
	if !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("move to the time of the series: got %v, %v; want ErrSlotTaken", list, err)
	}
}

// TestMoveToSameTimeChangesNothing: a move to the current time changes nothing, whether of a single appointment, a
// series or a visit.
func TestMoveToSameTimeChangesNothing(t *testing.T) {
	e, start := clinicOf(t, map[string]int{"ada": 1})
	series, err := e.Group.Series.Book(t.Context(), weekly(start, 3))
	if err != nil {
		t.Fatal(err)
	}
	visit, err := e.Group.Visit.Book(t.Context(), pair(start.Add(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got, want []store.Appointment, err error) {
		t.Helper()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %d of %d, %v", what, len(got), len(want), err)
		}
		for i := range got {
			if got[i].Version != want[i].Version || got[i].ManageEpoch != want[i].ManageEpoch ||
				!got[i].SlotStart.Equal(want[i].SlotStart) {
				t.Errorf("%s: %d is\n%+v, want\n%+v", what, i, got[i], want[i])
			}
		}
	}
	list, err := e.Group.Series.Move(t.Context(), group.SeriesMove{Which: group.Which{ID: series[0].ID, Actor: jo},
		SlotStart: series[0].SlotStart})
	same("series", list, series, err)
	list, err = e.Group.Visit.Move(t.Context(), group.VisitMove{Which: group.Which{ID: visit[1].ID, Actor: jo},
		SlotStart: visit[0].SlotStart})
	same("visit", list, visit, err)
}

// TestMembersSwapTimes: each member takes the time that the next one leaves, across specialists, in both directions,
// and then they all move back.
func TestMembersSwapTimes(t *testing.T) {
	e, start := clinicOf(t, map[string]int{"ada": 30, "ben": 20})
	book(t, e, "ada", start.AddDate(0, 0, 7))
	list, err := e.Group.Series.Book(t.Context(), weekly(start, 3))
	if got, want := specialistsOf(list), []string{"ada", "ben", "ada"}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	which := group.Which{ID: list[0].ID, Actor: jo, Undoable: true}
	for _, days := range []int{7, 14, 7, 0} {
		// changes made in the same millisecond have no order in the audit log
		for at := time.Now().UnixMilli(); at == time.Now().UnixMilli(); {
		}
		moved, err := e.Group.Series.Move(t.Context(), group.SeriesMove{Which: which,
			SlotStart: start.AddDate(0, 0, days), SpecialistID: "ben"})
		if err != nil || !moved[0].SlotStart.Equal(start.AddDate(0, 0, days)) {
			t.Fatalf("by %d days: %v", days, err)
		}
		if days == 14 {
			if moved, err = e.Group.Series.Undo(t.Context(), group.Which{ID: list[1].ID, Actor: jo}); err != nil ||
				!moved[0].SlotStart.Equal(start.AddDate(0, 0, 7)) {
				t.Fatalf("undo: %v", err)
			}
		}
	}
}
