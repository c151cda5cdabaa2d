package presence

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/store"
)

// History contains the periods between two instants during which a specialist was online.
type History struct {
	Zone  *time.Location         // the specialist's zone
	Log   []store.PresenceChange // the changes between the two instants, earliest first
	Spans []OnlineSpan           // the periods in which the specialist was online, within the two instants
	Days  []OnlineDay            // each local day that has begun, in order
}

// OnlineSpan is a stretch of time during which a specialist was online.
type OnlineSpan struct {
	From, To time.Time
	// the change that ended the span, as in store.PresenceChange; empty if the span had not ended by the end of the
	// requested range
	Ended string
}

// OnlineDay contains how long a specialist was online on one local day.
type OnlineDay struct {
	Date   store.Date
	Online time.Duration
}

// MaxPresenceLines is the maximum number of log lines that History reads for one specialist.
const MaxPresenceLines = 20_000

// History reads the presence log of one specialist in [from, to). A span that has not ended counts up to now. Log lines
// are deleted once they reach a certain age, and a specialist counts as offline before the first remaining line.
// Errors: store.ErrNotFound.
func (pr *Presence) History(ctx context.Context, specialistID string, from, to time.Time) (History, error) {
	s := pr.clinic.Current()
	if s.SpecialistByID[specialistID] == nil {
		return History{}, store.ErrNotFound
	}
	log, err := pr.store.PresenceLog(ctx, specialistID, MaxPresenceLines)
	if err != nil {
		return History{}, err
	}
	slices.Reverse(log) // earliest first; changes at the same instant stay in the order in which they were written
	h := History{Zone: s.Calendars[specialistID].Zone()}
	h.Spans = OnlineSpans(log, from, to, time.Now())
	h.Days = OnlineDays(h.Spans, h.Zone, from, to, time.Now())
	h.Log = slices.DeleteFunc(log, func(c store.PresenceChange) bool { return c.At.Before(from) || !c.At.Before(to) })
	return h, nil
}

// OnlineSpans returns the spans in [from, to), up to now, during which a specialist was online. The log must be in
// order, earliest line first.
func OnlineSpans(log []store.PresenceChange, from, to, now time.Time) (spans []OnlineSpan) {
	if to.After(now) {
		to = now
	}
	add := func(begin, end time.Time, ended string) {
		if end.After(to) {
			end, ended = to, ""
		}
		if begin.Before(from) {
			begin = from
		}
		if begin.Before(end) {
			spans = append(spans, OnlineSpan{begin, end, ended})
		}
	}
	var since time.Time // zero means offline
	for _, c := range log {
		switch {
		case c.Change == "online" && since.IsZero():
			since = c.At
		case c.Change != "online" && c.Change != "activated" && !since.IsZero():
			add(since, c.At, c.Change)
			since = time.Time{}
		}
	}
	if !since.IsZero() {
		add(since, to, "")
	}
	return spans
}

// OnlineDays adds up the spans for each local day that overlaps [from, to) and has begun by now. A local day can have
// 23 or 25 hours.
func OnlineDays(spans []OnlineSpan, zone *time.Location, from, to, now time.Time) (days []OnlineDay) {
	if to.After(now) {
		to = now
	}
	for d := store.DateOf(from.In(zone)); ; d = d.AddDays(1) {
		begin, end := availability.StartOfDay(zone, d), availability.StartOfDay(zone, d.AddDays(1))
		if !begin.Before(to) {
			return days
		}
		day := OnlineDay{Date: d}
		for _, s := range spans {
			first, last := s.From, s.To
			if first.Before(begin) {
				first = begin
			}
			if last.After(end) {
				last = end
			}
			day.Online += max(0, last.Sub(first))
		}
		days = append(days, day)
	}
}
