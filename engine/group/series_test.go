package group_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/store"
)

// weeklyFor returns a request for n times, a week apart, starting at the test's start.
func weeklyFor(c *enginetest.TestClinic, n int) group.SeriesRequest {
	r := group.SeriesRequest{
		AppointmentTypeID: "checkup", Source: store.SourceStaff, Actor: "user:jo",
		Patient: store.Patient{Name: "Lena Vogt", Email: "lena@example.org"},
	}
	for i := range n {
		r.Times = append(r.Times, group.Time{Start: c.Start.AddDate(0, 0, 7*i)})
	}
	return r
}

func mustBookSeries(c *enginetest.TestClinic, r group.SeriesRequest) []store.Appointment {
	c.T.Helper()
	list, err := c.Group.Series.Book(context.Background(), r)
	if err != nil {
		c.T.Fatalf("book a series: %v", err)
	}
	return list
}

// TestSeriesKeepsWallClock: a series on Tuesdays at nine is at nine before and after the clocks change. "Every second
// week" counts weeks from Monday to Sunday.
func TestSeriesKeepsWallClock(t *testing.T) {
	t.Parallel()
	// the clock starts on 1 January 2000; in Berlin, clocks go forward on 26 March
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		f := enginetest.ClinicFile(map[string]int{"ada": 1})
		f.Clinic.Timezone = "Europe/Berlin"
		if _, err := c.Clinic.Import(t.Context(), "system", f); err != nil {
			t.Fatal(err)
		}
		date := func(s string) store.Date { d, _ := store.ParseDate(s); return d }
		for name, test := range map[string]struct {
			rule group.Rule
			want []string
		}{
			"Tuesdays over the change": {group.Rule{From: date("2000-03-14"), Time: 9 * 60, Count: 4},
				[]string{"2000-03-14T08:00:00Z", "2000-03-21T08:00:00Z", "2000-03-28T07:00:00Z",
					"2000-04-04T07:00:00Z"}},
			"an hour that is missing": {group.Rule{From: date("2000-03-19"), Time: 2*60 + 30, Count: 2},
				[]string{"2000-03-19T01:30:00Z", "2000-03-26T01:30:00Z"}},
			"two days of every second week": {group.Rule{From: date("2000-02-03"), Time: 10 * 60, Every: 2, Count: 4,
				Weekdays: []store.Weekday{store.Weekday(time.Monday), store.Weekday(time.Thursday)}},
				[]string{"2000-02-03T09:00:00Z", "2000-02-14T09:00:00Z", "2000-02-17T09:00:00Z",
					"2000-02-28T09:00:00Z"}},
		} {
			test.rule.AppointmentTypeID = "checkup"
			plan, err := c.Group.Series.Plan(t.Context(), test.rule)
			var got []string
			for _, o := range plan {
				got = append(got, o.Start.Format(time.RFC3339))
				if o.Reason != "" || !slices.Equal(o.SpecialistIDs, []string{"ada"}) {
					t.Errorf("%s: %s is %q with %v", name, o.Start, o.Reason, o.SpecialistIDs)
				}
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, %v; want %v", name, got, err, test.want)
			}
		}
	})
}

func TestSeriesPlanListsConflicts(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "ben": 2})
	ctx := context.Background()
	day := func(n int) time.Time { return c.Start.AddDate(0, 0, 7*n) }
	for _, who := range []string{"ada", "ben"} {
		c.MustBook(booking.Request{AppointmentTypeID: "checkup", SpecialistID: who, SlotStart: day(1),
			Source: store.SourceStaff, Actor: "user:jo", Patient: store.Patient{Name: "A"}})
		c.MustHold(map[string]int{"ada": 1, "ben": 2}[who], "checkup", day(2), who)
		if _, err := c.Clinic.CreateBlock(ctx, "user:jo", store.Block{SpecialistID: who,
			Start: day(3), End: day(3).Add(24 * time.Hour)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	// Ben would be assigned first but cannot take the last time. Ada gets all the times when she is free.
	c.MustBook(booking.Request{AppointmentTypeID: "surgery", SpecialistID: "ben", SlotStart: day(4),
		Source: store.SourceStaff, Actor: "user:jo", Patient: store.Patient{Name: "B"}})
	rule := group.Rule{AppointmentTypeID: "checkup", From: store.DateOf(c.Start), Time: 12 * 60, Count: 5,
		Client: enginetest.Client(1)}
	plan, err := c.Group.Series.Plan(ctx, rule)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		reason availability.Reason
		who    []string
	}{
		{"", []string{"ada", "ben"}},
		{availability.ReasonTaken, nil},
		{"", []string{"ada"}}, // held by the requesting client
		{availability.ReasonOverrideClosed, nil},
		{"", []string{"ada"}},
	} {
		o := plan[i]
		if o.Reason != want.reason || !slices.Equal(o.SpecialistIDs, want.who) || !o.Start.Equal(day(i)) {
			t.Errorf("%d: got %s %q %v, want %q %v", i, o.Start, o.Reason, o.SpecialistIDs, want.reason, want.who)
		}
		if (len(o.Nearest) > 0) != (want.reason != "") {
			t.Errorf("time %d: the nearest free times are %v", i, o.Nearest)
		}
	}
	near := plan[1].Nearest
	if len(near) != 4 || !near[0].Start.Equal(day(1).Add(-30*time.Minute)) ||
		!near[1].Start.Equal(day(1).Add(30*time.Minute)) {
		t.Errorf("the nearest free times of a taken one are %v", near)
	}
	for _, x := range plan[3].Nearest {
		if x.Start.Before(day(3).Add(24*time.Hour)) && x.Start.After(day(3).Add(-30*time.Minute)) {
			t.Errorf("%s is in the block", x.Start)
		}
	}
	rule.Client = ""
	if plan, _ = c.Group.Series.Plan(ctx, rule); plan[2].Reason != availability.ReasonHeld {
		t.Errorf("the reason of a held time is %q", plan[2].Reason)
	}
	if len(c.Confirmed()) != 3 {
		t.Error("a plan changed the database")
	}
	for name, change := range map[string]func(*group.Rule){
		"count":         func(r *group.Rule) { r.Count = 53 },
		"everyWeeks":    func(r *group.Rule) { r.Every = 13 },
		"specialistIds": func(r *group.Rule) { r.SpecialistIDs = []string{"zoe"} },
		"from":          func(r *group.Rule) { r.From = store.Date{} },
	} {
		wrong := rule
		change(&wrong)
		var invalid *record.ValidationError
		if _, err := c.Group.Series.Plan(ctx, wrong); !errors.As(err, &invalid) || invalid.Fields[0].Field != name {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSeriesBooksAllOrNone(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	list := mustBookSeries(c, weeklyFor(c, 6))
	if len(list) != 6 || list[0].SeriesID == "" {
		t.Fatalf("got %d appointments of the series %q", len(list), list[0].SeriesID)
	}
	for i, a := range list {
		if a.SeriesID != list[0].SeriesID || !a.SlotStart.Equal(c.Start.AddDate(0, 0, 7*i)) ||
			a.Source != store.SourceStaff {
			t.Errorf("%d: got %+v", i, a)
		}
	}
	c.WantNoHolds()
	// The last two times are taken. The error lists all conflicts, and nothing is booked.
	r := weeklyFor(c, 4)
	for i := range r.Times {
		r.Times[i].Start = c.Start.AddDate(0, 0, 7*(7-i))
	}
	var conflict *group.ConflictError
	_, err := c.Group.Series.Book(t.Context(), r)
	if !errors.As(err, &conflict) || !slices.Equal(conflict.Conflicts,
		[]group.Conflict{{Place: 2, Reason: availability.ReasonTaken}, {Place: 3, Reason: availability.ReasonTaken}}) {
		t.Errorf("got %v", err)
	}
	if got := len(c.Confirmed()); got != 6 {
		t.Errorf("%d appointments, want only the 6 of the first series", got)
	}
	c.WantNoHolds()
	// The two times overlap each other.
	r.Times = []group.Time{{Start: c.Start.Add(24 * time.Hour)}, {Start: c.Start.Add(24*time.Hour + 10*time.Minute)}}
	if _, err := c.Group.Series.Book(t.Context(), r); !errors.As(err, &conflict) || conflict.Conflicts[0].Place != 1 {
		t.Errorf("two times that overlap: %v", err)
	}
	c.WantNoHolds()
}

func TestSeriesRaceHasOneWinner(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	var won, lost int
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			r := weeklyFor(c, 5)
			if n%2 == 1 {
				slices.Reverse(r.Times)
			}
			_, err := c.Group.Series.Book(context.Background(), r)
			var conflict *group.ConflictError
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.As(err, &conflict):
				lost++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	// Two requests that start from opposite ends can both be refused because of each other, but a series is never half
	// booked.
	if got := len(c.Confirmed()); won > 1 || won+lost != 20 || got != 5*won {
		t.Errorf("%d succeeded, %d failed, and there are %d appointments", won, lost, got)
	}
	c.WantNoHolds()
}

// blindStore returns no taken time, like a node that has not received it yet. Only the database refuses the booking.
type blindStore struct{ store.Store }

func (blindStore) Taken(context.Context, []string, time.Time, time.Time) ([]store.Taken, error) {
	return nil, nil
}

func TestSeriesRefusedByDatabaseChangesNothing(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinicOn(t, func(db store.Store) store.Store { return blindStore{db} })
	c.MustBook(booking.Request{AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: c.Start.AddDate(0, 0, 14),
		Source: store.SourceStaff, Actor: "user:jo", Patient: store.Patient{Name: "A"}})
	r := weeklyFor(c, 4)
	slices.Reverse(r.Times)
	var conflict *group.ConflictError
	if _, err := c.Group.Series.Book(t.Context(), r); !errors.As(err, &conflict) ||
		!slices.Equal(conflict.Conflicts, []group.Conflict{{Place: 1, Reason: availability.ReasonTaken}}) {
		t.Errorf("got %v, want the second of the request", err)
	}
	if got := len(c.Confirmed()); got != 1 {
		t.Errorf("%d appointments, want only the first", got)
	}
	c.WantNoHolds()
	r = weeklyFor(c, 2)
	list := mustBookSeries(c, r)
	_, err := c.Group.Series.Move(t.Context(), group.SeriesMove{Which: group.Which{ID: list[0].ID, Actor: "user:jo"},
		SlotStart: c.Start.AddDate(0, 0, 7)})
	if !errors.As(err, &conflict) || !slices.Equal(conflict.Conflicts,
		[]group.Conflict{{Place: 1, Reason: availability.ReasonTaken}}) {
		t.Errorf("a move: got %v, want the second", err)
	}
	if got, _ := c.Booking.Appointment(t.Context(), list[0].ID); !got.SlotStart.Equal(c.Start) {
		t.Errorf("a part of the series was moved, to %s", got.SlotStart)
	}
	c.WantNoHolds()
}

func TestSeriesCancelsLaterAppointments(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	list := mustBookSeries(c, weeklyFor(c, 6))
	if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: list[4].ID, Actor: "user:jo"}); err != nil {
		t.Fatal(err)
	}
	from := group.Which{ID: list[2].ID, Version: 9, Actor: "user:jo"}
	if _, err := c.Group.Series.Cancel(t.Context(), group.Cancel{Which: from}); !errors.Is(err, store.ErrVersion) {
		t.Errorf("a stale version: %v", err)
	}
	from.Version = 1
	from.Reaches = func(id string) bool { return id != "ada" }
	if _, err := c.Group.Series.Cancel(t.Context(), group.Cancel{Which: from}); !errors.Is(err, record.ErrForbidden) {
		t.Errorf("a colleague's: %v", err)
	}
	from.Reaches = nil
	gone, err := c.Group.Series.Cancel(t.Context(), group.Cancel{Which: from, Reason: "moved away"})
	if err != nil || len(gone) != 3 {
		t.Fatalf("%d were cancelled, %v; want 3", len(gone), err)
	}
	all, err := c.Group.Series.Of(t.Context(), list[0].ID)
	if err != nil || len(all) != 6 {
		t.Fatalf("the series has %d, %v", len(all), err)
	}
	for i, a := range all {
		if want := map[bool]store.Status{true: store.Confirmed, false: store.Cancelled}[i < 2]; a.Status != want {
			t.Errorf("%d is %s, want %s", i, a.Status, want)
		}
	}
	if slot := c.Slot(1, "checkup", list[3].SlotStart, "ada"); slot == nil {
		t.Error("the time of a cancelled appointment is not listed")
	}
	if _, err := c.Group.Series.Cancel(t.Context(), group.Cancel{Which: group.Which{ID: list[4].ID, Actor: "user:jo"},
		Reason: ""}); !errors.Is(err, record.ErrNotConfirmed) {
		t.Errorf("from a cancelled appointment: %v", err)
	}
	alone := c.MustBook(booking.Request{AppointmentTypeID: "checkup", SlotStart: c.Start.Add(time.Hour),
		Source: store.SourceStaff, Actor: "user:jo", Patient: store.Patient{Name: "A"}})
	if _, err := c.Group.Series.Cancel(t.Context(), group.Cancel{Which: group.Which{ID: alone.ID, Actor: "user:jo"},
		Reason: ""}); !errors.Is(err, group.ErrNoSeries) {
		t.Errorf("an appointment without a series: %v", err)
	}
}

func TestSeriesMovesLaterAppointments(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 2, "ben": 1})
	list := mustBookSeries(c, weeklyFor(c, 5))
	// Move it a week later: each appointment takes the current time of the next one.
	move := group.SeriesMove{Which: group.Which{ID: list[1].ID, Version: 1, Actor: "user:jo"},
		SlotStart: list[2].SlotStart}
	moved, err := c.Group.Series.Move(t.Context(), move)
	if err != nil || len(moved) != 4 {
		t.Fatalf("moved %d, %v; want 4", len(moved), err)
	}
	for i, a := range moved {
		if a.ID != list[i+1].ID || !a.SlotStart.Equal(list[i+1].SlotStart.AddDate(0, 0, 7)) || a.ManageEpoch != 1 {
			t.Errorf("%d: got %+v", i, a)
		}
	}
	c.WantNoHolds()
	// Move it back, half an hour later than before and with another specialist.
	move = group.SeriesMove{Which: group.Which{ID: list[1].ID, Actor: "user:jo"},
		SlotStart: list[1].SlotStart.Add(30 * time.Minute), SpecialistID: "ben"}
	in := c.MustBook(booking.Request{AppointmentTypeID: "checkup", SpecialistID: "ben",
		SlotStart: list[3].SlotStart.Add(30 * time.Minute), Source: store.SourceStaff, Actor: "user:jo",
		Patient: store.Patient{Name: "A"}})
	plan, err := c.Group.Series.PlanMove(t.Context(), move)
	if err != nil || len(plan) != 4 || plan[2].Reason != availability.ReasonTaken || plan[1].Reason != "" ||
		plan[2].AppointmentID != list[3].ID {
		t.Fatalf("the plan is %+v, %v", plan, err)
	}
	var conflict *group.ConflictError
	if _, err := c.Group.Series.Move(t.Context(), move); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 ||
		conflict.Conflicts[0].Place != 2 {
		t.Errorf("onto %s: %v", in.ID, err)
	}
	move.Keep = []string{list[3].ID}
	if moved, err = c.Group.Series.Move(t.Context(), move); err != nil || len(moved) != 3 {
		t.Fatalf("moved %d, %v; want 3", len(moved), err)
	}
	if n := c.Booking.Counts().Moves; n != 4+3 {
		t.Errorf("%d moves were counted, want 7", n)
	}
	for _, a := range moved {
		if a.SpecialistID != "ben" || a.SlotStart.Minute() != 30 {
			t.Errorf("got %+v", a)
		}
	}
	if kept, _ := c.Booking.Appointment(t.Context(), list[3].ID); kept.SpecialistID != "ada" ||
		!kept.SlotStart.Equal(list[4].SlotStart) {
		t.Errorf("an earlier appointment changed: %+v", kept)
	}
	c.WantNoHolds()
	if d, err := c.Booking.Differences(t.Context()); err != nil || len(d) > 0 {
		t.Errorf("memory differs from the database: %v, %v", d, err)
	}
}

// TestSeriesSendsOneEmail: booking six appointments sends one email with six links, and later one reminder for each.
// Cancelling three appointments also sends one email.
func TestSeriesSendsOneEmail(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
			s.ReminderHours = 24
		}); err != nil {
			t.Fatal(err)
		}
		list := mustBookSeries(c, weeklyFor(c, 6))
		time.Sleep(time.Second)
		got := c.Mails(folder, list[0].ID)
		text := got["series_confirmation"]
		if len(got) != 1 || !strings.Contains(text, "6 appointments from") || strings.ContainsAny(text, "{}") {
			t.Errorf("the emails of the first appointment are %v", got)
		}
		_, said := enginetest.Parts(t, c.Messages(folder, list[0].ID)["series_confirmation"])
		if i := slices.IndexFunc(said, func(p enginetest.Part) bool {
			return p.Kind == "text/calendar"
		}); i < 0 || said[i].Method != "PUBLISH" || strings.Count(said[i].Text, "BEGIN:VEVENT") != 6 {
			t.Errorf("the calendar file of the email does not have six events: %v", said)
		}
		for i, a := range list {
			if !strings.Contains(text, "https://book.example.org/manage#"+c.Booking.ManageToken(&a)) {
				t.Errorf("the link of %d is missing", i)
			}
			if i > 0 && len(c.Mails(folder, a.ID)) != 0 {
				t.Errorf("appointment %d has an email of its own", i)
			}
		}
		if _, err := c.Group.Series.Cancel(t.Context(),
			group.Cancel{Which: group.Which{ID: list[3].ID, Actor: "user:jo"}, Reason: ""}); err != nil {
			t.Fatal(err)
		}
		// One of the three cannot be restored alone, because the email lists all of them.
		if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: list[4].ID, Actor: "user:jo"}); !errors.Is(err,
			booking.ErrUndoLate) {
			t.Errorf("undo of one appointment: %v, want ErrUndoLate", err)
		}
		time.Sleep(time.Second)
		if text := c.Mails(folder, list[3].ID)["series_cancellation"]; !strings.Contains(text,
			"Cancelled: your 3 appointments") || strings.Contains(text, "manage#") {
			t.Errorf("the cancellation email is %q", text)
		}
		if _, err := c.Group.Series.Move(t.Context(),
			group.SeriesMove{Which: group.Which{ID: list[1].ID, Actor: "user:jo"},
				SlotStart: list[1].SlotStart.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if text := c.Mails(folder, list[1].ID)["series_reschedule"]; strings.Count(text, "13:00 to 13:30") < 2 {
			t.Errorf("the move email is %q", text)
		}
		// The reminder of the first appointment is sent the day before, as usual.
		time.Sleep(3*24*time.Hour + 13*time.Hour)
		if got := c.Mails(folder, list[0].ID); got["reminder"] == "" {
			t.Errorf("no reminder: %v", got)
		}
	})
}

func TestSeriesTakesRooms(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	r := weeklyFor(c, 3)
	r.AppointmentTypeID = "peel"
	list := mustBookSeries(c, r)
	for _, a := range list {
		if !slices.Equal(a.Resources, []string{"room-1"}) {
			t.Errorf("%s: got %q, want a room", a.SlotStart, a.Resources)
		}
	}
	c.MustBook(enginetest.Peels(1, list[1].SlotStart, "ben"))
	var conflict *group.ConflictError
	if _, err := c.Group.Series.Book(context.Background(), r); !errors.As(err, &conflict) ||
		len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Place != 1 {
		t.Errorf("a second series: got %v, want a conflict at its second time", err)
	}
	c.WantNoHolds()
}
