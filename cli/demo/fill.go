package demo

import (
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// The demo's other visits: in addition to the visits of day.go, every day is about as full as that of a busy
// clinic, and the patients have phone numbers and notes. The visits are imported as a spreadsheet, so the server
// sends no messages and queues no upstream writes for them.

const (
	filledDays   = 9  // days to fill, from yesterday
	fullPercent  = 70 // per cent of the opening hours
	pastPercent  = 90 // per cent of today's opening hours that have passed
	quietPercent = 12 // highest chance, in per cent, that 15 minutes stay free; low, so that no morning is empty
	// raceRoom is the time from now during which this file adds no visits for raceHost, the specialist that the demo's
	// phones book first. So the phones can compete for free slots.
	raceRoom = 3 * time.Hour
	raceHost = "ada"
)

var patientNotes = []string{"", "", "Prefers the mornings", "", "Brings the referral", "", "", "Needs a lift", "",
	"Speaks Portuguese", "", "First visit", "", "Hard of hearing: speak clearly", ""}

// sheetOf returns the spreadsheet with the visits of the filled days. It depends only on its arguments.
func sheetOf(now time.Time, f clinic.File) (string, error) {
	visits, _, err := dayOf(now, f)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"appointmentTypeId", "specialistId", "start", "attendance", "name", "email", "phone",
		"birthDate", "notes"}) // writes to memory do not fail
	for i := range f.Specialists {
		p := &f.Specialists[i]
		zone, err := time.LoadLocation(p.Timezone)
		if err != nil {
			return "", fmt.Errorf("failed to create the demo's appointments: %w", err)
		}
		var types []clinic.AppointmentTypeEntry
		for _, t := range f.AppointmentTypes {
			for _, a := range t.Specialists {
				if a.SpecialistID == p.ID && t.Capacity <= 1 {
					types = append(types, t)
				}
			}
		}
		if len(types) == 0 {
			continue
		}
		year, month, today := now.In(zone).Date()
		for day := -1; day < filledDays-1; day++ {
			date := time.Date(year, month, today+day, 0, 0, 0, 0, zone)
			dice := rand.New(rand.NewPCG(uint64(date.Unix()), uint64(i)))
			open, booked, visited := 0, 0, visitsOf(visits, f, p.ID, date)
			for _, v := range visited {
				booked += v.to - v.from
			}
			for _, h := range p.WeeklyHours {
				if h.Weekday != store.Weekday(date.Weekday()) {
					continue
				}
				for at := int(h.Start); at < int(h.End); {
					if until := busyUntil(visited, at, at+15); until > at {
						at, open = until, open+until-at
						continue
					}
					instant := time.Date(year, month, today+day, 0, at, 0, 0, zone)
					if p.ID == raceHost && !instant.Before(now.Add(-15*time.Minute)) &&
						instant.Before(now.Add(raceRoom)) {
						at, open = at+15, open+15
						continue
					}
					t := types[dice.IntN(len(types))]
					takes := t.BufferBeforeMinutes + t.DurationMinutes + t.BufferAfterMinutes
					most, quiet := fullPercent+dice.IntN(9)-4, quietPercent
					if instant.Before(now) && day == 0 {
						most, quiet = pastPercent, 0 // then the rest of today has free slots for the demo's users
					}
					full := open > 0 && booked*100 >= open*most
					if full || at+takes > int(h.End) || busyUntil(visited, at, at+takes) > at ||
						dice.IntN(100) < quiet && booked > 0 {
						at, open = at+15, open+15
						continue
					}
					start := time.Date(year, month, today+day, 0, at+t.BufferBeforeMinutes, 0, 0, zone)
					end := start.Add(time.Duration(t.DurationMinutes) * time.Minute)
					n := dice.IntN(1000)
					_ = w.Write([]string{t.ID, p.ID, start.Format(time.RFC3339),
						string(attendanceAt(now, start, end, n)),
						givenNames[n%len(givenNames)] + " " + familyNames[n/7%len(familyNames)],
						fmt.Sprintf("patient%d@example.com", n),
						fmt.Sprintf("+49 40 555 %04d", n), fmt.Sprintf("%d-%02d-%02d", 1940+n%70, 1+n%12, 1+n%28),
						patientNotes[n%len(patientNotes)]})
					takes = (takes + 14) / 15 * 15
					at, open, booked = at+takes, open+takes, booked+takes
				}
			}
		}
	}
	w.Flush()
	return b.String(), w.Error()
}

// busy is a part of a day, in minutes since midnight.
type busy struct{ from, to int }

// visitsOf returns the times of a specialist that the demo's visits take on a date. A group session counts once.
func visitsOf(visits []visit, f clinic.File, specialistID string, date time.Time) (all []busy) {
	for _, v := range visits {
		start := v.start.In(date.Location())
		if v.specialistID != specialistID || store.DateOf(start) != store.DateOf(date) {
			continue
		}
		for _, t := range f.AppointmentTypes {
			from := start.Hour()*60 + start.Minute()
			if b := (busy{from - t.BufferBeforeMinutes, from + t.DurationMinutes +
				t.BufferAfterMinutes}); t.ID == v.typeID && !slices.Contains(all, b) {
				all = append(all, b)
			}
		}
	}
	return all
}

// busyUntil returns the latest end of the times that overlap a part of a day, or 0.
func busyUntil(all []busy, from, to int) (until int) {
	for _, b := range all {
		if b.from < to && from < b.to {
			until = max(until, b.to)
		}
	}
	return until
}

// attendanceAt returns the attendance that the desk has recorded for a visit by now.
func attendanceAt(now, start, end time.Time, n int) store.Attendance {
	switch {
	case !now.Before(end) && n%13 == 0:
		return store.NoShow
	case !now.Before(end):
		return store.Completed
	case !now.Before(start):
		return store.InProgress
	case now.Add(20*time.Minute).After(start) && n%2 == 0:
		return store.Arrived
	}
	return store.Expected
}

// fill imports the visits of the filled days. It leaves out visits that overlap those of day.go.
func (d Data) fill(ctx context.Context, now time.Time, f clinic.File) error {
	sheet, err := sheetOf(now, f)
	if err != nil {
		return err
	}
	if _, err := d.Engine.Sheet.Import(ctx, sheet, true, d.Actor, nil); err != nil {
		return fmt.Errorf("failed to create the demo's appointments: %w", err)
	}
	return nil
}
