package occupancy

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/holds"
	"holdfast/store"
)

// openings contains the practice-management system's openings, by appointment type.
type openings struct {
	maxAge time.Duration

	mu    sync.RWMutex
	types map[string]*typeOpenings
}

type typeOpenings struct {
	lists bool // whether the practice-management system has listed an opening since startup
	days  map[store.Date]openDay
}

// openDay contains the openings on one local day of the clinic. It is immutable.
type openDay struct {
	asked time.Time
	of    map[string][]Interval // by specialist; sorted by start, with gaps between them
}

// Interval is a range of time [From, To).
type Interval struct{ From, To time.Time }

// IsOpen reports whether a slot's time is open in the practice-management system, or whether there are no usable
// openings for it. own contains ranges that also count as open: the times of appointments being moved.
func (tm *Time) IsOpen(s *clinic.Schedule, t *store.AppointmentType, specialistID string, start time.Time,
	own []Interval, now time.Time) bool {
	tm.open.mu.RLock()
	defer tm.open.mu.RUnlock()
	known := tm.open.types[t.ID]
	if known == nil || !known.lists {
		return true
	}
	if p := s.SpecialistByID[specialistID]; p == nil || p.UpstreamColumnID == "" || p.UpstreamScheduleViewID == "" {
		return true // the practice-management system does not have this calendar
	}
	local, end := start.In(s.Zone), start.Add(availability.Minutes(t.DurationMinutes))
	day, there := known.days[store.DateOf(local)]
	if !there || now.Sub(day.asked) > tm.open.maxAge {
		return true
	}
	open := day.of[specialistID]
	if len(own) > 0 {
		open = merged(slices.Concat(open, own))
	}
	return slices.ContainsFunc(open, func(i Interval) bool { return !start.Before(i.From) && !end.After(i.To) })
}

// OnlyOpen removes the computed slots that the practice-management system has not opened. specialists are the
// specialists of the calendars in rooms, in the same order.
func (tm *Time) OnlyOpen(s *clinic.Schedule, t *store.AppointmentType, rooms *availability.Rooms, specialists []string,
	now time.Time) *availability.Rooms {
	tm.open.mu.RLock()
	known := tm.open.types[t.ID]
	tm.open.mu.RUnlock()
	if known == nil {
		return rooms
	}
	return rooms.Only(func(start time.Time, who int) bool { return tm.IsOpen(s, t, specialists[who], start, nil, now) })
}

// LearnOpenings stores the openings of a type, by specialist, that the practice-management system returned for the days
// from first up to but not including end. asked is when they were requested. LearnOpenings deletes the closures within
// these openings. If an opening has changed, it notifies all pages to reload their lists.
func (tm *Time) LearnOpenings(ctx context.Context, appointmentTypeID string, first, end store.Date,
	bySpecialist map[string][]Interval, asked time.Time) {
	zone := tm.clinic.Zone()
	days := make(map[store.Date]openDay)
	for d := first; d.Before(end); d = d.AddDays(1) {
		days[d] = openDay{asked, make(map[string][]Interval)}
	}
	something := false
	for id, list := range bySpecialist {
		tm.OpenListed(ctx, id, list, asked)
		for _, o := range list {
			if day, ours := days[store.DateOf(o.From.In(zone))]; ours {
				day.of[id] = append(day.of[id], o)
				something = true
			}
		}
	}
	for _, day := range days {
		for id := range day.of {
			day.of[id] = merged(day.of[id])
		}
	}
	k := &tm.open
	k.mu.Lock()
	if k.types == nil {
		k.types = make(map[string]*typeOpenings)
	}
	known := k.types[appointmentTypeID]
	if known == nil {
		known = &typeOpenings{days: make(map[store.Date]openDay)}
		k.types[appointmentTypeID] = known
	}
	changed := something && !known.lists
	known.lists = known.lists || something
	for date, day := range days {
		before, there := known.days[date]
		changed = changed || known.lists && (!there || !sameIntervals(before.of, day.of))
		known.days[date] = day
	}
	k.mu.Unlock()
	if changed {
		tm.tellOpenings(ctx, appointmentTypeID)
	}
}

// ForgetOpenings deletes past days and openings that are too old to be used. If that changes a type's slots, it
// notifies all pages to reload their lists.
func (tm *Time) ForgetOpenings(ctx context.Context) {
	now, today := time.Now(), store.DateOf(time.Now().In(tm.clinic.Zone()))
	var changed []string
	k := &tm.open
	k.mu.Lock()
	for id, known := range k.types {
		lost := false
		for date, day := range known.days {
			old := now.Sub(day.asked) > k.maxAge
			if old || date.Before(today) {
				delete(known.days, date)
			}
			lost = lost || old && known.lists
		}
		if lost {
			changed = append(changed, id)
		}
	}
	k.mu.Unlock()
	for _, id := range changed {
		tm.tellOpenings(ctx, id)
	}
}

// tellOpenings notifies all pages to reload the list of a type.
func (tm *Time) tellOpenings(ctx context.Context, appointmentTypeID string) {
	generation := tm.clinic.MoveGenerations(appointmentTypeID)
	if t := tm.clinic.Current().Types[appointmentTypeID]; t != nil {
		for _, a := range t.Specialists {
			tm.events.Publish(ctx, holds.Event{Kind: holds.EventAvailability,
				Span: holds.Span{SpecialistID: a.SpecialistID}, Generation: generation})
		}
	}
}

// OpeningsKnown describes the stored openings of one type.
type OpeningsKnown struct {
	AppointmentTypeID string
	Used              bool // the page offers only slots within these openings
	Days              int  // the number of days with usable openings
	Oldest, Newest    time.Time
}

// OpeningsKnown returns how old the openings of each type are, by type id. It leaves out types without usable openings.
func (tm *Time) OpeningsKnown() []OpeningsKnown {
	now := time.Now()
	var list []OpeningsKnown
	tm.open.mu.RLock()
	defer tm.open.mu.RUnlock()
	for id, known := range tm.open.types {
		x := OpeningsKnown{AppointmentTypeID: id}
		for _, day := range known.days {
			if now.Sub(day.asked) > tm.open.maxAge {
				continue
			}
			if x.Days++; x.Oldest.IsZero() || day.asked.Before(x.Oldest) {
				x.Oldest = day.asked
			}
			if day.asked.After(x.Newest) {
				x.Newest = day.asked
			}
		}
		if x.Used = known.lists && x.Days > 0; x.Days > 0 {
			list = append(list, x)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].AppointmentTypeID < list[j].AppointmentTypeID })
	return list
}

// merged returns the same intervals sorted by start, joined if they touch or overlap.
func merged(list []Interval) []Interval {
	slices.SortFunc(list, func(a, b Interval) int { return a.From.Compare(b.From) })
	var joined []Interval
	for _, i := range list {
		if n := len(joined); n > 0 && !i.From.After(joined[n-1].To) {
			if i.To.After(joined[n-1].To) {
				joined[n-1].To = i.To
			}
			continue
		}
		joined = append(joined, i)
	}
	return joined
}

func sameIntervals(a, b map[string][]Interval) bool {
	if len(a) != len(b) {
		return false
	}
	for id, list := range a {
		if !slices.EqualFunc(list, b[id], func(x, y Interval) bool {
			return x.From.Equal(y.From) && x.To.Equal(y.To)
		}) {
			return false
		}
	}
	return true
}
