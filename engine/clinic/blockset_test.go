package clinic_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// TestBlocksOfOneForm: one form blocks a week of whole days for all specialists, and another blocks every second
// Wednesday afternoon for two specialists, in the clinic's local time.
func TestBlocksOfOneForm(t *testing.T) {
	t.Parallel()
	// the clock starts on 1 January 2000; in Berlin, clocks go forward on 26 March
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1, "ben": 2})
		f := enginetest.ClinicFile(map[string]int{"ada": 1, "ben": 2})
		f.Clinic.Timezone = "Europe/Berlin"
		if _, err := c.Clinic.Import(t.Context(), "system", f); err != nil {
			t.Fatal(err)
		}
		date := func(s string) store.Date { d, _ := store.ParseDate(s); return d }
		in := c.MustBook(booking.Request{AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: time.Date(2000, 3, 25, 9, 0, 0, 0, time.UTC), Source: store.SourceStaff, Actor: "user:jo", IgnoreHours: true, Patient: store.Patient{Name: "A"}})
		week := clinic.BlockForm{Spans: []clinic.BlockSpan{{Title: "Easter", From: date("2000-03-24"), To: date("2000-03-27"), Whole: true}}}
		planned, err := c.Clinic.PlanBlocks(week)
		if err != nil || len(planned) != 2 || len(c.Clinic.Current().Blocks["ada"]) != 0 {
			t.Fatalf("the plan is %v, %v", planned, err)
		}
		made, err := c.Clinic.CreateBlocks(t.Context(), "user:jo", week, nil)
		if err != nil || len(made) != 2 || made[0].SetID == "" || made[0].SetID != made[1].SetID {
			t.Fatalf("got %v, %v", made, err)
		}
		for _, b := range made {
			if b.Start.Format(time.RFC3339) != "2000-03-23T23:00:00Z" || b.End.Format(time.RFC3339) != "2000-03-27T22:00:00Z" {
				t.Errorf("whole days across the clock change are %s to %s", b.Start, b.End)
			}
		}
		var no *availability.NotBookableError
		if _, err := c.Hold(1, "checkup", time.Date(2000, 1, 20, 9, 0, 0, 0, time.UTC), "ben"); err != nil {
			t.Errorf("blocks other than the week: %v", err)
		}
		if _, err := c.Book(booking.Request{AppointmentTypeID: "checkup", SpecialistID: "ben", SlotStart: time.Date(2000, 3, 26, 9, 0, 0, 0, time.UTC), Source: store.SourceStaff, Actor: "user:jo", Patient: store.Patient{Name: "A"}}); !errors.As(err, &no) {
			t.Errorf("in the week: %v", err)
		}
		list, more, err := c.Booking.InTheWay(t.Context(), made)
		if err != nil || more || len(list) != 1 || list[0].ID != in.ID {
			t.Errorf("the appointments in the blocks are %v, %v", list, err)
		}
		again := clinic.BlockForm{SpecialistIDs: []string{"ada"}, EveryWeeks: 2, Until: date("2000-04-05"),
			Spans: []clinic.BlockSpan{{Title: "Course", From: date("2000-03-08"), To: date("2000-03-08"), Start: 13 * 60, End: 17 * 60}}}
		if made, err = c.Clinic.CreateBlocks(t.Context(), "user:jo", again, nil); err != nil || len(made) != 3 {
			t.Fatalf("got %v, %v", made, err)
		}
		var starts []string
		for _, b := range made {
			starts = append(starts, b.Start.Format(time.RFC3339))
		}
		if !slices.Equal(starts, []string{"2000-03-08T12:00:00Z", "2000-03-22T12:00:00Z", "2000-04-05T11:00:00Z"}) {
			t.Errorf("every second Wednesday at 13:00: %v", starts)
		}
		// One block is deleted on its own, and the other two together. The block for the week remains.
		if err := c.Clinic.DeleteBlock(t.Context(), "user:jo", made[1].ID); err != nil {
			t.Fatal(err)
		}
		if err := c.Clinic.DeleteBlockSet(t.Context(), "user:jo", made[0].SetID, func(id string) bool { return id != "ada" }); !errors.Is(err, record.ErrForbidden) {
			t.Errorf("a colleague's: %v", err)
		}
		if all, err := c.Clinic.BlocksWith(made[0].ID); err != nil || len(all) != 2 {
			t.Errorf("with the first are %v, %v", all, err)
		}
		if err := c.Clinic.DeleteBlockSet(t.Context(), "user:jo", made[0].SetID, func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		if got := c.Clinic.Current().Blocks["ada"]; len(got) != 1 || got[0].Reason != "Easter" {
			t.Errorf("remaining blocks: %v", got)
		}
		// A clinic file contains the ids of the block sets.
		file := c.Clinic.Export()
		if _, err := c.Clinic.Import(t.Context(), "system", file); err != nil || c.Clinic.Current().Blocks["ben"][0].SetID == "" {
			t.Errorf("second import: %v", err)
		}
		for field, form := range map[string]clinic.BlockForm{
			"specialistIds[0]":  {SpecialistIDs: []string{"nobody"}, Spans: week.Spans},
			"spans":             {},
			"spans[0].to":       {Spans: []clinic.BlockSpan{{From: date("2000-03-24"), To: date("2000-03-23"), Whole: true}}},
			"spans[1].title":    {Spans: []clinic.BlockSpan{week.Spans[0], {Title: strings.Repeat("x", 501), From: date("2000-03-24"), To: date("2000-03-24"), Whole: true}}},
			"repeat.everyWeeks": {Spans: week.Spans, Until: date("2000-05-01")},
			"repeat.until":      {Spans: week.Spans, EveryWeeks: 1, Until: date("2003-05-01")},
		} {
			var invalid *record.ValidationError
			if _, err := c.Clinic.PlanBlocks(form); !errors.As(err, &invalid) || invalid.Fields[0].Field != field {
				t.Errorf("%s: got %v", field, err)
			}
		}
		if BlocksOver(c, t, date) {
			t.Error("a form with more than 2000 blocks is accepted")
		}
	})
}

// BlocksOver reports whether PlanBlocks accepts a form with more blocks than MaxBlocks.
func BlocksOver(c *enginetest.TestClinic, t *testing.T, date func(string) store.Date) bool {
	form := clinic.BlockForm{}
	for range clinic.MaxBlocks/2 + 1 {
		form.Spans = append(form.Spans, clinic.BlockSpan{From: date("2000-03-24"), To: date("2000-03-24"), Whole: true})
	}
	_, err := c.Clinic.PlanBlocks(form)
	return err == nil
}
