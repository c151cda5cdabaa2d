package downtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MaxRows is the maximum number of rows in one check.
const MaxRows = 200

// farthest is the longest allowed time between the first and the last row of one check.
const farthest = 60 * 24 * time.Hour

// Written is one row of a paper list.
type Written struct {
	AppointmentTypeID, SpecialistID string
	Start                           time.Time
}

// Outcome is the result of checking a row.
type Outcome string

const (
	IsFree   Outcome = "free"
	IsClosed Outcome = "closed"  // outside the hours or in a block; the desk can book it anyway
	IsTaken  Outcome = "taken"   // the desk can book it only by overbooking
	IsHeld   Outcome = "held"    // another client is booking this time online
	IsWrong  Outcome = "refused" // it cannot be booked at all
)

// Verdict is the result for one row.
type Verdict struct {
	Outcome      Outcome
	Reason       string              // set with closed, taken and refused: a code for programs
	Row          int                 // with taken: the number of the conflicting earlier row, from 1; 0 means none
	Appointments []store.Appointment // with taken: the booked appointments that conflict
}

// Check reports for each row whether it can be booked, and the reason if it cannot. A start in the past is allowed,
// because the appointments on a paper list are usually over. Errors: *ValidationError.
func (k *Kits) Check(ctx context.Context, rows []Written) ([]Verdict, error) {
	if len(rows) == 0 || len(rows) > MaxRows {
		return nil, record.Invalid("rows", "must be 1 to %d", MaxRows)
	}
	s := k.clinic.Current()
	c := checking{kits: k, rows: make(map[string]int)}
	verdicts := make([]Verdict, len(rows))
	q := booking.Question{Schedule: s, Rules: booking.Rules{Rules: availability.Rules{IgnoreHours: true}}}
	var first, last time.Time
	for i, r := range rows {
		if verdicts[i] = wrong(s, r); verdicts[i].Outcome == IsWrong {
			continue
		}
		q.Specialists, q.Types = append(q.Specialists, r.SpecialistID), append(q.Types, s.Types[r.AppointmentTypeID])
		if first.IsZero() || r.Start.Before(first) {
			first = r.Start
		}
		if r.Start.After(last) {
			last = r.Start
		}
	}
	if len(q.Types) == 0 {
		return verdicts, nil
	}
	if last.Sub(first) > farthest {
		return nil, record.Invalid("rows", "must be at most %d days apart", farthest/(24*time.Hour))
	}
	q.From, q.To = first, last
	var err error
	if c.snapshot, err = k.booking.Snapshot(ctx, q); err != nil {
		return nil, err
	}
	for i, r := range rows {
		if verdicts[i].Outcome == IsWrong {
			continue
		}
		if verdicts[i], err = c.row(ctx, i+1, r); err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// wrong returns a Verdict of IsWrong with the reason if a row cannot be booked at all, and the zero Verdict otherwise.
func wrong(s *clinic.Schedule, r Written) Verdict {
	t, p := s.Types[r.AppointmentTypeID], s.SpecialistByID[r.SpecialistID]
	switch {
	case t == nil:
		return Verdict{Outcome: IsWrong, Reason: "unknown_type"}
	case p == nil || p.Kind != store.PersonKind:
		return Verdict{Outcome: IsWrong, Reason: "unknown_specialist"}
	case !t.IsServedBy(p.ID):
		return Verdict{Outcome: IsWrong, Reason: "not_served"}
	case !t.Active || !p.Active || s.Calendars[p.ID] == nil:
		return Verdict{Outcome: IsWrong, Reason: string(availability.ReasonInactive)}
	case r.Start.Year() < 2000 || r.Start.Year() > 2200:
		return Verdict{Outcome: IsWrong, Reason: "no_time"}
	}
	return Verdict{}
}

// checking is the state of one Check call.
type checking struct {
	kits     *Kits
	snapshot *booking.Snapshot
	rows     map[string]int // the numbers of the earlier rows that were found free, by their ids in the snapshot
}

func (c *checking) row(ctx context.Context, number int, r Written) (Verdict, error) {
	t := c.snapshot.Schedule.Types[r.AppointmentTypeID]
	o, refusal := c.snapshot.Offer(t, r.SpecialistID, r.Start)
	span := availability.SpanOf(t, r.SpecialistID, r.Start)
	switch refusal.Reason {
	case "":
		span.Seat = o.Seats[0]
	case availability.ReasonHeld: // this patient was written down first, so later rows cannot have the time
	case availability.ReasonTaken:
		return c.inTheWay(ctx, &span)
	default:
		return Verdict{Outcome: IsWrong, Reason: string(refusal.Reason)}, nil
	}
	id := fmt.Sprintf("row %d", number)
	c.rows[id] = number
	c.snapshot.Occupy(store.Taken{
		AppointmentID: id, AppointmentTypeID: t.ID, SpecialistID: r.SpecialistID, Seat: span.Seat,
		SlotStart: span.SlotStart, SlotEnd: span.SlotEnd, BusyStart: span.BusyStart, BusyEnd: span.BusyEnd,
	})
	// The start time does not have to be on the listing's grid: the appointment has already begun at that time.
	why := c.snapshot.Hours(t, r.SpecialistID, r.Start)
	switch {
	case refusal.Reason == availability.ReasonHeld:
		return Verdict{Outcome: IsHeld}, nil
	case why == availability.ReasonOutsideHours || why == availability.ReasonOverrideClosed:
		return Verdict{Outcome: IsClosed, Reason: string(why)}, nil
	}
	return Verdict{Outcome: IsFree}, nil
}

// inTheWay returns what a row conflicts with: an earlier row, and booked appointments. If it conflicts with neither, a
// room is missing.
func (c *checking) inTheWay(ctx context.Context, span *holds.Span) (Verdict, error) {
	v := Verdict{Outcome: IsTaken, Reason: "overlap"}
	list := c.snapshot.InTheWay(span)
	if len(list) == 0 {
		return Verdict{Outcome: IsTaken, Reason: "room"}, nil
	}
	for i := range list {
		if row, isRow := c.rows[list[i].AppointmentID]; isRow {
			if v.Row == 0 || row < v.Row {
				v.Row = row
			}
			continue
		}
		a, err := c.kits.store.Appointment(ctx, list[i].AppointmentID)
		if errors.Is(err, store.ErrNotFound) { // the practice-management system refused this time
			continue
		}
		if err != nil {
			return v, err
		}
		v.Appointments = append(v.Appointments, a)
	}
	return v, nil
}
