package storetest

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testSchedule(t *testing.T, h Harness) {
	t.Run("a new database", func(t *testing.T) {
		got, err := h.open(t).Schedule(t.Context())
		if err != nil || !reflect.DeepEqual(got.Clinic, store.Clinic{}) || len(got.AppointmentTypes)+
			len(got.Specialists) != 0 {
			t.Errorf("got %+v, %v; want nothing", got, err)
		}
	})

	t.Run("the clinic", func(t *testing.T) {
		s := h.open(t)
		for _, want := range []store.Clinic{
			{Name: "Harbour", Timezone: "Europe/Berlin", Locale: "de", Phone: "1", Email: "e@example.org",
				Address: "a\nb", Website: "w", Settings: json.RawMessage(`{"accent": "blue", "n": 1}`)},
			{Name: "Other", Timezone: "America/New_York", Locale: "en"},
		} {
			write(t, s, func(tx store.Tx) error { return tx.PutClinic(t.Context(), want) })
			got := schedule(t, s).Clinic
			if !sameJSON(got.Settings, want.Settings) {
				t.Errorf("settings: got %s, want %s", got.Settings, want.Settings)
			}
			got.Settings, want.Settings = nil, nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	})

	t.Run("appointment types and their specialists", func(t *testing.T) { appointmentTypes(t, h.open(t)) })
	t.Run("specialists", func(t *testing.T) { specialists(t, h.open(t)) })
	t.Run("weekly hours", func(t *testing.T) { weeklyHours(t, h.open(t)) })
	t.Run("overrides", func(t *testing.T) { overrides(t, h.open(t)) })
}

func schedule(t testing.TB, s store.Store) store.Schedule {
	t.Helper()
	got, err := s.Schedule(t.Context())
	if err != nil {
		t.Fatalf("Schedule: %v", err)
	}
	return got
}

// sameJSON compares JSON values, because a backend may store them in a different form.
func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func appointmentTypes(t *testing.T, s store.Store) {
	ctx := t.Context()
	write(t, s, func(tx store.Tx) error {
		for _, id := range []string{"ada", "ben"} {
			if err := tx.PutSpecialist(ctx, specialist(id)); err != nil {
				return err
			}
		}
		return nil
	})
	full := store.AppointmentType{
		ID: "full", Name: "Full", Description: "Everything", DurationMinutes: 1440, SlotStepMinutes: 7,
		BufferBeforeMinutes: 1, BufferAfterMinutes: 2, MinNoticeMinutes: 3, HorizonDays: 4, CooldownMinutes: 5,
		Capacity: 6, HoldTTLSeconds: 7, MaxHoldSeconds: 8, HoldQuota: 9, Active: false, Position: 2,
		UpstreamTypeID: "u",
		Page: store.TypePage{
			Group: "g", Color: "plum", Price: "40 €", DeskOnly: true, NewPatientsOnly: true,
			Texts: map[string]store.TypeText{"de": {Name: "Voll"}, "es": {Price: "40 <€>"}},
			Questions: []store.Question{{ID: "q1", Kind: store.AskChoice, Label: "Which?", Options: []string{"a", "b"},
				Required: true,
				Texts:    map[string]store.QuestionText{"de": {Label: "Welche?", Options: []string{"x", "y"}}}}},
			Approval: true, ApprovalHours: 12, CancelText: "Call us.", Remote: true,
			VideoLink: "https://video.example.org/{appointment}",
		},
		Specialists: []store.Assignment{{SpecialistID: "ben", Priority: 20}, {SpecialistID: "ada", Priority: -1}},
	}
	bare := store.AppointmentType{ID: "bare", DurationMinutes: 1, SlotStepMinutes: 1, Capacity: 1, Active: true,
		Position: 1}
	put := func(a store.AppointmentType) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.PutAppointmentType(ctx, a) })
	}
	wantTypes := func(what string, want ...store.AppointmentType) {
		t.Helper()
		if got := schedule(t, s).AppointmentTypes; len(got) != len(want) || len(want) > 0 &&
			!reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
		}
	}
	wantErr(t, "put", put(full), nil)
	wantErr(t, "put", put(bare), nil)
	wantTypes("by position", bare, full)

	full.Name, full.Position, full.Specialists = "Changed", 0, full.Specialists[:1]
	full.Page = store.TypePage{Questions: []store.Question{{ID: "q2", Kind: store.AskYesNo, Label: "Well?"}}}
	wantErr(t, "replace", put(full), nil)
	wantTypes("replaced, its specialists too", full, bare)

	unknown := full
	unknown.Name, unknown.Specialists = "Refused", []store.Assignment{{SpecialistID: "unknown"}}
	wantErr(t, "an unknown specialist", put(unknown), store.ErrInvalid)
	for name, change := range map[string]func(*store.AppointmentType){
		"no duration":           func(a *store.AppointmentType) { a.DurationMinutes = 0 },
		"a duration over a day": func(a *store.AppointmentType) { a.DurationMinutes = 1441 },
		"no step":               func(a *store.AppointmentType) { a.SlotStepMinutes = 0 },
		"no seat":               func(a *store.AppointmentType) { a.Capacity = 0 },
	} {
		bad := full
		change(&bad)
		wantErr(t, name, put(bad), store.ErrInvalid)
	}
	wantTypes("after refusals", full, bare)

	archive := func(id string) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.ArchiveAppointmentType(ctx, id) })
	}
	booked := booking("ben", "full", 0, 1440)
	mustInsert(t, s, booked)
	wantErr(t, "archive", archive("full"), nil)
	wantTypes("archived", bare)
	gone := full
	gone.Specialists = nil
	if got := schedule(t, s).ArchivedTypes; !reflect.DeepEqual(got, []store.AppointmentType{gone}) {
		t.Errorf("archived types:\n got %+v\nwant %+v", got, gone)
	}
	wantErr(t, "archive again", archive("full"), store.ErrNotFound)
	wantErr(t, "archive an unknown one", archive("unknown"), store.ErrNotFound)
	wantAppointment(t, s, booked)
	wantErr(t, "bring it back", put(full), nil)
	wantTypes("back", full, bare)
	if got := schedule(t, s).ArchivedTypes; len(got) != 0 {
		t.Errorf("restored, and still archived: %+v", got)
	}
}

func specialists(t *testing.T, s store.Store) {
	ctx := t.Context()
	ada := store.Specialist{ID: "ada", Name: "Dr Ada", Timezone: "Asia/Kolkata", Active: true, Email: "ada@example.org",
		MaxSessions: 3,
		Position:    2, UpstreamScheduleViewID: "v", UpstreamColumnID: "c",
		Page: store.SpecialistPage{Line: "Children", Lines: map[string]string{"de": "Kinder"}}}
	ben := store.Specialist{ID: "ben", Position: 1}
	put := func(all ...store.Specialist) {
		write(t, s, func(tx store.Tx) error {
			for _, one := range all {
				if err := tx.PutSpecialist(ctx, one); err != nil {
					return err
				}
			}
			return nil
		})
	}
	wantSpecialists := func(what string, want ...store.Specialist) {
		t.Helper()
		if got := schedule(t, s).Specialists; !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
		}
	}
	put(ada, ben)
	wantSpecialists("by position", ben, ada)
	ada.Name, ada.Active, ada.Position = "Dr Ada Brandt", false, 0
	ada.Page = store.SpecialistPage{}
	put(ada)
	wantSpecialists("replaced", ada, ben)

	write(t, s, func(tx store.Tx) error { return tx.PutAppointmentType(ctx, appointmentType("checkup", 30)) })
	hours := []store.WeeklyWindow{{Weekday: store.Weekday(time.Monday), Window: store.Window{Start: 540, End: 720}}}
	off := store.Override{ID: "o1", SpecialistID: "ada", Date: store.Date{Year: 2026, Month: 12, Day: 24}, Closed: true}
	write(t, s, func(tx store.Tx) error {
		if err := tx.PutWeeklyHours(ctx, "ada", hours); err != nil {
			return err
		}
		return tx.PutOverride(ctx, off)
	})
	booked := mustInsert(t, s, booking("ada", "checkup", 0, 30))

	archive := func(id string) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.ArchiveSpecialist(ctx, id) })
	}
	wantErr(t, "archive", archive("ada"), nil)
	wantErr(t, "archive again", archive("ada"), store.ErrNotFound)
	wantErr(t, "archive an unknown one", archive("unknown"), store.ErrNotFound)
	got := schedule(t, s)
	if len(got.Specialists) != 1 || len(got.WeeklyHours) != 0 || len(got.Overrides) != 0 {
		t.Errorf("after archiving: got %+v", got)
	}
	if !reflect.DeepEqual(got.ArchivedSpecialists, []store.Specialist{ada}) {
		t.Errorf("archived specialists:\n got %+v\nwant %+v", got.ArchivedSpecialists, ada)
	}
	if who := got.AppointmentTypes[0].Specialists; !reflect.DeepEqual(who,
		[]store.Assignment{{SpecialistID: "ben", Priority: 10}}) {
		t.Errorf("assigned after archiving: got %+v, want only ben", who)
	}
	wantAppointment(t, s, booked)
	wantErr(t, "assigning an archived one", s.Write(ctx, func(tx store.Tx) error {
		return tx.PutAppointmentType(ctx, appointmentType("checkup", 30))
	}), store.ErrInvalid)

	put(ada)
	got = schedule(t, s)
	if !reflect.DeepEqual(got.WeeklyHours["ada"], hours) ||
		!reflect.DeepEqual(got.Overrides["ada"], []store.Override{off}) {
		t.Errorf("restored: got hours %+v and overrides %+v, want the earlier ones", got.WeeklyHours, got.Overrides)
	}
}

func weeklyHours(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx := t.Context()
	window := func(day time.Weekday, start, end store.TimeOfDay) store.WeeklyWindow {
		return store.WeeklyWindow{Weekday: store.Weekday(day),
			Window: store.Window{Start: start, End: end, Place: "at-" + store.Weekday(day).String()}}
	}
	put := func(id string, hours ...store.WeeklyWindow) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.PutWeeklyHours(ctx, id, hours) })
	}
	wantErr(t, "put", put("ada", window(time.Sunday, 0, 1440), window(time.Monday, 780, 1020),
		window(time.Saturday, 1, 2),
		window(time.Monday, 540, 720)), nil)
	want := []store.WeeklyWindow{window(time.Monday, 540, 720), window(time.Monday, 780, 1020),
		window(time.Saturday, 1, 2), window(time.Sunday, 0, 1440)}
	if got := schedule(t, s).WeeklyHours; !reflect.DeepEqual(got, map[string][]store.WeeklyWindow{"ada": want}) {
		t.Errorf("got %+v, want ada's %+v", got, want)
	}
	wantErr(t, "a reversed window", put("ada", window(time.Friday, 720, 540)), store.ErrInvalid)
	wantErr(t, "past midnight", put("ada", window(time.Friday, 720, 1441)), store.ErrInvalid)
	wantErr(t, "an unknown specialist", put("unknown", window(time.Friday, 1, 2)), store.ErrNotFound)
	if got := schedule(t, s).WeeklyHours["ada"]; !reflect.DeepEqual(got, want) {
		t.Errorf("after refusals: got %+v, want %+v", got, want)
	}
	wantErr(t, "put none", put("ada"), nil)
	if got := schedule(t, s).WeeklyHours["ada"]; len(got) != 0 {
		t.Errorf("got %+v, want none", got)
	}
}

func overrides(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx := t.Context()
	day := func(n int) store.Date { return store.Date{Year: 2026, Month: 12, Day: n} }
	put := func(o store.Override) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.PutOverride(ctx, o) })
	}
	late := store.Override{ID: "late", SpecialistID: "ada", Date: day(31), Reason: "New Year",
		Hours: []store.Window{{Start: 540, End: 600, Place: "north"}, {Start: 660, End: 1440}}}
	closed := store.Override{ID: "closed", SpecialistID: "ada", Date: day(24), Closed: true}
	others := store.Override{ID: "others", SpecialistID: "ben", Date: day(24), Closed: true}
	for _, o := range []store.Override{late, closed, others} {
		wantErr(t, "put "+o.ID, put(o), nil)
	}
	wantOverrides := func(what string, want ...store.Override) {
		t.Helper()
		if got := schedule(t, s).Overrides["ada"]; len(got) != len(want) || len(want) > 0 &&
			!reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
		}
	}
	wantOverrides("by date", closed, late)

	open := store.Override{ID: "open", SpecialistID: "ada", Date: day(24),
		Hours: []store.Window{{Start: 600, End: 720, Place: "south"}}}
	wantErr(t, "another one for the same date", put(open), nil)
	wantOverrides("replaced, id and all", open, late)

	wantErr(t, "an unknown specialist",
		put(store.Override{ID: "x", SpecialistID: "unknown", Date: day(1), Closed: true}), store.ErrNotFound)
	wantErr(t, "an id in use", put(store.Override{ID: "others", SpecialistID: "ada", Date: day(1), Closed: true}),
		store.ErrDuplicate)
	wantErr(t, "closed with hours", put(store.Override{ID: "x", SpecialistID: "ada", Date: day(1), Closed: true,
		Hours: open.Hours}), store.ErrInvalid)
	wantOverrides("after refusals", open, late)

	remove := func(id string) (o store.Override, err error) {
		err = s.Write(ctx, func(tx store.Tx) (err error) { o, err = tx.DeleteOverride(ctx, id); return err })
		return o, err
	}
	if got, err := remove("open"); err != nil || !reflect.DeepEqual(got, open) {
		t.Errorf("deleted: got %+v, %v; want %+v", got, err, open)
	}
	_, err := remove("open")
	wantErr(t, "deleting it again", err, store.ErrNotFound)
	wantOverrides("after deleting", late)
}
