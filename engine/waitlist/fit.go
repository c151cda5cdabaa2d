package waitlist

import (
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/store"
)

const (
	// An offer by day is answered within its minutes; one that is made at night, on the clinic's clock, within as many of the morning.
	morning = 7 * 60
	evening = 21 * 60
	// lead is how long before its start an offer ends, and leastOffer how long it is open at least.
	lead       = 10 * time.Minute
	leastOffer = 5 * time.Minute
)

// Until is when an offer of a slot ends that is made now; false where there is too little time left for one.
func Until(zone *time.Location, keeps time.Duration, start, now time.Time) (time.Time, bool) {
	from, local := now, now.In(zone)
	date := store.DateOf(local)
	switch clock := local.Hour()*60 + local.Minute(); {
	case clock < morning:
		from = availability.WallTime(zone, date, morning)
	case clock >= evening:
		from = availability.WallTime(zone, date.AddDays(1), morning)
	}
	until := from.Add(keeps)
	if last := start.Add(-lead); last.Before(until) {
		until = last
	}
	return until.UTC().Truncate(time.Millisecond), !until.Before(now.Add(leastOffer))
}

// suits reports whether a start, on the clinic's clock, is one that is wished for.
func suits(w *store.WaitlistWish, start time.Time) bool {
	if !w.SlotStart.IsZero() {
		return w.SlotStart.Equal(start)
	}
	date, clock := store.DateOf(start), store.TimeOfDay(start.Hour()*60+start.Minute())
	latest := w.Latest
	if latest == 0 {
		latest = 24 * 60
	}
	return !date.Before(w.From) && !w.To.Before(date) && (len(w.Weekdays) == 0 || slices.Contains(w.Weekdays, store.Weekday(start.Weekday()))) &&
		w.Earliest <= clock && clock < latest
}

// among reports whether a specialist is one of those who are wished for.
func among(w *store.WaitlistWish, specialistID string) bool {
	return len(w.SpecialistIDs) == 0 || slices.Contains(w.SpecialistIDs, specialistID)
}

// offeredBefore reports whether somebody was offered a start already and did not take it. What was withdrawn counts for nothing.
func offeredBefore(offers []store.WaitlistOffer, start time.Time) bool {
	return slices.ContainsFunc(offers, func(o store.WaitlistOffer) bool { return o.SlotStart.Equal(start) && o.Status != store.OfferWithdrawn })
}

// unanswered is how many of the last offers in a row have lapsed.
func unanswered(offers []store.WaitlistOffer) (n int) {
	for _, o := range slices.Backward(offers) {
		switch o.Status {
		case store.OfferLapsed:
			n++
		case store.OfferWithdrawn:
		default:
			return n
		}
	}
	return n
}
