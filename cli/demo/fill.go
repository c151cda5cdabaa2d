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
		types := singleTypesOf(p.ID, f)
		if len(types) == 0 {
			continue
		}
		year, month, today := now.In(zone).Date()
		for n := -1; n < filledDays-1; n++ {
			date := time.Date(year, month, today+n, 0, 0, 0, 0, zone)
			d := filledDay{now: now, date: date, isToday: n == 0, specialistID: p.ID, types: types,
				visited: visitsOf(visits, f, p.ID, date), dice: rand.New(rand.NewPCG(uint64(date.Unix()), uint64(i)))}
			for _, v := range d.visited {
				d.booked += v.to - v.from
			}
			for _, h := range p.WeeklyHours {
				if h.Weekday == store.Weekday(date.Weekday()) {
					d.fill(w, int(h.Start), int(h.End))
				}
			}
		}
	}
	w.Flush()
	return b.String(), w.Error()
}

// singleTypesOf returns the types of a specialist that are for one patient at a time.
func singleTypesOf(specialistID string, f clinic.File) (types []clinic.AppointmentTypeEntry) {
	for _, t := range f.AppointmentTypes {
		for _, a := range t.Specialists {
			if a.SpecialistID == specialistID && t.Capacity <= 1 {
				types = append(types, t)
			}
		}
	}
	return types
}

// filledDay is one day of one specialist, which is filled with visits from its start to its end.
type filledDay struct {
	now, date    time.Time // date is the local midnight
	isToday      bool
	specialistID string
	types        []clinic.AppointmentTypeEntry
	visited      []busy // the visits of day.go
	dice         *rand.Rand
	open, booked int // minutes so far
}

// fill writes the visits of one period of opening hours, in minutes since midnight.
func (d *filledDay) fill(w *csv.Writer, from, to int) {
	for at := from; at < to; {
		if until := busyUntil(d.visited, at, at+15); until > at {
			at, d.open = until, d.open+until-at
			continue
		}
		row, takes := d.visitAt(at, to)
		if row == nil {
			takes = 15 // they stay free
		} else {
			_ = w.Write(row)
			d.booked += takes
		}
		at, d.open = at+takes, d.open+takes
	}
}

// visitAt returns the row of a visit that begins at a minute, and the minutes that it takes. The row is nil if this
// time stays free.
func (d *filledDay) visitAt(at, to int) (row []string, takes int) {
	instant := d.instant(at)
	if d.specialistID == raceHost && !instant.Before(d.now.Add(-15*time.Minute)) &&
		instant.Before(d.now.Add(raceRoom)) {
		return nil, 0
	}
	t := d.types[d.dice.IntN(len(d.types))]
	takes = t.BufferBeforeMinutes + t.DurationMinutes + t.BufferAfterMinutes
	most, quiet := fullPercent+d.dice.IntN(9)-4, quietPercent
	if d.isToday && instant.Before(d.now) {
		most, quiet = pastPercent, 0 // then the rest of today has free slots for the demo's users
	}
	full := d.open > 0 && d.booked*100 >= d.open*most
	if full || at+takes > to || busyUntil(d.visited, at, at+takes) > at || d.dice.IntN(100) < quiet && d.booked > 0 {
		return nil, 0
	}
	start := d.instant(at + t.BufferBeforeMinutes)
	end := start.Add(time.Duration(t.DurationMinutes) * time.Minute)
	n := d.dice.IntN(1000)
	return []string{t.ID, d.specialistID, start.Format(time.RFC3339), string(attendanceAt(d.now, start, end, n)),
			givenNames[n%len(givenNames)] + " " + familyNames[n/7%len(familyNames)],
			fmt.Sprintf("patient%d@example.com", n), fmt.Sprintf("+49 40 555 %04d", n),
			fmt.Sprintf("%d-%02d-%02d", 1940+n%70, 1+n%12, 1+n%28), patientNotes[n%len(patientNotes)]},
		(takes + 14) / 15 * 15
}

// instant returns the instant of a minute of the day.
func (d *filledDay) instant(minute int) time.Time {
	year, month, day := d.date.Date()
	return time.Date(year, month, day, 0, minute, 0, 0, d.date.Location())
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
