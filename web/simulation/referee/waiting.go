package referee

import (
	"fmt"
	"slices"
	"time"
)

// Waiting is an entry on the waiting list for times with one specialist.
type Waiting struct {
	ID     string
	Place  int    // in the order of joining
	Last   string // local date: later times are not suitable
	Offers []Offer
}

// Offer is a time that has been offered to an entry.
type Offer struct {
	Span
	Open      bool
	Withdrawn bool // by the clinic: it may be offered again
	Until     time.Time
}

func (w *Waiting) open() *Offer {
	if i := slices.IndexFunc(w.Offers, func(o Offer) bool { return o.Open }); i >= 0 {
		return &w.Offers[i]
	}
	return nil
}

// wants reports whether an entry has no open offer and would accept a time: the time is suitable, and has not been
// offered to the entry before.
func (r *Referee) wants(w *Waiting, start time.Time) bool {
	return w.open() == nil && start.In(r.Zone).Format(time.DateOnly) <= w.Last &&
		!slices.ContainsFunc(w.Offers, func(o Offer) bool { return o.Start.Equal(start) && !o.Withdrawn })
}

// times counts how often a time has been offered to an entry, not counting withdrawn offers.
func (w *Waiting) times(start time.Time) (n int) {
	for _, o := range w.Offers {
		if o.Start.Equal(start) && !o.Withdrawn {
			n++
		}
	}
	return n
}

// Waits judges a waiting list some minutes after the last change. A time may be offered to only one entry at a time, in
// turn, and not at all if it is booked. No entry may have two open offers. A free time must be offered if an entry
// wants it.
func (r *Referee) Waits(list []Waiting, free []time.Time, now time.Time) error {
	offered := map[int64]string{}
	for i := range list {
		w, open := &list[i], 0
		for _, o := range w.Offers {
			if !o.Open {
				continue
			}
			open++
			if n := w.times(o.Start); n > 1 {
				return fmt.Errorf("%s is offered to %s again, offer number %d", o.Span, w.ID, n)
			}
			if other := offered[o.Start.Unix()]; other != "" {
				return fmt.Errorf("%s is offered to two entries: %s and %s", o.Span, other, w.ID)
			}
			offered[o.Start.Unix()] = w.ID
			if len(r.FreeSeats(o.Span, "")) == 0 {
				return fmt.Errorf("%s is offered to %s, but booked", o.Span, w.ID)
			}
			if now.Sub(o.Until) > time.Minute {
				return fmt.Errorf("the offer of %s to %s should have expired %s ago", o.Span, w.ID, now.Sub(o.Until))
			}
			if before := r.lines[o.Start.Unix()]; before != w.ID {
				if err := r.inTurn(list, w, o); err != nil {
					return err
				}
			}
		}
		if open > 1 {
			return fmt.Errorf("%s has %d concurrent offers", w.ID, open)
		}
	}
	for _, start := range free {
		if offered[start.Unix()] != "" || start.Sub(now) < 20*time.Minute {
			continue
		}
		for i := range list {
			if w := &list[i]; r.wants(w, start) {
				return fmt.Errorf("%s is free, but %s, who waits, got no offer", start.Format(time.RFC3339), w.ID)
			}
		}
	}
	r.lines, r.idle = offered, map[string]int{}
	for i := range list {
		if w := &list[i]; w.open() == nil {
			r.idle[w.ID] = len(w.Offers)
		}
	}
	return nil
}

// inTurn judges an offer that is new since the last check. The offer must not skip an earlier entry that wants the time
// now and has had no offer since the last check.
func (r *Referee) inTurn(list []Waiting, to *Waiting, o Offer) error {
	for i := range list {
		w := &list[i]
		if offers, idle := r.idle[w.ID]; idle && offers == len(w.Offers) && w.Place < to.Place && r.wants(w, o.Start) {
			return fmt.Errorf("%s was offered to %s, but %s comes first", o.Span, to.ID, w.ID)
		}
	}
	return nil
}
