package waitlist

import (
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/message"
	"holdfast/store"
)

const (
	// An offer is open for the number of minutes in the clinic's settings. If the offer is made at night, these minutes
	// count from the morning. Night is from evening to morning on the clinic's clock. Both constants are minutes since
	// midnight.
	morning = message.OffersFrom * 60
	evening = 21 * 60
	// lead is the minimum time between the end of an offer and the start of its slot. leastOffer is the minimum time
	// for which an offer is open.
	lead       = 10 * time.Minute
	leastOffer = 5 * time.Minute
)

// Until returns when an offer that is made now for a slot with the given start ends. It returns false if too little
// time is left for an offer.
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

// suits reports whether a start, on the clinic's clock, matches the wish.
func suits(w *store.WaitlistWish, start time.Time) bool {
	if !w.SlotStart.IsZero() {
		return w.SlotStart.Equal(start)
	}
	date, clock := store.DateOf(start), store.TimeOfDay(start.Hour()*60+start.Minute())
	latest := w.Latest
	if latest == 0 {
		latest = 24 * 60
	}
	return !date.Before(w.From) && !w.To.Before(date) && (len(w.Weekdays) == 0 ||
		slices.Contains(w.Weekdays, store.Weekday(start.Weekday()))) &&
		w.Earliest <= clock && clock < latest
}

// among reports whether the wish includes a specialist, at the place where the specialist works at a start.
func among(s *clinic.Schedule, w *store.WaitlistWish, specialistID string, start time.Time) bool {
	place := wantedPlace(s, w)
	return (len(w.SpecialistIDs) == 0 || slices.Contains(w.SpecialistIDs, specialistID)) &&
		(place == "" || s.PlaceAt(specialistID, start) == place)
}

// wantedPlace returns the place of a wish; empty means any. If the clinic no longer has the place, any place suits.
func wantedPlace(s *clinic.Schedule, w *store.WaitlistWish) string {
	if s.Place(w.Place) == nil {
		return ""
	}
	return w.Place
}

// offeredBefore reports whether a start has been offered before. Withdrawn offers do not count.
func offeredBefore(offers []store.WaitlistOffer, start time.Time) bool {
	return slices.ContainsFunc(offers, func(o store.WaitlistOffer) bool {
		return o.SlotStart.Equal(start) && o.Status != store.OfferWithdrawn
	})
}

// unanswered returns how many of the latest consecutive offers have expired. It skips withdrawn offers.
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
