package absence

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

const (
	// planDays is how many days after the start of an absence Plan searches for new times.
	planDays = 42
	// maxTimes is the number of new times that Plan lists per appointment.
	maxTimes = 8
	// soon is how close to its start an appointment must be for its patient to be called instead of emailed.
	soon = 2 * time.Hour
	// nearby is the largest difference in minutes from the booked time that lets the desk move an appointment without
	// asking: such a move hardly changes the patient's day.
	nearby = 60
)

// Time is a new time for an appointment.
type Time struct {
	SpecialistID string
	Place        string
	Start, End   time.Time
}

// Row is an appointment that the absence displaces.
type Row struct {
	Appointment store.Appointment
	Times       []Time            // the best time first; empty if there is no free time
	By          store.DisplacedBy // how to handle the appointment unless the desk decides otherwise
}

// Plan lists the appointments that an absence displaces, by start, with proposed new times. No two rows have the same
// first time. sameSpecialist prefers a later time with the same specialist over an earlier one with a colleague. more
// reports whether there are more displaced appointments than Plan lists. Plan does not write or hold anything.
//
// Errors: *ValidationError.
func (ab *Absences) Plan(ctx context.Context, away Away, sameSpecialist bool) (rows []Row, more bool, err error) {
	if err := ab.check(&away); err != nil {
		return nil, false, err
	}
	list, more, err := ab.displaced(ctx, away.block())
	if err != nil {
		return nil, false, err
	}
	p := &plan{s: ab.Clinic.Current(), away: away, now: time.Now(), sameSpecialist: sameSpecialist}
	slots := make(map[string][]booking.Timeslot) // keyed by appointment type
	for i := range list {
		a := &list[i]
		free, listed := slots[a.AppointmentTypeID]
		if !listed {
			if free, err = ab.free(ctx, p, a.AppointmentTypeID, list[0].SlotStart); err != nil {
				return nil, false, err
			}
			slots[a.AppointmentTypeID] = free
		}
		row := Row{Appointment: *a, Times: p.times(a, free)}
		if len(row.Times) > 0 {
			p.taken = append(p.taken,
				availability.SpanOf(p.s.Types[a.AppointmentTypeID], row.Times[0].SpecialistID, row.Times[0].Start))
		}
		canAsk := ab.Messages.CanWrite(a) && (len(row.Times) > 0 || ab.Messages.ChangesOnline(ctx, a))
		row.By = p.treatment(&row, canAsk)
		rows = append(rows, row)
	}
	return rows, more, nil
}

// displaced lists the appointments in a block that have not started yet.
func (ab *Absences) displaced(ctx context.Context, b store.Block) ([]store.Appointment, bool, error) {
	list, more, err := ab.Booking.InTheWay(ctx, []store.Block{b})
	return slices.DeleteFunc(list, func(a store.Appointment) bool {
		return a.Attendance == store.InProgress || a.Attendance == store.Completed
	}), more, err
}

// free lists the free times for a type, starting on the day of the first displaced appointment.
func (ab *Absences) free(ctx context.Context, p *plan, appointmentTypeID string,
	from time.Time) ([]booking.Timeslot, error) {
	day := store.DateOf(from.In(p.s.Zone))
	list, err := ab.Booking.Timeslots(ctx, booking.TimeslotsRequest{
		AppointmentTypeID: appointmentTypeID, From: day, To: day.AddDays(planDays), Desk: true,
	})
	if errors.Is(err, record.ErrNoAppointmentType) {
		return nil, nil // the type was archived after the appointment was booked
	}
	return list.Slots, err
}

// plan is the state while new times are being chosen.
type plan struct {
	s              *clinic.Schedule
	away           Away
	now            time.Time
	sameSpecialist bool
	taken          []holds.Span // the times that earlier rows use
}

// times returns the best times for a displaced appointment.
func (p *plan) times(a *store.Appointment, free []booking.Timeslot) []Time {
	type candidate struct {
		Time
		cost int
	}
	t, place := p.s.Types[a.AppointmentTypeID], p.placeOf(a)
	var all []candidate
	for i := range free {
		slot := &free[i]
		if slot.Start.Before(a.SlotStart) || !slot.Start.After(p.now) || slot.Available == 0 {
			continue
		}
		for _, id := range slot.SpecialistIDs {
			if span := availability.SpanOf(t, id, slot.Start); p.isAway(&span) || p.isTaken(&span, t, slot.Available) {
				continue
			}
			x := Time{id, p.placeAt(a, id, slot.Start), slot.Start, slot.End}
			all = append(all, candidate{x, p.cost(a, place, &x)})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	best := make([]Time, min(len(all), maxTimes))
	for i := range best {
		best[i] = all[i].Time
	}
	return best
}

// placeOf returns the place of an appointment, or "" if it has none: the clinic has one place, or the type is remote.
func (p *plan) placeOf(a *store.Appointment) string {
	if p.s.IsRemote(a.AppointmentTypeID) {
		return ""
	}
	return cmp.Or(a.Place, p.s.PlaceAt(a.SpecialistID, a.SlotStart))
}

// placeAt returns the place that an appointment would have with a specialist at a time.
func (p *plan) placeAt(a *store.Appointment, specialistID string, at time.Time) string {
	if p.s.IsRemote(a.AppointmentTypeID) {
		return ""
	}
	return p.s.PlaceAt(specialistID, at)
}

// isAway reports whether a time or its buffers overlap the absence.
func (p *plan) isAway(span *holds.Span) bool {
	return span.SpecialistID == p.away.SpecialistID && span.BusyStart.Before(p.away.End) &&
		p.away.Start.Before(span.BusyEnd)
}

// isTaken reports whether earlier rows use up the time. A group session can be used as many times as it has free seats.
func (p *plan) isTaken(span *holds.Span, t *store.AppointmentType, seats int) bool {
	same := 0
	for i := range p.taken {
		x := &p.taken[i]
		switch {
		case x.SpecialistID != span.SpecialistID || !x.BusyStart.Before(span.BusyEnd) ||
			!span.BusyStart.Before(x.BusyEnd):
		case t.Capacity > 1 && x.AppointmentTypeID == t.ID && x.SlotStart.Equal(span.SlotStart):
			same++
		default:
			return true
		}
	}
	return same > 0 && same >= seats
}

// cost returns how much worse a time is for the patient than the booked one, in minutes: the difference in the time
// of day, two hours for each day later, one hour for another specialist (30 days if the same is preferred), and 60
// days for another place.
func (p *plan) cost(a *store.Appointment, place string, x *Time) int {
	const day = 2 * 60
	was, is := a.SlotStart.In(p.s.Zone), x.Start.In(p.s.Zone)
	clock := is.Hour()*60 + is.Minute() - was.Hour()*60 - was.Minute()
	cost := max(clock, -clock) + store.DateOf(was).DaysUntil(store.DateOf(is))*day
	switch {
	case x.SpecialistID == a.SpecialistID:
	case p.sameSpecialist:
		cost += 30 * day
	default:
		cost += 60
	}
	if x.Place != place {
		cost += 60 * day
	}
	return cost
}

// treatment returns how to handle a row unless the desk decides otherwise. canAsk reports whether a message reaches the
// patient that offers a new time, or a link to choose one.
func (p *plan) treatment(r *Row, canAsk bool) store.DisplacedBy {
	a := &r.Appointment
	near := false
	if len(r.Times) > 0 {
		x := &r.Times[0]
		samePlace := x.Place == p.placeOf(a)
		if samePlace && x.Start.Equal(a.SlotStart) && a.VisitID == "" {
			return store.DisplacedMove // the patient does not have to do anything
		}
		near = samePlace && x.Start.Sub(a.SlotStart) <= nearby*time.Minute
	}
	switch {
	case !canAsk, a.VisitID != "", a.Patient.Phone != "" && a.SlotStart.Before(p.now.Add(soon)):
		return store.DisplacedCall
	case near:
		return store.DisplacedMove
	}
	return store.DisplacedAsk
}
