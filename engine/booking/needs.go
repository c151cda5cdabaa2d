package booking

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// Candidates lists the specialists (or the one named) who could take the slot, holds aside. Where there are none it
// says why: store.ErrSlotTaken if a booked appointment is the reason for any of them, else *NotBookableError.
func (bk *Booking) Candidates(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, specialistID string, start, now time.Time,
	rules CandidateRules) ([]candidate, error) {
	found, err := bk.candidates(ctx, s, t, specialistID, start, now, rules)
	if err != nil || len(t.Needs) == 0 {
		return found, err
	}
	first, last := availability.Around(t, start, start)
	needs, err := bk.Needs(ctx, s, t, first, last, rules.moving)
	if err != nil {
		return nil, err
	}
	groups := needs.Free(start, rules.IgnoreHours)
	if slices.ContainsFunc(groups, func(group []string) bool { return len(group) == 0 }) {
		return nil, store.ErrSlotTaken
	}
	for i := range found {
		found[i].needs = groups
	}
	return found, nil
}

// Needs is what slots of t need besides their specialists, by what is taken between two instants.
func (bk *Booking) Needs(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, first, last time.Time, moving string) (*availability.Needs, error) {
	if len(t.Needs) == 0 {
		return nil, nil
	}
	taken, err := bk.TakenTime(ctx, availability.ResourcesOf(t), first, last)
	return availability.NeedsOf(s.Calendars, t, taken, moving), err
}

// serving returns the active specialists of a type, or the named one of them, sorted by id.
func serving(s *clinic.Schedule, t *store.AppointmentType, specialistID string) []string {
	var ids []string
	for _, a := range t.Specialists {
		if specialistID != "" && specialistID != a.SpecialistID {
			continue
		}
		if p := s.SpecialistByID[a.SpecialistID]; p != nil && p.Active {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// concerned returns the ids whose holds can change a list of the type: its specialists and its resources.
func concerned(s *clinic.Schedule, t *store.AppointmentType, specialistID string) []string {
	return slices.Concat(serving(s, t, specialistID), availability.ResourcesOf(t))
}
