package referee

import (
	"time"
)

// Wall returns the instant of a local date and minute. If the clocks skip the time, it moves forward by the gap. If the
// time occurs twice, Wall returns its first occurrence.
func Wall(zone *time.Location, y int, m time.Month, d, minute int) time.Time {
	asUTC := time.Date(y, m, d, 0, minute, 0, 0, time.UTC)
	offset := func(at time.Time) time.Duration {
		_, east := at.In(zone).Zone()
		return time.Duration(east) * time.Second
	}
	before, after := asUTC.Add(-offset(asUTC.Add(-24*time.Hour))), asUTC.Add(-offset(asUTC.Add(24*time.Hour)))
	shows := func(at time.Time) bool {
		local := at.In(zone)
		return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0,
			time.UTC).Equal(asUTC)
	}
	if !shows(before) && shows(after) {
		return after
	}
	return before
}

// Starts lists every start of a type in the hours of a specialist on one local date, booked or not. It ignores
// blocks.
func (r *Referee) Starts(kind, specialist string, y int, m time.Month, d int) (starts []time.Time) {
	t, s := r.Types[kind], r.Specialists[specialist]
	if _, serves := t.Priorities[specialist]; !serves {
		return nil
	}
	date := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	windows, special := s.Overrides[date.Format(time.DateOnly)]
	if !special {
		windows = s.Weekly[date.Weekday()]
	}
	for _, w := range windows {
		from, to := Wall(s.Zone, y, m, d, w.From), Wall(s.Zone, y, m, d, w.To)
		length, step := time.Duration(t.Minutes)*time.Minute, time.Duration(t.Step)*time.Minute
		for at := from; !at.Add(length).After(to); at = at.Add(step) {
			starts = append(starts, at.UTC())
		}
	}
	return starts
}

// PlaceOf returns the place where a specialist works at the start of a slot, and whether the slot is within the hours.
func (r *Referee) PlaceOf(s Span) (place string, within bool) {
	of := r.Specialists[s.Specialist]
	y, m, d := s.Start.In(of.Zone).Date()
	date := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	windows, special := of.Overrides[date.Format(time.DateOnly)]
	if !special {
		windows = of.Weekly[date.Weekday()]
	}
	for _, w := range windows {
		if !s.Start.Before(Wall(of.Zone, y, m, d, w.From)) && !s.End.After(Wall(of.Zone, y, m, d, w.To)) {
			return w.Place, true
		}
	}
	return "", false
}

// blocked reports whether any block of a slot's specialist overlaps the slot or its buffers.
func (r *Referee) blocked(s Span) bool {
	for _, b := range r.Specialists[s.Specialist].Blocks {
		if r.overlaps(s, b) {
			return true
		}
	}
	return false
}

// overlaps reports whether block b overlaps a slot or its buffers.
func (r *Referee) overlaps(s Span, b Block) bool {
	from := s.Start.Add(-time.Duration(r.Types[s.Type].Before) * time.Minute)
	to := s.End.Add(time.Duration(r.Types[s.Type].After) * time.Minute)
	return b.From.Before(to) && from.Before(b.To)
}

// Offered reports whether a patient could book a slot if it were free: the slot is within the hours, respects the
// notice, and is not blocked.
func (r *Referee) Offered(s Span, now time.Time) bool {
	notice := time.Duration(r.Types[s.Type].Notice) * time.Minute
	return !s.Start.Before(now.Add(notice)) && !s.Start.Before(now) && r.InHours(s)
}

// InHours reports whether a slot begins at a start within the hours and is not blocked.
func (r *Referee) InHours(s Span) bool {
	if r.blocked(s) {
		return false
	}
	local := s.Start.In(r.Specialists[s.Specialist].Zone)
	for _, at := range r.Starts(s.Type, s.Specialist, local.Year(), local.Month(), local.Day()) {
		if at.Equal(s.Start) {
			return true
		}
	}
	return false
}

// FreeSeats lists the seats of a slot that conflict with no confirmed appointment other than except.
func (r *Referee) FreeSeats(s Span, except string) (seats []int) {
	around := r.Around(s)
	for seat := range max(r.Types[s.Type].Capacity, 1) {
		s.Seat = seat
		free := true
		for _, a := range around {
			free = free && (a.ID == except || !r.Collide(s, a.Span))
		}
		if free {
			seats = append(seats, seat)
		}
	}
	return seats
}
