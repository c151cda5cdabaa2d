package group

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// slot is the time that one of a group's holds covers: one appointment in a series, or a whole visit. For holds and the
// listing, a visit is one slot of one type that is as long as all of its appointments together. For the database, it is
// separate appointments.
type slot struct {
	*store.AppointmentType                          // the first type, with the duration and the needs of all
	types                  []*store.AppointmentType // one for each person
	// the start of each appointment, measured from the start of the first
	offsets []time.Duration
}

// slotOfOne returns the slot of one appointment in a series.
func slotOfOne(t *store.AppointmentType) *slot {
	return &slot{t, []*store.AppointmentType{t}, []time.Duration{0}}
}

// slotOf joins the types in a visit, one per person. The gap between two types is the larger of their buffers, as in
// the database.
//
// Errors: *ValidationError, record.ErrNoAppointmentType.
func slotOf(s *clinic.Schedule, ids []string) (*slot, error) {
	if len(ids) < 2 || len(ids) > MaxPeople {
		return nil, record.Invalid("people", "a visit has 2 to %d people", MaxPeople)
	}
	return slotOfAny(s, ids)
}

// slotToMove returns the slot of members that are being moved, and adds them to rule. A type can be archived after they
// were booked.
//
// Errors: *ValidationError, *NotBookableError.
func slotToMove(s *clinic.Schedule, list []store.Appointment, rule *rules) (*slot, error) {
	w, err := slotOfAny(s, rule.moves(list))
	if errors.Is(err, record.ErrNoAppointmentType) {
		err = &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	return w, err
}

// slotOfAny is like slotOf, but also accepts a single type: only one person of a visit may be left.
func slotOfAny(s *clinic.Schedule, ids []string) (*slot, error) {
	w := &slot{}
	var m record.Mistakes
	for i, id := range ids {
		t, ok := s.Types[id]
		if !ok {
			return nil, record.ErrNoAppointmentType
		}
		if t.Capacity > 1 {
			m.Add(fmt.Sprintf("people[%d].appointmentTypeId", i),
				"a group session cannot be part of a visit: book each person on a seat of it")
		}
		w.types = append(w.types, t)
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	whole := *w.types[0]
	minutes := 0
	for i, t := range w.types {
		if i > 0 {
			before := w.types[i-1]
			minutes += before.DurationMinutes + max(before.BufferAfterMinutes, t.BufferBeforeMinutes)
			whole.MinNoticeMinutes, whole.HorizonDays = max(whole.MinNoticeMinutes, t.MinNoticeMinutes),
				min(whole.HorizonDays, t.HorizonDays)
			whole.Active = whole.Active && t.Active
			whole.Specialists = slices.DeleteFunc(slices.Clone(whole.Specialists),
				func(a store.Assignment) bool { return !t.IsServedBy(a.SpecialistID) })
			var err error
			if whole.Needs, err = needsOf(whole.Needs, t.Needs); err != nil {
				return nil, err
			}
		}
		w.offsets = append(w.offsets, availability.Minutes(minutes))
	}
	last := w.types[len(w.types)-1]
	whole.DurationMinutes, whole.BufferAfterMinutes = minutes+last.DurationMinutes, last.BufferAfterMinutes
	if whole.DurationMinutes > 24*60 {
		return nil, record.Invalid("people", "together these appointments take longer than a day")
	}
	if len(whole.Specialists) == 0 {
		return nil, record.Invalid("people", "no specialist serves all of these appointment types")
	}
	w.AppointmentType = &whole
	return w, nil
}

// needsOf merges more, the room groups that one person's appointment type needs, into groups, which the people earlier
// in the visit need. A room that both need is reserved once, for the whole time. Two groups that share only some of
// their rooms are refused, because a choice in one group would limit the other.
func needsOf(groups, more []store.Need) ([]store.Need, error) {
	groups = slices.Clone(groups)
	for _, need := range more {
		at := slices.IndexFunc(groups, func(g store.Need) bool {
			return slices.ContainsFunc(g, func(id string) bool { return slices.Contains(need, id) })
		})
		switch {
		case at < 0:
			groups = append(groups, need)
		case !slices.Equal(slices.Sorted(slices.Values(groups[at])), slices.Sorted(slices.Values(need))):
			return nil, record.Invalid("people",
				"the rooms that these appointment types need overlap in part; give the types the same group of rooms")
		}
	}
	return groups, nil
}

// places returns the time and the rooms of each member of a visit, given the hold for the whole visit.
func (w *slot) places(h *holds.Hold) []place {
	to := make([]place, len(w.types))
	for i, t := range w.types {
		to[i] = place{availability.SpanOf(t, h.SpecialistID, h.SlotStart.Add(w.offsets[i])),
			w.resourcesOf(i, h.Resources)}
	}
	return to
}

// resourcesOf lists the rooms of the visit that one person's type needs, in the order of the type's groups.
func (w *slot) resourcesOf(i int, of holds.IDs) []string {
	var ids []string
	for _, need := range w.types[i].Needs {
		for _, id := range of.List() {
			if slices.Contains(need, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
