package demo

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// TestDemoDaysAre70PercentFull: at several hours of a week, each of the next days has about 70 % of its opening
// hours booked, and the patients have phone numbers, notes and an attendance.
func TestDemoDaysAre70PercentFull(t *testing.T) {
	t.Parallel()
	for hour := 0; hour < 7*24; hour += 27 {
		// the days are a function of the instant
		now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC).Add(time.Duration(hour) * time.Hour)
		h, _ := newHouse(t)
		f, err := ClinicAt(now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.engine.Clinic.Import(t.Context(), "system", f); err != nil {
			t.Fatal(err)
		}
		if err := h.furnish(t.Context(), now, f); err != nil {
			t.Fatal(err)
		}
		if err := h.fill(t.Context(), now, f); err != nil {
			t.Fatal(err)
		}
		var list []store.Appointment
		for cursor, more := "", true; more; more = cursor != "" {
			var page []store.Appointment
			if page, cursor, err = h.engine.Booking.Appointments(t.Context(),
				store.AppointmentFilter{Limit: 500, Cursor: cursor}); err != nil {
				t.Fatal(err)
			}
			list = append(list, page...)
		}
		notes, seen := 0, map[store.Attendance]int{}
		for day := range filledDays - 1 {
			open, booked, groups := 0.0, 0.0, map[string]bool{}
			for _, p := range f.Specialists {
				zone, err := time.LoadLocation(p.Timezone)
				if err != nil {
					t.Fatal(err)
				}
				year, month, today := now.In(zone).Date()
				date := time.Date(year, month, today+day, 0, 0, 0, 0, zone)
				for _, hours := range p.WeeklyHours {
					if hours.Weekday == store.Weekday(date.Weekday()) {
						open += float64(hours.End - hours.Start)
					}
				}
				for i := range list {
					if a := &list[i]; a.SpecialistID == p.ID &&
						store.DateOf(a.SlotStart.In(zone)) == store.DateOf(date) {
						if group := a.SpecialistID + a.SlotStart.String(); groups[group] {
							continue
						} else {
							groups[group] = true
						}
						booked += a.BusyEnd.Sub(a.BusyStart).Minutes()
						seen[a.Attendance]++
						if a.Patient.Phone == "" || a.Patient.BirthDate == "" {
							t.Errorf("%+v has no phone or no date of birth", a.Patient)
						}
						if a.Patient.Notes != "" {
							notes++
						}
					}
				}
			}
			if full := booked / open; full < .6 || full > .78 {
				t.Errorf("%d days after %s: %.0f %% full, want about 70", day, now, 100*full)
			}
		}
		if notes < 20 || seen[store.Expected] < 50 || seen[store.Completed] < 1 {
			t.Errorf("at %s: %d notes, %v", now, notes, seen)
		}
		if err := h.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDemoLeavesContendedTimes: at every hour of two weeks, the specialist that the phones book first has at least
// three free half hours within the next hours.
func TestDemoLeavesContendedTimes(t *testing.T) {
	t.Parallel()
	for hour := range 14 * 24 {
		now := time.Date(2026, 11, 20, 0, 40, 0, 0, time.UTC).Add(time.Duration(hour) * time.Hour)
		f, err := ClinicAt(now)
		if err != nil {
			t.Fatal(err)
		}
		text, err := sheetOf(now, f)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		visits, _, err := dayOf(now, f)
		if err != nil {
			t.Fatal(err)
		}
		var taken []time.Time
		for _, row := range rows[1:] {
			start, err := time.Parse(time.RFC3339, row[2])
			if err != nil {
				t.Fatal(err)
			}
			if row[1] == raceHost {
				taken = append(taken, start)
			}
		}
		for _, v := range visits {
			if v.specialistID == raceHost {
				taken = append(taken, v.start)
			}
		}
		free := 0
		for at := now.Truncate(30 * time.Minute).Add(30 * time.Minute); at.Before(now.Add(raceRoom)); at = at.Add(30 * time.Minute) {
			if !slices.ContainsFunc(taken, func(start time.Time) bool {
				return start.Before(at.Add(30*time.Minute)) && at.Before(start.Add(30*time.Minute))
			}) {
				free++
			}
		}
		if free < 3 {
			t.Errorf("at %s, in %s, %d times are free", now, f.Clinic.Timezone, free)
		}
	}
}
