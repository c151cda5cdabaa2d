// Package downtime helps the desk when the server is unreachable: it provides a plan that the desk prints beforehand,
// and checks the paper bookings that the desk enters afterwards.
//
// # The plan
//
// A Kit is the plan that a receptionist needs on paper. For each specialist and day, it lists the patients with time,
// type, place, phone number and notes. Free time between appointments appears as empty lines to write on. The Kit is
// read once and shows the state at that moment. The server does not store it, but records in the audit log that a user
// fetched it.
//
// # Paper bookings
//
// For each row of such a list, Check returns the reasons why it cannot be booked, including conflicts with the rows
// above it. Check does not write anything. The desk then books each row separately, like any other appointment, under
// the same double-booking guarantee.
package downtime

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MaxDays is the maximum number of days in one kit. leastFree is the shortest free time that gets a line. mostFree is
// the longest free time per line, so that a free morning has several lines to write on.
const (
	MaxDays   = 14
	leastFree = 5 * time.Minute
	mostFree  = time.Hour
)

// Kits creates kits and checks paper bookings. It is safe for concurrent use.
type Kits struct {
	store   store.Store
	holds   holds.Backend
	clinic  *clinic.Clinic
	booking *booking.Booking
	log     *slog.Logger
}

// New returns a Kits.
func New(s store.Store, h holds.Backend, c *clinic.Clinic, b *booking.Booking, log *slog.Logger) *Kits {
	return &Kits{s, h, c, b, log}
}

// Request selects the days and the specialists of a plan.
type Request struct {
	From         store.Date
	Days         int    // 1 to MaxDays
	SpecialistID string // empty means all specialists
	Actor        record.Actor
}

// Kit is the plan for consecutive days, as it was at MadeAt.
type Kit struct {
	MadeAt   time.Time
	Clinic   string
	From, To store.Date // From is the first day; To is the day after the last one
	Sheets   []Sheet    // sorted by date, then in the order of the specialists
}

// Sheet is one specialist's day: one page of paper. A day with neither working hours nor appointments has no sheet.
type Sheet struct {
	Date         store.Date
	SpecialistID string
	Specialist   string
	Zone         *time.Location
	Hours        []store.Window
	Rows         []Row // sorted by start
}

// Kind is the kind of a row.
type Kind string

const (
	Booked  Kind = "booked"
	Free    Kind = "free"
	Blocked Kind = "blocked"
)

// Row is one line of a sheet.
type Row struct {
	Kind        Kind
	Start, End  time.Time
	Appointment *store.Appointment // nil unless the row is booked
	Type        string             // the name of the appointment type
	Rooms       string             // the names of the rooms and devices that the appointment uses
	Place       string             // the name of the clinic's location
	Reason      string             // the reason for a block
}

// Kit reads the plan. Errors: *ValidationError, store.ErrNotFound for the specialist, and the storage errors.
func (k *Kits) Kit(ctx context.Context, r Request) (*Kit, error) {
	s := k.clinic.Current()
	if r.Days < 1 || r.Days > MaxDays {
		return nil, record.Invalid("days", "must be 1 to %d", MaxDays)
	}
	// An archived specialist can still have confirmed appointments.
	if p := s.SpecialistOf(r.SpecialistID); r.SpecialistID != "" && (p == nil || p.Kind == store.ResourceKind) {
		return nil, store.ErrNotFound
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	kit := &Kit{MadeAt: now, Clinic: s.Clinic.Name, From: r.From, To: r.From.AddDays(r.Days)}
	booked, err := k.confirmed(ctx, s, kit, r.SpecialistID)
	if err != nil {
		return nil, err
	}
	var people []*store.Specialist
	for i := range s.Specialists {
		if p := &s.Specialists[i]; p.Kind == store.PersonKind && (r.SpecialistID == "" || p.ID == r.SpecialistID) {
			people = append(people, p)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(booked)) {
		if s.SpecialistByID[id] == nil { // the specialist is archived, but still has confirmed appointments
			name, _ := s.Who(id)
			people = append(people, &store.Specialist{ID: id, Name: cmp.Or(name, id)})
		}
	}
	count := 0
	for date := kit.From; date != kit.To; date = date.AddDays(1) {
		for _, p := range people {
			sheet := sheetOf(s, p, date, booked[p.ID])
			if len(sheet.Rows) > 0 {
				kit.Sheets = append(kit.Sheets, sheet)
			}
			for j := range sheet.Rows {
				if sheet.Rows[j].Kind == Booked {
					count++
				}
			}
		}
	}
	said := map[string]any{"from": kit.From.String(), "to": kit.To.String(), "appointments": count}
	err = k.store.Write(ctx, func(tx store.Tx) error {
		return record.Audit(ctx, tx, now, r.Actor, record.ActionAppointmentsDowntimeKit, "appointments", r.SpecialistID,
			nil, said)
	})
	if errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOverloaded) {
		// The plan is needed most when nothing can be written, so a failed audit entry does not prevent it.
		k.log.Error("downtime plan delivered without an audit entry", "actor", r.Actor, "appointments", count, "error",
			err)
		err = nil
	}
	return kit, err
}

// confirmed reads the confirmed appointments on the days of a kit, by specialist and start. The range is extended at
// both ends, because a specialist's zone can differ from the clinic's.
func (k *Kits) confirmed(ctx context.Context, s *clinic.Schedule, kit *Kit,
	specialistID string) (map[string][]store.Appointment, error) {
	const zones = 26 * time.Hour // the time from the first midnight on earth to the last
	f := store.AppointmentFilter{
		From: availability.StartOfDay(s.Zone, kit.From).Add(-zones),
		To:   availability.StartOfDay(s.Zone, kit.To).Add(zones), SpecialistID: specialistID, Status: store.Confirmed,
		Limit: 500,
	}
	all := make(map[string][]store.Appointment)
	for {
		list, next, err := k.store.Appointments(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range list {
			all[list[i].SpecialistID] = append(all[list[i].SpecialistID], list[i])
		}
		if f.Cursor = next; next == "" {
			return all, nil
		}
	}
}

// stretch is a part of a day, [start, end).
type stretch struct{ start, end time.Time }

// sheetOf returns one specialist's day: the appointments, the blocks, and the remaining opening time.
func sheetOf(s *clinic.Schedule, p *store.Specialist, date store.Date, booked []store.Appointment) Sheet {
	_, zone := s.Who(p.ID)
	x := Sheet{Date: date, SpecialistID: p.ID, Specialist: p.Name, Zone: zone}
	first, last := availability.StartOfDay(zone, date), availability.StartOfDay(zone, date.AddDays(1))
	var busy []stretch
	for i := range booked {
		a := &booked[i]
		if a.SlotStart.Before(first) || !a.SlotStart.Before(last) {
			continue
		}
		busy = append(busy, stretch{a.SlotStart, a.SlotEnd})
		x.Rows = append(x.Rows, rowOf(s, a))
	}
	for _, b := range s.Blocks[p.ID] {
		if !b.Start.Before(last) || !first.Before(b.End) {
			continue
		}
		start, end := availability.Later(b.Start, first), availability.Earlier(b.End, last)
		busy = append(busy, stretch{start, end})
		x.Rows = append(x.Rows, Row{Kind: Blocked, Start: start, End: end, Reason: b.Reason})
	}
	if p.Active {
		x.Hours = s.WindowsOn(p.ID, date, date.Weekday())
	}
	sort.Slice(busy, func(i, j int) bool { return busy[i].start.Before(busy[j].start) })
	for _, w := range x.Hours {
		at, end := availability.WallTime(zone, date, w.Start), availability.WallTime(zone, date, w.End)
		free := func(until time.Time) {
			for from := at; until.Sub(from) >= leastFree; from = from.Add(mostFree) {
				row := Row{Kind: Free, Start: from, End: availability.Earlier(until, from.Add(mostFree))}
				if place := s.Place(w.Place); place != nil {
					row.Place = place.Name
				}
				x.Rows = append(x.Rows, row)
			}
		}
		for _, b := range busy {
			if b.start.Before(end) {
				free(availability.Earlier(b.start, end))
				at = availability.Later(at, b.end)
			}
		}
		free(end)
	}
	sort.SliceStable(x.Rows, func(i, j int) bool { return x.Rows[i].Start.Before(x.Rows[j].Start) })
	return x
}

func rowOf(s *clinic.Schedule, a *store.Appointment) Row {
	row := Row{Kind: Booked, Start: a.SlotStart, End: a.SlotEnd, Appointment: a}
	if t := s.TypeOf(a.AppointmentTypeID); t != nil {
		row.Type = t.Name
	}
	var rooms []string
	for _, id := range a.Resources {
		if name, _ := s.Who(id); name != "" {
			rooms = append(rooms, name)
		}
	}
	row.Rooms = strings.Join(rooms, ", ")
	if place := s.Place(a.Place); place != nil {
		row.Place = place.Name
	}
	return row
}
