package clinic_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// TestReturnedSpecialistLeavesRemovedPlace: the hours of an archived specialist do not keep a place in the settings. If
// the specialist comes back after the place was removed, the hours stay without it, and the settings can be changed.
func TestReturnedSpecialistLeavesRemovedPlace(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "ben": 1})
	ctx, jo := t.Context(), enginetest.Jo
	places := func(ids ...string) {
		t.Helper()
		if _, err := c.Clinic.UpdateSettings(ctx, jo, func(s *clinic.Settings) {
			s.Places = nil
			for _, id := range ids {
				s.Places = append(s.Places, clinic.Place{ID: id, Name: id})
			}
		}); err != nil {
			t.Fatalf("the places %v: %v", ids, err)
		}
	}
	places("old", "new")
	window := func(place string) store.Window { return store.Window{Start: 9 * 60, End: 12 * 60, Place: place} }
	if err := c.Clinic.PutWeeklyHours(ctx, jo, "ben", []store.WeeklyWindow{
		{Weekday: store.Weekday(time.Monday), Window: window("old")},
		{Weekday: store.Weekday(time.Tuesday), Window: window("new")}}); err != nil {
		t.Fatal(err)
	}
	date := store.DateOf(c.Start).AddDays(7)
	if _, err := c.Clinic.PutOverride(ctx, jo, store.Override{SpecialistID: "ben", Date: date,
		Hours: []store.Window{window("old")}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Clinic.ArchiveSpecialist(ctx, jo, "ben"); err != nil {
		t.Fatal(err)
	}
	places("new")
	back := store.Specialist{ID: "ben", Name: "Dr ben", Active: true}
	if _, err := c.Clinic.CreateSpecialist(ctx, jo, back); err != nil {
		t.Fatal(err)
	}
	s := c.Clinic.Current()
	hours, overrides := s.WeeklyHours["ben"], s.Overrides["ben"]
	if len(hours) != 2 || hours[0].Window != window("") || hours[1].Window != window("new") {
		t.Errorf("the weekly hours are %+v; want those of Monday without a place", hours)
	}
	if len(overrides) != 1 || len(overrides[0].Hours) != 1 || overrides[0].Hours[0] != window("") {
		t.Errorf("the overrides are %+v; want one without a place", overrides)
	}
	places("new", "newer")
}

// TestPastOverrideKeepsNoPlace: the hours of a past date do not keep a place in the settings. The place can be removed,
// and the exported clinic file can be imported.
func TestPastOverrideKeepsNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		ctx, jo := t.Context(), enginetest.Jo
		places := func(ids ...string) error {
			_, err := c.Clinic.UpdateSettings(ctx, jo, func(s *clinic.Settings) {
				s.Places = nil
				for _, id := range ids {
					s.Places = append(s.Places, clinic.Place{ID: id, Name: id})
				}
			})
			return err
		}
		if err := places("old", "new"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Clinic.PutOverride(ctx, jo, store.Override{SpecialistID: "ada", Date: store.DateOf(time.Now()),
			Hours: []store.Window{{Start: 9 * 60, End: 12 * 60, Place: "old"}}}, nil); err != nil {
			t.Fatal(err)
		}
		var invalid *record.ValidationError
		if err := places("new"); !errors.As(err, &invalid) {
			t.Errorf("a place of today's hours was removed: %v; want a ValidationError", err)
		}
		time.Sleep(3 * 24 * time.Hour)
		if err := places("new"); err != nil {
			t.Fatalf("the place of a past date cannot be removed: %v", err)
		}
		if _, err := c.Clinic.Import(ctx, jo, c.Clinic.Export()); err != nil {
			t.Errorf("the exported file cannot be imported: %v", err)
		}
	})
}
