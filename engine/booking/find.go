package booking

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

const (
	// MaxFound is the maximum number of times that FreeTimes returns.
	MaxFound = 50
	// findDays is the number of days ahead that FreeTimes searches, and findStep is how many of them it lists in one
	// step.
	findDays, findStep = 186, 31
)

// NextAvailable returns the first slot of the listing at or after an instant, up to the type's booking horizon, that
// has a free seat no other client holds. r.From and r.To have no effect. Errors: ErrNoSlots, store.ErrNotFound,
// *ValidationError.
func (bk *Booking) NextAvailable(ctx context.Context, r TimeslotsRequest, after time.Time) (Timeslot, error) {
	s := bk.clinic.Current()
	t, zone, err := s.Listed(r.AppointmentTypeID, r.SpecialistID)
	if err != nil {
		return Timeslot{}, err
	}
	return FirstAvailable(zone, after, t.HorizonDays, DefaultTimeslotDays,
		func(from, to store.Date) (Timeslots, error) {
			r.From, r.To = from, to
			return bk.Timeslots(ctx, r)
		})
}

// FirstAvailable returns the first slot at or after an instant that has a free seat no client holds. list lists the
// slots of the local dates from from until before to. FirstAvailable calls it for step days at a time, up to the
// booking horizon in days. Errors: ErrNoSlots, those of list.
func FirstAvailable(zone *time.Location, after time.Time, horizon, step int,
	list func(from, to store.Date) (Timeslots, error)) (Timeslot, error) {
	now := time.Now()
	if after.Before(now) {
		after = now
	}
	last := store.DateOf(now.AddDate(0, 0, horizon+1).In(zone))
	for from := store.DateOf(after.In(zone)); !last.Before(from); from = from.AddDays(step) {
		answer, err := list(from, from.AddDays(step))
		if err != nil {
			return Timeslot{}, err
		}
		for _, slot := range answer.Slots {
			if slot.Available > 0 && !slot.Start.Before(after) {
				return slot, nil
			}
		}
	}
	return Timeslot{}, record.ErrNoSlots
}

// FindRequest describes the times that a caller asks the desk for, such as "either of the two, Tuesdays or Thursdays,
// in the morning".
type FindRequest struct {
	AppointmentTypeID string
	SpecialistIDs     []string        // any of these; empty means all
	Place             string          // the id of one of the clinic's places; empty means any
	From              store.Date      // local to the clinic; zero means today
	Weekdays          []store.Weekday // empty means any
	Earliest          store.TimeOfDay // the earliest start, as a time of day on the clinic's clock
	Latest            store.TimeOfDay // the start must be earlier than this; zero means 24:00
	Client            holds.ClientID  // its own holds do not conflict
	Count             int             // 1 to MaxFound
}

// FreeTimes lists the first start times with a free seat that no other client holds, with the free specialists for
// each. It serves the desk, which can book at shorter notice and further ahead than patients: up to half a year.
// Errors: *ValidationError, store.ErrNotFound.
func (bk *Booking) FreeTimes(ctx context.Context, r FindRequest) ([]Timeslot, error) {
	s := bk.clinic.Current()
	t, zone, err := s.Listed(r.AppointmentTypeID, "")
	if err != nil {
		return nil, err
	}
	var m record.Mistakes
	for _, id := range r.SpecialistIDs {
		if !t.IsServedBy(id) {
			m.Add("specialistIds", "no specialist with the id %q serves this appointment type", id)
		}
	}
	if r.Latest == 0 {
		r.Latest = 24 * 60
	}
	if r.Latest <= r.Earliest {
		m.Add("latest", "must be later than earliest")
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	now := time.Now()
	today := store.DateOf(now.In(zone))
	if r.From.Before(today) {
		r.From = today
	}
	var found []Timeslot
	for day := r.From; day.Before(today.AddDays(findDays)); day = day.AddDays(findStep) {
		list, err := bk.Timeslots(ctx, TimeslotsRequest{
			AppointmentTypeID: t.ID, Place: r.Place, From: day, To: day.AddDays(findStep), Client: r.Client,
			Desk: true,
		})
		if err != nil {
			return nil, err
		}
		for _, slot := range list.Slots {
			if slot.Available == 0 || slot.Start.Before(now) || !r.suits(slot.Start.In(zone)) {
				continue
			}
			if len(r.SpecialistIDs) > 0 {
				slot.SpecialistIDs = slices.DeleteFunc(slices.Clone(slot.SpecialistIDs), func(id string) bool {
					return !slices.Contains(r.SpecialistIDs, id)
				})
			}
			if len(slot.SpecialistIDs) == 0 {
				continue
			}
			if found = append(found, slot); len(found) == r.Count {
				return found, nil
			}
		}
	}
	return found, nil
}

// suits reports whether a local start time is on one of the requested weekdays and in the requested part of the day.
func (r *FindRequest) suits(start time.Time) bool {
	weekday := store.Weekday(start.Weekday())
	clock := store.TimeOfDay(start.Hour()*60 + start.Minute())
	return (len(r.Weekdays) == 0 || slices.Contains(r.Weekdays, weekday)) && r.Earliest <= clock && clock < r.Latest
}
