package group

import (
	"cmp"
	"context"
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

// Limits on a series.
const (
	MaxTimes = 52 // maximum number of appointments
	maxEvery = 12 // maximum number of weeks between appointments
	// maxAhead is how far in the future the last appointment of a series can be.
	maxAhead = 2 * 366 * 24 * time.Hour
	// If a time is not free, Plan searches for other times up to nearestDays away and lists at most maxNearest of them.
	nearestDays, maxNearest = 3, 4
)

// Rule describes the requested times of a series, in the clinic's local time.
type Rule struct {
	AppointmentTypeID string
	SpecialistIDs     []string   // any of these; empty means any specialist of the type
	From              store.Date // the earliest date
	Time              store.TimeOfDay
	Weekdays          []store.Weekday // empty means the weekday of From
	Every             int             // weeks between appointments, 1 to 12; 0 means 1
	Count             int             // 2 to MaxTimes
	Client            holds.ClientID  // its own holds do not conflict
}

// Occurrence is one time in a series.
type Occurrence struct {
	AppointmentID string // id of the appointment to move
	Start, End    time.Time
	// the free specialists, starting with those who can take the most times in the series
	SpecialistIDs []string
	Reason        availability.Reason // the reason why no specialist is free; empty if one is
	// Nearest lists other times with one of the requested specialists, nearest first. It is empty if the time is free.
	Nearest []booking.Timeslot
}

// Plan lists the times of a rule and reports whether they are free. It does not write or hold anything. It is for the
// desk, so hours, blocks, taken time and held time apply. The minimum notice, the booking horizon and the grid of start
// times do not, because they apply only to patients.
//
// Errors: *ValidationError, record.ErrNoAppointmentType.
func (se *Series) Plan(ctx context.Context, r Rule) ([]Occurrence, error) {
	s := se.clinic.Current()
	t, ok := s.Types[r.AppointmentTypeID]
	if !ok {
		return nil, record.ErrNoAppointmentType
	}
	now := time.Now()
	starts, err := r.starts(s, t, now)
	if err != nil {
		return nil, err
	}
	ids := specialistsOf(s, t, r.SpecialistIDs)
	k, err := se.look(ctx, s, slotOfOne(t), ids, starts[0], starts[len(starts)-1], &rules{owner: r.Client.Owner()})
	if err != nil {
		return nil, err
	}
	plan := make([]Occurrence, len(starts))
	able := make(map[string]int)
	for i, start := range starts {
		o := &plan[i]
		o.Start, o.End = start, start.Add(availability.Minutes(t.DurationMinutes))
		var refusal booking.Refusal
		o.SpecialistIDs, refusal = k.among(ids, start)
		o.Reason = refusal.Reason
		for _, id := range o.SpecialistIDs {
			able[id]++
		}
	}
	for i := range plan {
		o := &plan[i]
		slices.SortStableFunc(o.SpecialistIDs, func(a, b string) int { return cmp.Compare(able[b], able[a]) })
		if o.Reason == "" {
			continue
		}
		if o.Nearest, err = se.nearest(ctx, s, t, ids, o.Start, starts, r.Client, now); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// starts lists the times of the rule.
func (r *Rule) starts(s *clinic.Schedule, t *store.AppointmentType, now time.Time) ([]time.Time, error) {
	var m record.Mistakes
	if r.Every == 0 {
		r.Every = 1
	}
	if r.Every < 1 || r.Every > maxEvery {
		m.Add("everyWeeks", "must be from 1 to %d", maxEvery)
	}
	if r.Count < 2 || r.Count > MaxTimes {
		m.Add("count", "must be from 2 to %d", MaxTimes)
	}
	if r.From.Year < 2000 || r.From.Year > 2200 {
		m.Add("from", "must be a date like 2026-11-24")
	}
	for _, id := range r.SpecialistIDs {
		if !t.IsServedBy(id) {
			m.Add("specialistIds", "no specialist with the id %q serves this appointment type", id)
		}
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	days := r.Weekdays
	if len(days) == 0 {
		days = []store.Weekday{r.From.Weekday()}
	}
	// Weeks begin on Monday.
	monday := r.From.AddDays(-(int(r.From.Weekday()) + 6) % 7)
	var starts []time.Time
	for n := 0; len(starts) < r.Count; n++ {
		day := monday.AddDays(n)
		if n/7%r.Every != 0 || day.Before(r.From) || !slices.Contains(days, day.Weekday()) {
			continue
		}
		start := availability.WallTime(s.Zone, day, r.Time)
		if start.Sub(now) > maxAhead {
			return nil, record.Invalid("count", "the last time would be more than two years ahead")
		}
		starts = append(starts, start)
	}
	return starts, nil
}

// specialistsOf lists the requested specialists for a type, or all of them if none are named, sorted by priority, then
// id.
func specialistsOf(s *clinic.Schedule, t *store.AppointmentType, wanted []string) []string {
	all := slices.Clone(t.Specialists)
	sort.SliceStable(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.SpecialistID, b.SpecialistID)) < 0
	})
	var ids []string
	for _, a := range all {
		if s.Calendars[a.SpecialistID] != nil && (len(wanted) == 0 || slices.Contains(wanted, a.SpecialistID)) {
			ids = append(ids, a.SpecialistID)
		}
	}
	return ids
}

// nearest lists free times near a time that is not free, starting with those on the same day. It leaves out the times
// of the series itself.
func (se *Series) nearest(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, ids []string,
	wanted time.Time, planned []time.Time, client holds.ClientID, now time.Time) ([]booking.Timeslot, error) {
	day := store.DateOf(wanted.In(s.Zone))
	from, to := day.AddDays(-nearestDays), day.AddDays(nearestDays+1)
	if today := store.DateOf(now.In(s.Zone)); from.Before(today) {
		from = today
	}
	if !from.Before(to) || !t.Active {
		return nil, nil
	}
	list, err := se.booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: t.ID, From: from, To: to,
		Client: client, Desk: true})
	if err != nil {
		return nil, err
	}
	var found []booking.Timeslot
	for _, slot := range list.Slots {
		slot.SpecialistIDs = slices.DeleteFunc(slices.Clone(slot.SpecialistIDs),
			func(id string) bool { return !slices.Contains(ids, id) })
		if slot.Available > 0 && len(slot.SpecialistIDs) > 0 && slot.Start.After(now) &&
			!slices.ContainsFunc(planned, slot.Start.Equal) {
			found = append(found, slot)
		}
	}
	far := func(x *booking.Timeslot) time.Duration {
		away := x.Start.Sub(wanted).Abs()
		if store.DateOf(x.Start.In(s.Zone)) != day {
			away += 24 * time.Hour
		}
		return away
	}
	sort.SliceStable(found, func(i, j int) bool { return cmp.Compare(far(&found[i]), far(&found[j])) < 0 })
	return found[:min(len(found), maxNearest)], nil
}

// Time is one chosen time in a series.
type Time struct {
	Start        time.Time
	SpecialistID string // empty means any free specialist, by priority
}

// SeriesRequest is a request for a series.
type SeriesRequest struct {
	AppointmentTypeID string
	Times             []Time // 2 to MaxTimes
	Patient           store.Patient
	Said              clinic.Said // the patient's answers, the same for all appointments
	Locale            string
	Client            holds.ClientID // its own holds on these times are used; empty means none
	Source            store.Source
	Actor             record.Actor
	Once              *record.Once // the result that it stores is a []store.Appointment
	Silent            bool
	Displace          bool // displace other clients' holds and notify their owners
}

// Book books all times or none of them, for one patient, who gets one email. It returns the appointments sorted by
// start.
//
// Errors: *ValidationError, record.ErrNoAppointmentType, *ConflictError, store.ErrDuplicate (the idempotency key has
// been used in the meantime), and the storage errors.
func (se *Series) Book(ctx context.Context, r SeriesRequest) (made []store.Appointment, err error) {
	defer func() { se.booking.CountRefusal(booking.ActBook, firstOf(err)) }()
	s := se.clinic.Current()
	t, intake, err := r.check(s)
	if err != nil {
		return nil, err
	}
	owner := booking.ClaimOwner(r.Client.Owner(), r.Once)
	all, err := se.wanted(ctx, s, t, &r, owner)
	if err != nil {
		return nil, err
	}
	held, err := se.secureAll(ctx, all, owner, r.Displace)
	if err != nil {
		return nil, err
	}
	id := record.NewID()
	made = make([]store.Appointment, len(held))
	placeOf := make(map[string]int)
	for i, h := range held {
		made[i] = booking.NewAppointment(&booking.Request{Patient: r.Patient, Intake: intake, Locale: r.Locale,
			Source: r.Source}, h.Span, h.Resources.List()...)
		made[i].SeriesID, placeOf[made[i].ID] = id, i
	}
	done, err := se.create(ctx, made, held, booking.Change{Actor: r.Actor, Silent: r.Silent}, r.Once)
	if err != nil {
		se.release(ctx, held, err)
	}
	return done, conflictOf(err, func(id string) int { return placeOf[id] })
}

// check validates the request. It also returns the part of the patient's answers that is stored.
func (r *SeriesRequest) check(s *clinic.Schedule) (*store.AppointmentType, store.Intake, error) {
	var m record.Mistakes
	var intake store.Intake
	now := time.Now()
	record.CheckID(&m, "appointmentTypeId", r.AppointmentTypeID)
	record.CheckLocale(&m, r.Locale)
	record.NormalizePatient(&m, &r.Patient, nil, now.In(s.Zone))
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
			m.Add(at+".slotStartDate", "must be a time such as 2026-11-23T09:00:00Z, between the years 2000 and 2200")
		case slices.ContainsFunc(r.Times[:i], func(o Time) bool { return o.Start.Equal(x.Start) }):
			m.Add(at+".slotStartDate", "is in the list twice")
		}
		if ok && x.SpecialistID != "" && !t.IsServedBy(x.SpecialistID) {
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

// wanted lists the times in a request, in the same order, each with the specialists who can take it or the reason why
// no specialist can. The owner's own holds do not conflict.
func (se *Series) wanted(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType,
	r *SeriesRequest, owner holds.Owner) ([]wanted, error) {
	first, last := r.Times[0].Start, r.Times[0].Start
	for _, x := range r.Times {
		if x.Start.Before(first) {
			first = x.Start
		}
		if x.Start.After(last) {
			last = x.Start
		}
	}
	ids := specialistsOf(s, t, nil)
	k, err := se.look(ctx, s, slotOfOne(t), ids, first, last, &rules{owner: owner, ignoreHolds: r.Displace})
	if err != nil {
		return nil, err
	}
	all := make([]wanted, len(r.Times))
	for i, x := range r.Times {
		able := ids
		if x.SpecialistID != "" {
			able = []string{x.SpecialistID}
		}
		free, refusal := k.among(able, x.Start)
		all[i] = wanted{known: k, start: x.Start, ids: free, why: refusal.Reason}
	}
	return all, nil
}
