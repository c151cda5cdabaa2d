package sheet

import (
	"context"
	"encoding/csv"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// RefusedError: some rows cannot be imported, and all were asked for. Nothing was written.
type RefusedError struct{ File *File }

func (e *RefusedError) Error() string {
	return strconv.Itoa(e.File.Count(Refused)) + " rows cannot be imported"
}

// Plan says what an import of a CSV file would do, row by row. Nothing is written. *ValidationError where it is no such file.
func (sh *Sheets) Plan(ctx context.Context, text string) (*File, error) {
	f, at, err := read(text)
	if err != nil {
		return nil, err
	}
	live, err := sh.booking.Holds(ctx)
	if err != nil {
		return nil, err
	}
	return f, f.plan(ctx, sh.store, sh.clinic.Current(), at, live, time.Now(), sh.booking.Keys().Name)
}

// Import books the rows of a CSV file in one transaction: all of them, or those that are good. What is there already stays as
// it is. The result says what became of every row.
//
// Errors: *ValidationError, *RefusedError, store.ErrDuplicate (the idempotency key was used meanwhile), and the storage errors.
func (sh *Sheets) Import(ctx context.Context, text string, onlyGood bool, actor record.Actor, once *record.Once) (*File, error) {
	parsed, at, err := read(text)
	if err != nil {
		return nil, err
	}
	live, err := sh.booking.Holds(ctx)
	if err != nil {
		return nil, err
	}
	var f *File
	var calls []booking.Promise
	now := time.Now().UTC().Truncate(time.Millisecond)
	err = sh.store.Write(ctx, func(tx store.Tx) error {
		again := *parsed // it may run more than once
		again.Rows, calls = slices.Clone(parsed.Rows), nil
		f = &again
		s := sh.clinic.Current()
		if err := f.plan(ctx, tx, s, at, live, now, sh.booking.Keys().Name); err != nil {
			return err
		}
		if !onlyGood && f.Count(Refused) > 0 {
			return &RefusedError{f}
		}
		for i := range f.Rows {
			r := &f.Rows[i]
			if r.Outcome != Book {
				continue
			}
			more, err := sh.insert(ctx, tx, s, r, actor, now)
			if err != nil {
				return err
			}
			calls = append(calls, more...)
		}
		counts := map[string]int{"booked": f.Count(Book), "there": f.Count(There), "refused": f.Count(Refused), "skipped": f.Count(Skipped)}
		if err := record.Audit(ctx, tx, now, actor, "appointments.imported", "appointments", "", nil, counts); err != nil {
			return err
		}
		return once.Remember(ctx, tx, f, now)
	})
	if err != nil {
		return nil, err
	}
	sh.booking.Enqueue(calls...)
	return f, nil
}

// insert writes the appointment of a row.
func (sh *Sheets) insert(ctx context.Context, tx store.Tx, s *clinic.Schedule, r *Row, actor record.Actor, now time.Time) ([]booking.Promise, error) {
	t := s.Types[r.AppointmentTypeID]
	span := availability.SpanOf(t, r.SpecialistID, r.Start)
	taken, err := tx.Taken(ctx, []string{r.SpecialistID}, span.BusyStart.Add(-availability.MaxBuffer), span.BusyEnd.Add(availability.MaxBuffer))
	if err != nil {
		return nil, err
	}
	seats := availability.FreeSeats(t, span, taken)
	if len(seats) == 0 {
		return nil, store.ErrSlotTaken // the plan found it free in this very transaction
	}
	span.Seat = seats[0]
	if slices.Contains(seats, r.seat) {
		span.Seat = r.seat // the one that nobody holds
	}
	a := booking.NewAppointment(&booking.Request{Patient: r.Patient, Intake: r.intake, Source: store.SourceStaff}, span)
	a.ID, a.Attendance, a.Place, a.CreatedAt, a.UpdatedAt = r.AppointmentID, r.attendance, s.PlaceAt(r.SpecialistID, r.Start), now, now
	if err := tx.InsertAppointment(ctx, a); err != nil {
		return nil, err
	}
	c := booking.Change{Kind: booking.ChangeCreated, After: &a, Actor: actor, Reason: "import", Silent: true, At: now}
	err = sh.booking.Record(ctx, tx, &c)
	return c.Calls, err
}

// plan decides about every row, with what is stored and what the rows above take.
func (f *File) plan(ctx context.Context, r store.Reader, s *clinic.Schedule, at []int, live []holds.Hold, now time.Time, name func(string) string) error {
	var ids []string
	var first, last time.Time
	for i := range f.Rows {
		row := &f.Rows[i]
		row.parse(s, at, now, name)
		if row.Start.IsZero() {
			continue
		}
		if first.IsZero() || row.Start.Before(first) {
			first = row.Start
		}
		if row.Start.After(last) {
			last = row.Start
		}
		if row.SpecialistID != "" && !slices.Contains(ids, row.SpecialistID) {
			ids = append(ids, row.SpecialistID)
		}
	}
	taken := make(map[string][]planned)
	if len(ids) > 0 {
		slices.Sort(ids)
		all, err := r.Taken(ctx, ids, first.Add(-availability.MaxBuffer), last.Add(2*availability.MaxBuffer))
		if err != nil {
			return err
		}
		for _, x := range all {
			taken[x.SpecialistID] = append(taken[x.SpecialistID], planned{x, 0})
		}
	}
	lines := make(map[string]int) // by appointment id
	for i := range f.Rows {
		row := &f.Rows[i]
		if row.Outcome == Refused && !row.named {
			continue
		}
		if line := lines[row.AppointmentID]; line > 0 {
			row.refuse("", "twice", strconv.Itoa(line), "is the same appointment as line "+strconv.Itoa(line))
			continue
		}
		lines[row.AppointmentID] = row.Line
		switch _, err := r.Appointment(ctx, row.AppointmentID); {
		case err == nil:
			row.Outcome, row.Problems = There, nil // whatever the file says of it by now
		case !errors.Is(err, store.ErrNotFound):
			return err
		case row.Outcome == Book:
			row.place(s, taken, live, now)
		}
	}
	return nil
}

// planned is what takes time: an appointment that is stored, or a line of this file.
type planned struct {
	store.Taken
	line int
}

// place finds a free seat for a row, or says what is in its way.
func (r *Row) place(s *clinic.Schedule, taken map[string][]planned, live []holds.Hold, now time.Time) {
	t := s.Types[r.AppointmentTypeID]
	span := availability.SpanOf(t, r.SpecialistID, r.Start)
	calendar := s.Calendars[r.SpecialistID]
	if future := r.Start.After(now); future && (!t.Active || calendar == nil || !s.SpecialistByID[r.SpecialistID].Active) {
		r.refuse("specialist", "inactive", "", "the appointment type or the specialist is switched off")
		return
	} else if future && len(t.Needs) > 0 {
		r.refuse("appointmentTypeId", "no_room", "", "takes a room or a device, which no spreadsheet names: book it at the desk")
		return
	} else if future {
		if why := calendar.Bookable(booking.WithoutNotice(t), r.Start, nil, now); why == availability.ReasonOutsideHours || why == availability.ReasonOverrideClosed {
			r.Warnings = append(r.Warnings, Problem{"start", string(why), "", "is outside the opening hours"})
		}
	} else {
		r.Warnings = append(r.Warnings, Problem{"start", "past", "", "is in the past"})
	}
	theirs := taken[r.SpecialistID]
	all := make([]store.Taken, len(theirs))
	for i := range theirs {
		all[i] = theirs[i].Taken
	}
	seats := availability.FreeSeats(t, span, all)
	if len(seats) == 0 {
		r.obstacle(s, &span, theirs)
		return
	}
	seats = slices.DeleteFunc(seats, func(seat int) bool {
		span.Seat = seat
		return slices.ContainsFunc(live, func(h holds.Hold) bool {
			return h.SpecialistID == span.SpecialistID && (h.Conflicts(&span) && !h.SameGroup(&span) || h.SameGroup(&span) && h.Seat == seat)
		})
	})
	if len(seats) == 0 {
		r.refuse("start", "held", "", "somebody is booking this time online at the moment")
		return
	}
	span.Seat = seats[0]
	r.seat = span.Seat
	taken[r.SpecialistID] = append(theirs, planned{store.Taken{
		AppointmentID: r.AppointmentID, AppointmentTypeID: t.ID, SpecialistID: r.SpecialistID, Seat: span.Seat,
		SlotStart: span.SlotStart, SlotEnd: span.SlotEnd, BusyStart: span.BusyStart, BusyEnd: span.BusyEnd,
	}, r.Line})
}

// obstacle names what is in the way of a row.
func (r *Row) obstacle(s *clinic.Schedule, span *holds.Span, theirs []planned) {
	zone := s.Zone
	if c := s.Calendars[r.SpecialistID]; c != nil {
		zone = c.Zone()
	}
	for i := range theirs {
		o := availability.TakenSpan(&theirs[i].Taken)
		if span.SameGroup(&o) || !span.Conflicts(&o) {
			continue
		}
		when := o.SlotStart.In(zone).Format("15:04") + "–" + o.SlotEnd.In(zone).Format("15:04")
		if line := theirs[i].line; line > 0 {
			r.refuse("start", "overlap_line", strconv.Itoa(line), "overlaps line "+strconv.Itoa(line)+", "+when)
		} else {
			r.refuse("start", "overlap", when, "overlaps an appointment of this specialist at "+when)
		}
		return
	}
	r.refuse("start", "full", "", "every place of this group is booked")
}

// RefusedCSV is a file of the rows that cannot be imported, as they were sent, with what is wrong in front. It can be mended and sent.
func (f *File) RefusedCSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(append([]string{"line", "problem"}, f.header...)) // to memory
	for i := range f.Rows {
		r := &f.Rows[i]
		if r.Outcome != Refused {
			continue
		}
		said := make([]string, len(r.Problems))
		for j, p := range r.Problems {
			said[j] = strings.TrimSpace(p.Column + " " + p.Message)
		}
		cells := []string{strconv.Itoa(r.Line), Guarded(strings.Join(said, "; "))}
		for _, c := range r.cells {
			cells = append(cells, Guarded(plain(c)))
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return b.String()
}
