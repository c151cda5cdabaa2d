package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Time is one time of a series that was chosen.
type Time struct {
	Start        time.Time
	SpecialistID string // empty: whoever is free, by priority
}

// Request asks for a series.
type Request struct {
	AppointmentTypeID string
	Times             []Time // 2 to MaxTimes
	Patient           store.Patient
	Said              clinic.Said // beside the name, for all of them
	Locale            string
	Client            holds.ClientID // whose own holds of these times are used up; empty: nobody's
	Source            store.Source
	Actor             record.Actor
	Once              *record.Once // its result is []store.Appointment
	Silent            bool
	Displace          bool // over other clients' holds, whose owners are told
}

// Book books all times or none, for one patient, who is told in one mail. The appointments come back by start.
//
// Errors: *ValidationError, record.ErrNoAppointmentType, *ConflictError, store.ErrDuplicate (the idempotency key was used
// meanwhile), and the storage errors.
func (se *Series) Book(ctx context.Context, r Request) ([]store.Appointment, error) {
	s := se.clinic.Current()
	t, intake, err := r.check(s)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	held, err := se.take(ctx, s, t, &r, now)
	if err != nil {
		return nil, err
	}
	sort.Slice(held, func(i, j int) bool { return held[i].SlotStart.Before(held[j].SlotStart) })
	id := record.NewID()
	made := make([]store.Appointment, len(held))
	ids := make([]string, len(held))
	for i, h := range held {
		made[i] = booking.NewAppointment(&booking.Request{Patient: r.Patient, Intake: intake, Locale: r.Locale, Source: r.Source}, h.Span, h.Resources.List()...)
		made[i].SeriesID, ids[i] = id, made[i].ID
		made[i].Place = s.PlaceAt(made[i].SpecialistID, made[i].SlotStart)
		se.booking.MarkUpstream(nil, &made[i], booking.ChangeCreated)
	}
	var calls []booking.Promise
	place := -1
	err = se.store.Write(ctx, func(tx store.Tx) error {
		calls = nil
		for i := range made {
			place = held[i].place
			if err := tx.InsertAppointment(ctx, made[i]); err != nil {
				return err
			}
			c := booking.Change{Kind: booking.ChangeCreated, After: &made[i], Actor: r.Actor, Silent: r.Silent, At: made[i].CreatedAt, Series: ids}
			if err := se.booking.Record(ctx, tx, &c); err != nil {
				return err
			}
			calls = append(calls, c.Calls...)
		}
		return r.Once.Remember(ctx, tx, made, made[0].CreatedAt)
	})
	se.count(r.Source, len(made), err)
	if err != nil {
		se.release(ctx, held, holds.ReasonReleased)
		if errors.Is(err, store.ErrSlotTaken) {
			return nil, &ConflictError{[]Conflict{{place, availability.ReasonTaken}}}
		}
		return nil, err
	}
	se.booking.Enqueue(calls...)
	for i, h := range held {
		se.booking.Confirm(ctx, h.Hold, made[i])
	}
	return made, nil
}

// count counts each appointment that was booked, or one refusal by the database.
func (se *Series) count(source store.Source, n int, err error) {
	if err != nil {
		n = 1
	}
	for range n {
		se.booking.CountWrite(source, err)
	}
}

// check is also what is kept of what was said.
func (r *Request) check(s *clinic.Schedule) (*store.AppointmentType, store.Intake, error) {
	var m record.Mistakes
	var intake store.Intake
	now := time.Now()
	record.CheckID(&m, "appointmentTypeId", r.AppointmentTypeID)
	if r.Locale != "" && !clinic.ValidLocale(r.Locale) {
		m.Add("locale", "must be a language tag like en, de or pt-BR")
	}
	record.NormalizePatient(&m, &r.Patient, nil, store.DateOf(now.In(s.Zone)))
	if len(r.Times) < 2 || len(r.Times) > MaxTimes {
		m.Add("times", "must be 2 to %d times", MaxTimes)
	}
	t, ok := s.Types[r.AppointmentTypeID]
	if ok {
		intake = clinic.CheckIntake(&m, &s.Settings, t, &r.Said, false, now)
	}
	for i, x := range r.Times {
		at := fmt.Sprintf("times[%d]", i)
		switch {
		case x.Start.IsZero(), x.Start.Year() < 2000, x.Start.Year() > 2200:
			m.Add(at+".slotStartDate", "must be an instant like 2026-11-23T09:00:00Z, between the years 2000 and 2200")
		case slices.ContainsFunc(r.Times[:i], func(o Time) bool { return o.Start.Equal(x.Start) }):
			m.Add(at+".slotStartDate", "is in the list twice")
		}
		if ok && x.SpecialistID != "" && !slices.ContainsFunc(t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == x.SpecialistID }) {
			m.Add(at+".specialistId", "no specialist with this id serves this appointment type")
		}
	}
	if err := m.Err(); err != nil {
		return nil, intake, err
	}
	if !ok {
		return nil, intake, record.ErrNoAppointmentType
	}
	return t, intake, nil
}

// among are those of a type's specialists who can have the time.
func (x *Time) among(all []string) []string {
	if x.SpecialistID != "" {
		return []string{x.SpecialistID}
	}
	return all
}

// conflicts lists the times that nobody can have, by what was looked at.
func (k *known) conflicts(all []string, times []Time, now time.Time) (list []Conflict) {
	for i, x := range times {
		var reason availability.Reason
		free := false
		for _, id := range x.among(all) {
			why, _ := k.at(id, x.Start, now)
			if free = why == ""; free {
				break
			}
			if reason == "" || weight[why] > weight[reason] {
				reason = why
			}
		}
		if !free {
			list = append(list, Conflict{i, cmp.Or(reason, availability.ReasonInactive)})
		}
	}
	return list
}

// take holds every time, or none and says which cannot be had.
func (se *Series) take(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, r *Request, now time.Time) (claimed, error) {
	starts := make([]time.Time, len(r.Times))
	for i, x := range r.Times {
		starts[i] = x.Start
	}
	all := specialistsOf(s, t, nil)
	k, err := se.look(ctx, s, t, all, starts, nil, r.Client.Owner())
	if err != nil {
		return nil, err
	}
	if r.Displace {
		k.held = nil
	}
	// Nothing is held before it is known that all can be had as far as anybody knows: a claim that displaces cannot be taken back.
	conflicts := k.conflicts(all, r.Times, now)
	if conflicts != nil {
		return nil, &ConflictError{conflicts}
	}
	var held claimed
	for i, x := range r.Times {
		var reason availability.Reason
		for _, id := range x.among(all) {
			why, seats := k.at(id, x.Start, now)
			if why == "" {
				why, err = se.claim(ctx, &held, i, availability.SpanOf(t, id, x.Start), seats, k.needs.Free(x.Start, false), r.Client.Owner(), r.Displace)
			}
			if err != nil {
				se.release(ctx, held, holds.ReasonReleased)
				return nil, err
			}
			if reason == "" || why == "" || weight[why] > weight[reason] {
				reason = why
			}
			if why == "" {
				break
			}
		}
		if n := len(held); n == 0 || held[n-1].place != i {
			conflicts = append(conflicts, Conflict{i, cmp.Or(reason, availability.ReasonInactive)})
		}
	}
	if conflicts != nil {
		se.release(ctx, held, holds.ReasonReleased)
		return nil, &ConflictError{conflicts}
	}
	return held, nil
}
