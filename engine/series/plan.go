package series

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Rule says which times are wanted, on the clinic's wall clock.
type Rule struct {
	AppointmentTypeID string
	SpecialistIDs     []string   // any of them; none: of all
	From              store.Date // the first day that may be one
	Time              store.TimeOfDay
	Weekdays          []store.Weekday // none: that of From
	Every             int             // weeks; 1 to 12, 0 is 1
	Count             int             // 2 to MaxTimes
	Client            holds.ClientID  // whose own holds are no obstacle
}

// Occurrence is one time of a series.
type Occurrence struct {
	AppointmentID string // of one that is to be moved
	Start, End    time.Time
	SpecialistIDs []string            // who is free then; who can take the most of the series first
	Reason        availability.Reason // why nobody is; empty: it can be had
	// Nearest are other times with somebody of those asked for, the nearest first; none where it can be had.
	Nearest []booking.Timeslot
}

// nearestDays is how far from a time that cannot be had others are looked for, and maxNearest how many are named.
const nearestDays, maxNearest = 3, 4

// Plan lists the times of a rule and whether they can be had. Nothing is written or held. For the desk: notice, horizon and the grid
// of starts, which are for patients, do not count; hours, blocks and what is taken or held do.
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
	plan := make([]Occurrence, len(starts))
	for i, start := range starts {
		plan[i] = Occurrence{Start: start, End: start.Add(availability.Minutes(t.DurationMinutes))}
	}
	ids := specialistsOf(s, t, r.SpecialistIDs)
	k, err := se.look(ctx, s, t, ids, starts, nil, r.Client.Owner())
	if err != nil {
		return nil, err
	}
	able := make(map[string]int)
	for i := range plan {
		for _, id := range ids {
			if reason, _ := k.at(id, plan[i].Start, now); reason == "" {
				plan[i].SpecialistIDs = append(plan[i].SpecialistIDs, id)
				able[id]++
			} else if plan[i].Reason == "" || weight[reason] > weight[plan[i].Reason] {
				plan[i].Reason = reason
			}
		}
	}
	for i := range plan {
		o := &plan[i]
		if len(o.SpecialistIDs) > 0 {
			o.Reason = ""
			slices.SortStableFunc(o.SpecialistIDs, func(a, b string) int { return cmp.Compare(able[b], able[a]) })
			continue
		}
		o.Reason = cmp.Or(o.Reason, availability.ReasonInactive)
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
		if !slices.ContainsFunc(t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == id }) {
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
	// Weeks begin on Monday: every second week is every second one of those.
	monday := r.From.AddDays(-(int(r.From.Weekday()) + 6) % 7)
	var starts []time.Time
	for n := 0; len(starts) < r.Count; n++ {
		day := monday.AddDays(n)
		if n/7%r.Every != 0 || day.Before(r.From) || !slices.Contains(days, day.Weekday()) {
			continue
		}
		start := availability.WallTime(s.Zone, day, r.Time)
		if start.Sub(now) > maxAhead {
			return nil, record.Invalid("count", "the last one would be more than two years ahead")
		}
		starts = append(starts, start)
	}
	return starts, nil
}

// specialistsOf lists those of a type who are asked for, all if nobody is named, who is assigned first first.
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

// weight orders the reasons of several specialists: the one that came closest to being free is told.
var weight = map[availability.Reason]int{
	availability.ReasonInactive: 1, availability.ReasonTooSoon: 2, availability.ReasonOutsideHours: 3, availability.ReasonOverrideClosed: 4,
	availability.ReasonTaken: 5, ReasonHeld: 6,
}

// known is what is taken and held around the times that are asked for, read once.
type known struct {
	*Series
	schedule *clinic.Schedule
	t        *store.AppointmentType
	taken    []store.Taken
	needs    *availability.Needs
	held     []holds.Hold
	asking   holds.Owner
}

// look reads what is taken of these specialists and held around the starts. What is being moved is in nobody's way.
func (se *Series) look(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, ids []string, starts []time.Time, moving map[string]bool, asking holds.Owner) (*known, error) {
	k := &known{Series: se, schedule: s, t: t, asking: asking}
	if len(ids) == 0 {
		return k, nil
	}
	first, last := availability.Around(t, slices.MinFunc(starts, time.Time.Compare), slices.MaxFunc(starts, time.Time.Compare))
	var err error
	if k.taken, err = se.store.Taken(ctx, ids, first, last); err != nil {
		return nil, err
	}
	k.taken = slices.DeleteFunc(k.taken, func(x store.Taken) bool { return moving[x.AppointmentID] })
	k.taken = se.booking.WithClosed(k.taken, ids)
	resources := availability.ResourcesOf(t)
	also, err := se.store.Taken(ctx, resources, first, last)
	if err != nil {
		return nil, err
	}
	k.needs = availability.NeedsOf(s.Calendars, t, slices.DeleteFunc(also, func(x store.Taken) bool { return moving[x.AppointmentID] }), "")
	k.held, err = se.holds.List(ctx, slices.Concat(ids, resources)...)
	return k, err
}

// at says why the desk cannot book one specialist at a start, or which seats are free.
func (k *known) at(specialistID string, start, now time.Time) (availability.Reason, []int) {
	calendar := k.schedule.Calendars[specialistID]
	if calendar == nil || !slices.ContainsFunc(k.t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == specialistID }) {
		return availability.ReasonInactive, nil
	}
	if start.Before(now) {
		return availability.ReasonTooSoon, nil
	}
	switch reason := calendar.Bookable(booking.WithoutNotice(k.t), start, nil, now); reason {
	case "", availability.ReasonNotASlotStart:
	default:
		return reason, nil
	}
	span := availability.SpanOf(k.t, specialistID, start)
	free := availability.FreeSeats(k.t, span, availability.TakenBy(k.taken, specialistID))
	if len(free) == 0 || !k.booking.IsOpen(k.schedule, k.t, specialistID, start, occupancy.Interval{}, now) {
		return availability.ReasonTaken, nil
	}
	switch {
	case k.needs.Most(start) == 0:
		return availability.ReasonTaken, nil
	case k.needs.Left(start, k.held, k.asking) == 0:
		return ReasonHeld, nil
	}
	var near []holds.Hold
	for _, h := range k.held {
		if h.SpecialistID == specialistID {
			near = append(near, h)
		}
	}
	if others, _ := booking.HeldSeats(span, len(free), near, k.asking); others >= len(free) {
		return ReasonHeld, nil
	}
	return "", free
}

// nearest lists free times near one that cannot be had, on its own day before others; not those that the series has already.
func (se *Series) nearest(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, ids []string, wanted time.Time, planned []time.Time, client holds.ClientID, now time.Time) ([]booking.Timeslot, error) {
	day := store.DateOf(wanted.In(s.Zone))
	from, to := day.AddDays(-nearestDays), day.AddDays(nearestDays+1)
	if today := store.DateOf(now.In(s.Zone)); from.Before(today) {
		from = today
	}
	if !from.Before(to) || !t.Active {
		return nil, nil
	}
	list, err := se.booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: t.ID, From: from, To: to, Client: client, Desk: true})
	if err != nil {
		return nil, err
	}
	var found []booking.Timeslot
	for _, slot := range list.Slots {
		slot.SpecialistIDs = slices.DeleteFunc(slices.Clone(slot.SpecialistIDs), func(id string) bool { return !slices.Contains(ids, id) })
		if slot.Available > 0 && len(slot.SpecialistIDs) > 0 && slot.Start.After(now) && !slices.ContainsFunc(planned, slot.Start.Equal) {
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
