package occupancy

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/upstream"
	"holdfast/holds"
	"holdfast/store"
)

// openings is what the practice system has open, by appointment type.
type openings struct {
	maxAge time.Duration

	mu    sync.RWMutex
	types map[string]*typeOpenings
}

type typeOpenings struct {
	lists bool // something was open at some time since the start
	days  map[store.Date]openDay
}

// openDay is one local day of the clinic. It is never changed.
type openDay struct {
	asked time.Time
	of    map[string][]Interval // by specialist; by start, apart from one another
}

// Interval is a stretch of time [From, To).
type Interval struct{ From, To time.Time }

// IsOpen reports whether the practice-management system has the time of a slot open, or has no openings for it that count. own are
// stretches that count as open too: the time of appointments that are being moved.
func (tm *Time) IsOpen(s *clinic.Schedule, t *store.AppointmentType, specialistID string, start time.Time, own []Interval, now time.Time) bool {
	tm.open.mu.RLock()
	defer tm.open.mu.RUnlock()
	known := tm.open.types[t.ID]
	if known == nil || !known.lists {
		return true
	}
	if p := s.SpecialistByID[specialistID]; p == nil || p.UpstreamColumnID == "" || p.UpstreamScheduleViewID == "" {
		return true // the practice system does not know this calendar
	}
	day, there := known.days[store.DateOf(start.In(s.Zone))]
	if !there || now.Sub(day.asked) > tm.open.maxAge {
		return true
	}
	open := day.of[specialistID]
	if len(own) > 0 {
		open = merged(slices.Concat(open, own))
	}
	end := start.Add(time.Duration(t.DurationMinutes) * time.Minute)
	return slices.ContainsFunc(open, func(i Interval) bool { return !start.Before(i.From) && !end.After(i.To) })
}

// OnlyOpen takes out of computed slots what the practice system does not have open. The calendars are those of these specialists.
func (tm *Time) OnlyOpen(s *clinic.Schedule, t *store.AppointmentType, rooms *availability.Rooms, specialists []string, now time.Time) *availability.Rooms {
	tm.open.mu.RLock()
	known := tm.open.types[t.ID]
	tm.open.mu.RUnlock()
	if known == nil {
		return rooms
	}
	return rooms.Only(func(start time.Time, who int) bool { return tm.IsOpen(s, t, specialists[who], start, nil, now) })
}

// LearnOpenings takes in what the practice system, asked at an instant, has open for a type on the days from first to before
// end, by specialist. It opens what was closed there, and has everybody list anew if anything is different.
func (tm *Time) LearnOpenings(ctx context.Context, appointmentTypeID string, first, end store.Date, bySpecialist map[string][]upstream.Opening, asked time.Time) {
	zone := tm.clinic.Zone()
	days := make(map[store.Date]openDay)
	for d := first; d.Before(end); d = d.AddDays(1) {
		days[d] = openDay{asked, make(map[string][]Interval)}
	}
	something := false
	for id, list := range bySpecialist {
		tm.OpenListed(ctx, id, list, asked)
		for _, o := range list {
			if day, ours := days[store.DateOf(o.Start.In(zone))]; ours {
				day.of[id] = append(day.of[id], Interval{o.Start, o.Start.Add(time.Duration(o.Minutes) * time.Minute)})
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

// ForgetOpenings lets go of days that are over and of what is too old to be believed, and has everybody list anew where that
// makes a difference.
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

// tellOpenings has everybody list a type anew.
func (tm *Time) tellOpenings(ctx context.Context, appointmentTypeID string) {
	generation := tm.clinic.MoveGenerations(appointmentTypeID)
	if t := tm.clinic.Current().Types[appointmentTypeID]; t != nil {
		for _, a := range t.Specialists {
			tm.events.Publish(ctx, holds.Event{Kind: holds.EventAvailability, Span: holds.Span{SpecialistID: a.SpecialistID}, Generation: generation})
		}
	}
}

// OpeningsKnown is what is known of the openings of one type.
type OpeningsKnown struct {
	AppointmentTypeID string
	Used              bool // the page offers only what is in them
	Days              int  // how many days are known
	Oldest, Newest    time.Time
}

// OpeningsKnown says how old the openings of each type are, by type id. Types of which nothing is known are left out.
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

// merged are the same stretches by start, joined where they touch or overlap.
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
		if !slices.EqualFunc(list, b[id], func(x, y Interval) bool { return x.From.Equal(y.From) && x.To.Equal(y.To) }) {
			return false
		}
	}
	return true
}
