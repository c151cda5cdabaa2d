package booking

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Explanation says whether one specialist could be booked at one start, and why not.
type Explanation struct {
	SpecialistID string
	Bookable     bool
	Reason       availability.Reason // empty when bookable
	HeldUntil    time.Time           // with ReasonHeld: when the hold in the way lapses
}

// ReasonHeld is given by Explain alone: availability knows nothing of holds.
const ReasonHeld availability.Reason = "held"

// Explain answers "why not 10:30?" for each specialist of a type, or for the one named. store.ErrNotFound,
// *ValidationError.
func (se *Search) Explain(ctx context.Context, appointmentTypeID, specialistID string, start time.Time) ([]Explanation, error) {
	var m record.Mistakes
	record.CheckStart(&m, start)
	if err := m.Err(); err != nil {
		return nil, err
	}
	s := se.clinic.Current()
	t, _, err := s.Listed(appointmentTypeID, specialistID)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range t.Specialists {
		if s.SpecialistByID[a.SpecialistID] != nil && (specialistID == "" || a.SpecialistID == specialistID) {
			ids = append(ids, a.SpecialistID)
		}
	}
	resources := availability.ResourcesOf(t)
	// The holds before the bookings, as in List.
	held, err := se.holds.List(ctx, slices.Concat(ids, resources)...)
	if err != nil {
		return nil, err
	}
	first, last := availability.Around(t, start, start)
	known, err := se.store.Taken(ctx, ids, first, last)
	if err != nil {
		return nil, err
	}
	known = se.booking.WithClosed(known, ids)
	also, err := se.store.Taken(ctx, resources, first, last)
	if err != nil {
		return nil, err
	}
	needs := availability.NeedsOf(s.Calendars, t, also, "")
	now := time.Now()
	answer := make([]Explanation, 0, len(ids))
	for _, id := range ids {
		x := Explanation{SpecialistID: id, Reason: s.Calendars[id].Bookable(t, start, known, now)}
		if x.Reason == "" && !se.booking.IsOpen(s, t, id, start, occupancy.Interval{}, now) {
			x.Reason = availability.ReasonTaken // by somebody whom only the practice system knows
		}
		if x.Reason == "" && needs.Most(start) == 0 {
			x.Reason = availability.ReasonTaken // a room or a device that it needs
		}
		if x.Reason == "" {
			x.HeldUntil = heldUntil(t, availability.SpanOf(t, id, start), known, held)
			if x.HeldUntil.IsZero() && needs.Left(start, held, holds.Owner{}) == 0 {
				for i := range held {
					if held[i].Resources != "" && held[i].ExpiresAt.After(x.HeldUntil) {
						x.HeldUntil = held[i].ExpiresAt
					}
				}
			}
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
	free := len(availability.FreeSeats(t, span, taken))
	if others, _ := HeldSeats(span, free, inTheWay, holds.Owner{}); others < free {
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
