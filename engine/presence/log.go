package presence

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/store"
)

// History is when a specialist was online between two instants.
type History struct {
	Zone *time.Location         // the specialist's
	Log  []store.PresenceChange // the changes in between, the earliest first
	Days []OnlineDay            // every local day that has begun, in order
}

// OnlineDay is how long a specialist was online on one local day.
type OnlineDay struct {
	Date   store.Date
	Online time.Duration
}

// MaxPresenceLines is how far back the log of one specialist is read.
const MaxPresenceLines = 20_000

// PresenceHistory reads the presence log of one specialist in [from, to); what is still going on counts up to now. It knows
// what the log has: lines are forgotten by age, and a specialist counts as offline before the first of them. store.ErrNotFound.
func (pr *Presence) PresenceHistory(ctx context.Context, specialistID string, from, to time.Time) (History, error) {
	s := pr.clinic.Current()
	if s.SpecialistByID[specialistID] == nil {
		return History{}, store.ErrNotFound
	}
	log, err := pr.store.PresenceLog(ctx, specialistID, MaxPresenceLines)
	if err != nil {
		return History{}, err
	}
	slices.Reverse(log) // the earliest first; the order in which those of one instant were written stays
	h := History{Zone: s.Calendars[specialistID].Zone()}
	h.Days = OnlineDays(log, h.Zone, from, to, time.Now())
	h.Log = slices.DeleteFunc(log, func(c store.PresenceChange) bool { return c.At.Before(from) || !c.At.Before(to) })
	return h, nil
}

// OnlineDays adds up the time online of each local day that overlaps [from, to) and has begun at now. A day has the hours that
// its zone gives it, 23 and 25 included.
func OnlineDays(log []store.PresenceChange, zone *time.Location, from, to, now time.Time) []OnlineDay {
	if to.After(now) {
		to = now
	}
	var days []OnlineDay
	for d := store.DateOf(from.In(zone)); availability.StartOfDay(zone, d).Before(to); d = d.AddDays(1) {
		days = append(days, OnlineDay{Date: d})
	}
	add := func(begin, end time.Time) {
		for i := range days {
			first := slices.MaxFunc([]time.Time{begin, from, availability.StartOfDay(zone, days[i].Date)}, time.Time.Compare)
			last := slices.MinFunc([]time.Time{end, to, availability.StartOfDay(zone, days[i].Date.AddDays(1))}, time.Time.Compare)
			if first.Before(last) {
				days[i].Online += last.Sub(first)
			}
		}
	}
	var since time.Time // zero: offline
	for _, c := range log {
		switch {
		case c.Change == "online" && since.IsZero():
			since = c.At
		case c.Change != "online" && c.Change != "activated" && !since.IsZero():
			add(since, c.At)
			since = time.Time{}
		}
	}
	if !since.IsZero() {
		add(since, to)
	}
	return days
}
