package engine

import (
	"context"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// Explanation says whether one specialist could be booked at one start, and why not.
type Explanation struct {
	SpecialistID string
	Bookable     bool
	Reason       Reason    // empty when bookable
	HeldUntil    time.Time // with ReasonHeld: when the hold in the way lapses
}

// ReasonHeld is given by Explain alone: availability knows nothing of holds.
const ReasonHeld Reason = "held"

// Explain answers "why not 10:30?" for each specialist of a type, or for the one named. store.ErrNotFound,
// *ValidationError.
func (e *Engine) Explain(ctx context.Context, appointmentTypeID, specialistID string, start time.Time) ([]Explanation, error) {
	var m mistakes
	checkStart(&m, start)
	if err := m.err(); err != nil {
		return nil, err
	}
	s := e.Current()
	t, _, err := e.listing(s, appointmentTypeID, specialistID)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range t.Specialists {
		if s.specialists[a.SpecialistID] != nil && (specialistID == "" || a.SpecialistID == specialistID) {
			ids = append(ids, a.SpecialistID)
		}
	}
	first, last := Around(t, start, start)
	taken, err := e.store.Taken(ctx, ids, first, last)
	if err != nil {
		return nil, err
	}
	taken = e.closed.over(taken, ids)
	held, err := e.holds.List(ctx, ids...)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	answer := make([]Explanation, 0, len(ids))
	for _, id := range ids {
		x := Explanation{SpecialistID: id, Reason: s.calendars[id].Bookable(t, start, taken, now)}
		if x.Reason == "" {
			x.HeldUntil = heldUntil(t, SpanOf(t, id, start), taken, held)
			if !x.HeldUntil.IsZero() {
				x.Reason = ReasonHeld
			}
		}
		x.Bookable = x.Reason == ""
		answer = append(answer, x)
	}
	return answer, nil
}

// heldUntil is the latest end of the holds that keep every free seat of a span; zero if one can be had.
func heldUntil(t *store.AppointmentType, span holds.Span, taken []store.Taken, held []holds.Hold) time.Time {
	var inTheWay []holds.Hold
	for _, h := range held {
		if h.SpecialistID == span.SpecialistID {
			inTheWay = append(inTheWay, h)
		}
	}
	free := len(FreeSeats(t, span, taken))
	if others, _ := heldSeats(span, free, inTheWay, holds.Owner{}); others < free {
		return time.Time{}
	}
	var until time.Time
	for i := range inTheWay {
		h := &inTheWay[i]
		if (h.SameGroup(&span) || span.Conflicts(&h.Span)) && h.ExpiresAt.After(until) {
			until = h.ExpiresAt
		}
	}
	return until
}
