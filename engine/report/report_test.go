package report_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/engine/report"
	"holdfast/store"
)

// TestCountRefusesInvalidRanges: the step must be known, and the range must have 1 to 60 periods.
func TestCountRefusesInvalidRanges(t *testing.T) {
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	first := store.Date{Year: 2026, Month: time.March, Day: 4}
	for name, tt := range map[string]struct {
		step    report.Step
		from    store.Date
		to      store.Date
		periods int // 0 if the range is refused
	}{
		"a day":              {report.Week, first, first.AddDays(1), 1},
		"a Monday":           {report.Week, first.AddDays(-2), first.AddDays(5), 1},
		"over a Sunday":      {report.Week, first.AddDays(4), first.AddDays(6), 2},
		"sixty weeks":        {report.Week, first, first.AddDays(59 * 7), 60},
		"more weeks":         {report.Week, first, first.AddDays(60 * 7), 0},
		"a leap February":    {report.Month, store.Date{Year: 2028, Month: time.February, Day: 29}, store.Date{Year: 2028, Month: time.March, Day: 1}, 1},
		"an empty range":     {report.Week, first, first, 0},
		"a range backwards":  {report.Month, first, first.AddDays(-40), 0},
		"an unknown step":    {"day", first, first.AddDays(1), 0},
		"two years by month": {report.Month, first, store.Date{Year: 2028, Month: time.March, Day: 4}, 25},
	} {
		all, err := c.Report.Count(t.Context(), tt.step, tt.from, tt.to, time.Now())
		var invalid *record.ValidationError
		if errors.As(err, &invalid) != (tt.periods == 0) || len(all) != tt.periods {
			t.Errorf("%s: got %d periods and %v, want %d", name, len(all), err, tt.periods)
		}
		for i := range all {
			if i > 0 && all[i].From != all[i-1].To || !all[i].From.Before(all[i].To) {
				t.Errorf("%s: period %d is from %s to %s", name, i, all[i].From, all[i].To)
			}
		}
	}
}

// TestCountUsesStartOfAppointment: an appointment counts in the week in which it starts, and a no-show counts only
// after its start.
func TestCountUsesStartOfAppointment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Source, r.Actor = c.Start, store.SourceStaff, "user:desk"
		a := c.MustBook(r)
		date := store.DateOf(a.SlotStart)
		all, err := c.Report.Count(t.Context(), report.Week, date, date.AddDays(1), time.Now())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		p := all[0]
		if p.Booked[store.SourceStaff] != 1 || p.Appointments != 1 || p.Started != 0 || p.NoShows != 0 || p.Lead <= 0 {
			t.Errorf("before it starts: got %+v", p)
		}
		all, err = c.Report.Count(t.Context(), report.Week, date, date.AddDays(1), a.SlotEnd)
		if err != nil || all[0].Started != 1 {
			t.Errorf("afterwards: got %+v, %v", all, err)
		}
		c.MustCancel(a.ID)
		all, err = c.Report.Count(t.Context(), report.Week, date, date.AddDays(1), a.SlotEnd)
		if err != nil || all[0].Booked[store.SourceStaff] != 1 || all[0].Cancelled != 1 || all[0].Appointments != 0 {
			t.Errorf("cancelled: got %+v, %v", all, err)
		}
	})
}

// TestCountKeepsArchivedSpecialists: the booked time of a specialist still counts after the specialist has been
// archived. An archived specialist without appointments in the period has no entry.
func TestCountKeepsArchivedSpecialists(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "ben": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart, r.SpecialistID = c.Start, "ben"
	a := c.MustBook(r)
	if err := c.Clinic.ArchiveSpecialist(t.Context(), "user:desk", "ben"); err != nil {
		t.Fatal(err)
	}
	date := store.DateOf(a.SlotStart)
	for when, want := range map[store.Date]int{date: 1, date.AddDays(70): 0} {
		all, err := c.Report.Count(t.Context(), report.Week, when, when.AddDays(1), time.Now())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		var bens []report.Use
		for _, u := range all[0].Specialists {
			if u.SpecialistID == "ben" {
				bens = append(bens, u)
			}
		}
		if len(bens) != want || want == 1 && bens[0].Booked != a.SlotEnd.Sub(a.SlotStart) {
			t.Errorf("the week of %s: got %+v, want %d entries", when, bens, want)
		}
	}
}

// TestCountForgetsOldBlocks: a block that ended more than store.BlockMemory ago no longer counts, also on a server that
// has not read the schedule again since.
func TestCountForgetsOldBlocks(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	b := store.Block{SpecialistID: "ada", Start: c.Start, End: c.Start.Add(time.Hour)}
	if _, err := c.Clinic.CreateBlock(t.Context(), "user:desk", b, nil); err != nil {
		t.Fatal(err)
	}
	date, open := store.DateOf(c.Start), map[bool]time.Duration{}
	for isOld, now := range map[bool]time.Time{false: b.End, true: b.End.Add(store.BlockMemory)} {
		all, err := c.Report.Count(t.Context(), report.Week, date, date.AddDays(1), now)
		if err != nil || len(all) != 1 || len(all[0].Specialists) != 1 {
			t.Fatal(all, err)
		}
		open[isOld] = all[0].Specialists[0].Open
	}
	if open[true]-open[false] != time.Hour {
		t.Errorf("open with the block %s, after it is old %s; want one hour more", open[false], open[true])
	}
}
