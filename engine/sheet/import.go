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

// RefusedError reports that nothing was written, because the caller requested all rows or none and some rows cannot be
// imported.
type RefusedError struct{ File *File }

func (e *RefusedError) Error() string {
	return strconv.Itoa(e.File.Count(Refused)) + " rows cannot be imported"
}

// Plan returns what an import of a CSV file would do, row by row. It does not write anything. It returns
// *ValidationError if the text is not a valid file.
func (sh *Sheets) Plan(ctx context.Context, text string) (*File, error) {
	f, at, err := read(text)
	if err != nil {
		return nil, err
	}
	live, err := sh.booking.Holds(ctx)
	if err != nil {
		return nil, err
	}
	_, err = sh.plan(ctx, f, sh.store, at, live, time.Now())
	return f, err
}

// Import books the rows of a CSV file in one transaction: all of them, or only the valid ones. Existing appointments do
// not change. The result contains the outcome of every row.
//
// Errors: *ValidationError, *RefusedError, store.ErrDuplicate (the idempotency key has been used in the meantime), and
// the storage errors.
func (sh *Sheets) Import(ctx context.Context, text string, onlyGood bool, actor record.Actor,
	once *record.Once) (*File, error) {
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
		again := *parsed // the transaction may run more than once
		again.Rows, calls = slices.Clone(parsed.Rows), nil
		f = &again
		s, err := sh.plan(ctx, f, tx, at, live, now)
		if err != nil {
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
		counts := map[string]int{"booked": f.Count(Book), "there": f.Count(There), "refused": f.Count(Refused),
			"skipped": f.Count(Skipped)}
		if err := record.Audit(ctx, tx, now, actor, record.ActionAppointmentsImported, "appointments", "", nil,
			counts); err != nil {
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
func (sh *Sheets) insert(ctx context.Context, tx store.Tx, s *clinic.Schedule, r *Row, actor record.Actor,
	now time.Time) ([]booking.Promise, error) {
	t := s.Types[r.AppointmentTypeID]
	span := availability.SpanOf(t, r.SpecialistID, r.Start)
	taken, err := tx.Taken(ctx, []string{r.SpecialistID}, span.BusyStart.Add(-availability.MaxBuffer),
		span.BusyEnd.Add(availability.MaxBuffer))
	if err != nil {
		return nil, err
	}
	seats := availability.FreeSeats(t, span, taken)
	if len(seats) == 0 {
		return nil, store.ErrSlotTaken // unexpected: plan found it free in the same transaction
	}
	span.Seat = seats[0]
	if slices.Contains(seats, r.seat) {
		span.Seat = r.seat // the seat that no client holds
	}
	a := booking.NewAppointment(&booking.Request{Patient: r.Patient, Intake: r.intake, Source: store.SourceStaff}, span)
	a.ID, a.Attendance, a.Place, a.CreatedAt, a.UpdatedAt = r.AppointmentID, r.attendance,
		s.PlaceAt(r.SpecialistID, r.Start), now, now
	if err := tx.InsertAppointment(ctx, a); err != nil {
		return nil, err
	}
	c := booking.Change{Kind: booking.ChangeCreated, After: &a, Actor: actor, Reason: "import", Import: true, At: now}
	err = sh.booking.Record(ctx, tx, &c)
	return c.Calls, err
}

// plan decides on every row, based on the stored data and the rows above it. It returns the schedule that it used.
func (sh *Sheets) plan(ctx context.Context, f *File, r store.Reader, at []int, live []holds.Hold,
	now time.Time) (*clinic.Schedule, error) {
	s := sh.clinic.Current()
	q := booking.Question{Schedule: s, Rules: booking.Rules{Rules: availability.Rules{IgnoreHours: true}}, Reader: r,
		Held: live}
	for i := range f.Rows {
		row := &f.Rows[i]
		row.parse(s, at, f.separator, now, sh.booking.Keys().Name)
		if row.Start.IsZero() {
			continue
		}
		if q.From.IsZero() || row.Start.Before(q.From) {
			q.From = row.Start
		}
		if row.Start.After(q.To) {
			q.To = row.Start
		}
		if t := s.Types[row.AppointmentTypeID]; t != nil {
			q.Types = append(q.Types, t)
		}
		if row.SpecialistID != "" {
			q.Specialists = append(q.Specialists, row.SpecialistID)
		}
	}
	sn, err := sh.booking.Snapshot(ctx, q)
	if err != nil {
		return nil, err
	}
	planned := make(map[string]int) // the lines that occupy time, by appointment id
	lines := make(map[string]int)   // by appointment id
	for i := range f.Rows {
		row := &f.Rows[i]
		if row.Outcome == Refused && !row.named {
			continue
		}
		// A patient can book a time again after a cancellation. Without ids, both rows get the same id.
		if row.named || row.Outcome != Skipped {
			if line := lines[row.AppointmentID]; line > 0 {
				row.refuse("", "twice", strconv.Itoa(line), "is the same appointment as line "+strconv.Itoa(line))
				continue
			}
			lines[row.AppointmentID] = row.Line
		}
		switch _, err := r.Appointment(ctx, row.AppointmentID); {
		case err == nil:
			row.Outcome, row.Problems = There, nil // the stored appointment counts, whatever the file contains
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		case row.Outcome == Book:
			row.place(sn, planned, now)
		}
	}
	return s, nil
}

// place finds a free seat for a row, or refuses the row with the reason.
func (r *Row) place(sn *booking.Snapshot, planned map[string]int, now time.Time) {
	t := sn.Schedule.Types[r.AppointmentTypeID]
	why := sn.Hours(t, r.SpecialistID, r.Start)
	if future := r.Start.After(now); future && why == availability.ReasonInactive {
		r.refuse("specialist", "inactive", "", "the appointment type or the specialist is deactivated")
		return
	} else if future && len(t.Needs) > 0 {
		r.refuse("appointmentTypeId", "no_room", "",
			"needs a room or a device, which a spreadsheet cannot name: book it at the desk")
		return
	} else if future {
		if why == availability.ReasonOutsideHours || why == availability.ReasonOverrideClosed {
			r.Warnings = append(r.Warnings, Problem{"start", string(why), "", "is outside the opening hours"})
		}
	} else {
		r.Warnings = append(r.Warnings, Problem{"start", "past", "", "is in the past"})
	}
	kind := *t
	kind.Needs = nil // an appointment in the past is imported without its rooms
	o, refusal := sn.Offer(&kind, r.SpecialistID, r.Start)
	switch refusal.Reason {
	case "":
	case availability.ReasonHeld:
		r.refuse("start", "held", "", "another client is booking this time online")
		return
	case availability.ReasonTaken:
		span := availability.SpanOf(t, r.SpecialistID, r.Start)
		r.obstacle(sn, t, &span, planned)
		return
	default:
		r.refuse("specialist", string(refusal.Reason), "", "cannot take this appointment type")
		return
	}
	r.seat = o.Seats[0]
	planned[r.AppointmentID] = r.Line
	sn.Occupy(store.Taken{
		AppointmentID: r.AppointmentID, AppointmentTypeID: t.ID, SpecialistID: r.SpecialistID, Seat: r.seat,
		SlotStart: o.Span.SlotStart, SlotEnd: o.Span.SlotEnd, BusyStart: o.Span.BusyStart, BusyEnd: o.Span.BusyEnd,
	})
}

// obstacle refuses a row and names the conflicting appointment or time. If the type is a group and only the other
// people of the same session conflict, the session is full.
func (r *Row) obstacle(sn *booking.Snapshot, t *store.AppointmentType, span *holds.Span, planned map[string]int) {
	zone := sn.Schedule.Zone
	if c := sn.Schedule.Calendars[r.SpecialistID]; c != nil {
		zone = c.Zone()
	}
	for _, x := range sn.InTheWay(span) {
		o := availability.TakenSpan(&x)
		if t.Capacity > 1 && span.SameGroup(&o) {
			continue
		}
		when := o.SlotStart.In(zone).Format("15:04") + "–" + o.SlotEnd.In(zone).Format("15:04")
		if line := planned[x.AppointmentID]; line > 0 {
			r.refuse("start", "overlap_line", strconv.Itoa(line), "overlaps line "+strconv.Itoa(line)+", "+when)
		} else {
			r.refuse("start", "overlap", when, "overlaps an appointment of this specialist at "+when)
		}
		return
	}
	r.refuse("start", "full", "", "every seat of this group is booked")
}

// RefusedCSV returns a CSV file of the refused rows, with the problems in front of the original cells. The file can be
// corrected and imported. The separator of its columns is a comma or a semicolon.
func (f *File) RefusedCSV(separator rune) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = separator
	_ = w.Write(append([]string{"line", "problem"}, f.header...)) // in memory, so it cannot fail
	for i := range f.Rows {
		r := &f.Rows[i]
		if r.Outcome != Refused {
			continue
		}
		said := make([]string, len(r.Problems))
		for j, p := range r.Problems {
			said[j] = strings.TrimSpace(p.Column + " " + p.Message)
		}
		cells := []string{strconv.Itoa(r.Line), Guarded(strings.Join(said, "; "), separator)}
		for _, c := range r.cells {
			cells = append(cells, Guarded(plain(c, f.separator), separator))
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return b.String()
}
