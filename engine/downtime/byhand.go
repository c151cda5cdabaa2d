package downtime

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MaxRows is the most rows of one check.
const MaxRows = 200

// farthest is how far the rows of one question may be apart.
const farthest = 60 * 24 * time.Hour

// Written is one row that was written by hand.
type Written struct {
	AppointmentTypeID, SpecialistID string
	Start                           time.Time
}

// Outcome says what is in the way of a row.
type Outcome string

const (
	IsFree   Outcome = "free"
	IsClosed Outcome = "closed"  // outside the hours or in a block: it can be booked all the same
	IsTaken  Outcome = "taken"   // it can only be overbooked
	IsHeld   Outcome = "held"    // somebody is booking this time online
	IsWrong  Outcome = "refused" // it cannot be booked at all
)

// Verdict is what is said of one row.
type Verdict struct {
	Outcome      Outcome
	Reason       string              // of closed, taken and refused: a word for programs
	Row          int                 // with taken: the row above that is in the way, from 1; 0: none
	Appointments []store.Appointment // with taken: what is in the way
}

// Check says of each row what is in its way. The past is no obstacle: what was written by hand is usually over. *ValidationError.
func (k *Kits) Check(ctx context.Context, rows []Written) ([]Verdict, error) {
	if len(rows) == 0 || len(rows) > MaxRows {
		return nil, record.Invalid("rows", "must be 1 to %d", MaxRows)
	}
	s := k.clinic.Current()
	c := checking{kits: k, schedule: s, above: make(map[string][]above)}
	verdicts := make([]Verdict, len(rows))
	var ids []string
	var first, last time.Time
	for i, r := range rows {
		if verdicts[i] = wrong(s, r); verdicts[i].Outcome == IsWrong {
			continue
		}
		ids = append(append(ids, r.SpecialistID), availability.ResourcesOf(s.Types[r.AppointmentTypeID])...)
		if first.IsZero() || r.Start.Before(first) {
			first = r.Start
		}
		if r.Start.After(last) {
			last = r.Start
		}
	}
	if len(ids) == 0 {
		return verdicts, nil
	}
	if last.Sub(first) > farthest {
		return nil, record.Invalid("rows", "must be within %d days of each other: what is taken between them is read", farthest/(24*time.Hour))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var err error
	if c.taken, err = k.store.Taken(ctx, ids, first.Add(-availability.MaxBuffer), last.Add(2*availability.MaxBuffer)); err != nil {
		return nil, err
	}
	c.taken = k.booking.WithClosed(c.taken, ids)
	if c.held, err = k.holds.List(ctx, ids...); err != nil {
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

// wrong refuses what no press can book.
func wrong(s *clinic.Schedule, r Written) Verdict {
	t, p := s.Types[r.AppointmentTypeID], s.SpecialistByID[r.SpecialistID]
	switch {
	case t == nil:
		return Verdict{Outcome: IsWrong, Reason: "unknown_type"}
	case p == nil || p.Kind != store.PersonKind:
		return Verdict{Outcome: IsWrong, Reason: "unknown_specialist"}
	case !slices.ContainsFunc(t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == p.ID }):
		return Verdict{Outcome: IsWrong, Reason: "not_served"}
	case !t.Active || !p.Active || s.Calendars[p.ID] == nil:
		return Verdict{Outcome: IsWrong, Reason: string(availability.ReasonInactive)}
	case r.Start.Year() < 2000 || r.Start.Year() > 2200:
		return Verdict{Outcome: IsWrong, Reason: "no_time"}
	}
	return Verdict{}
}

// checking is one check on its way through the rows.
type checking struct {
	kits     *Kits
	schedule *clinic.Schedule
	taken    []store.Taken
	held     []holds.Hold
	above    map[string][]above // by specialist
}

// above is the time of a row that was found free.
type above struct {
	store.Taken
	row int
}

func (c *checking) row(ctx context.Context, number int, r Written) (Verdict, error) {
	t := c.schedule.Types[r.AppointmentTypeID]
	span := availability.SpanOf(t, r.SpecialistID, r.Start)
	theirs := availability.TakenBy(c.taken, r.SpecialistID)
	known := slices.Clone(theirs)
	for _, a := range c.above[r.SpecialistID] {
		known = append(known, a.Taken)
	}
	seats := availability.FreeSeats(t, span, known)
	if len(seats) == 0 {
		return c.inTheWay(ctx, &span, theirs)
	}
	needs := availability.NeedsOf(c.schedule.Calendars, t, c.taken, "")
	for _, free := range needs.Free(r.Start, true) {
		if len(free) == 0 {
			return Verdict{Outcome: IsTaken, Reason: "room"}, nil
		}
	}
	span.Seat = seats[0]
	c.above[r.SpecialistID] = append(c.above[r.SpecialistID], above{store.Taken{
		AppointmentTypeID: t.ID, SpecialistID: r.SpecialistID, Seat: span.Seat,
		SlotStart: span.SlotStart, SlotEnd: span.SlotEnd, BusyStart: span.BusyStart, BusyEnd: span.BusyEnd,
	}, number})
	if others, _ := booking.HeldSeats(span, len(seats), c.heldOf(r.SpecialistID), holds.Owner{}); others >= len(seats) {
		return Verdict{Outcome: IsHeld}, nil
	}
	// Whether a slot of its own would start then does not matter: what was written by hand began when it began.
	why := c.schedule.Calendars[r.SpecialistID].Bookable(booking.WithoutNotice(t), r.Start, nil, r.Start.Add(-time.Minute))
	if why == availability.ReasonOutsideHours || why == availability.ReasonOverrideClosed {
		return Verdict{Outcome: IsClosed, Reason: string(why)}, nil
	}
	return Verdict{Outcome: IsFree}, nil
}

func (c *checking) heldOf(specialistID string) (list []holds.Hold) {
	for i := range c.held {
		if c.held[i].SpecialistID == specialistID {
			list = append(list, c.held[i])
		}
	}
	return list
}

// inTheWay names what a row meets: a row above it, or else what is booked.
func (c *checking) inTheWay(ctx context.Context, span *holds.Span, theirs []store.Taken) (Verdict, error) {
	v := Verdict{Outcome: IsTaken, Reason: "overlap"}
	for _, a := range c.above[span.SpecialistID] {
		if o := availability.TakenSpan(&a.Taken); o.SameGroup(span) || o.Conflicts(span) {
			v.Row = a.row
			break
		}
	}
	for i := range theirs {
		o := availability.TakenSpan(&theirs[i])
		if !o.SameGroup(span) && !o.Conflicts(span) || theirs[i].AppointmentID == "" {
			continue
		}
		a, err := c.kits.store.Appointment(ctx, theirs[i].AppointmentID)
		if err != nil {
			return v, err
		}
		v.Appointments = append(v.Appointments, a)
	}
	return v, nil
}
