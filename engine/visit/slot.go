package visit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// slot is a visit as one slot: a type as long as all of its appointments, and where each of them is in it.
type slot struct {
	*store.AppointmentType                          // that of the first, with the time and the needs of all
	types                  []*store.AppointmentType // by person
	at                     []time.Duration          // of each, from the start of the first
}

// slotOf puts the types of a visit together, one by person. The gap between two is the larger of their buffers, as the guarantee has it.
//
// Errors: *ValidationError, record.ErrNoAppointmentType.
func slotOf(s *clinic.Schedule, ids []string) (*slot, error) {
	if len(ids) < 2 || len(ids) > MaxPeople {
		return nil, record.Invalid("people", "a visit is of 2 to %d people", MaxPeople)
	}
	return slotOfAny(s, ids)
}

// slotOfAny is slotOf for what is left of a visit, which may be one.
func slotOfAny(s *clinic.Schedule, ids []string) (*slot, error) {
	w := &slot{}
	var m record.Mistakes
	for i, id := range ids {
		t, ok := s.Types[id]
		if !ok {
			return nil, record.ErrNoAppointmentType
		}
		if t.Capacity > 1 {
			m.Add(fmt.Sprintf("people[%d].appointmentTypeId", i), "a group session cannot be part of a visit: book each person on a seat of it")
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
			whole.MinNoticeMinutes, whole.HorizonDays = max(whole.MinNoticeMinutes, t.MinNoticeMinutes), min(whole.HorizonDays, t.HorizonDays)
			whole.Active = whole.Active && t.Active
			whole.Specialists = slices.DeleteFunc(slices.Clone(whole.Specialists), func(a store.Assignment) bool { return !serves(t, a.SpecialistID) })
			var err error
			if whole.Needs, err = needsOf(whole.Needs, t.Needs); err != nil {
				return nil, err
			}
		}
		w.at = append(w.at, availability.Minutes(minutes))
	}
	last := w.types[len(w.types)-1]
	whole.DurationMinutes, whole.BufferAfterMinutes = minutes+last.DurationMinutes, last.BufferAfterMinutes
	if whole.DurationMinutes > 24*60 {
		return nil, record.Invalid("people", "all of them together take longer than a day")
	}
	if len(whole.Specialists) == 0 {
		return nil, record.Invalid("people", "nobody serves all of these appointment types")
	}
	w.AppointmentType = &whole
	return w, nil
}

func serves(t *store.AppointmentType, specialistID string) bool {
	return slices.ContainsFunc(t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == specialistID })
}

// needsOf adds the groups of a type to those of the people before: a room that both need is taken once, for all of the time. Two
// groups that share a part of their rooms cannot be chosen from one by one.
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
			return nil, record.Invalid("people", "the rooms that these appointment types need overlap in part; give the types the same group of rooms")
		}
	}
	return groups, nil
}

// spanOf is the time of one person of a visit.
func (w *slot) spanOf(i int, specialistID string, start time.Time) holds.Span {
	return availability.SpanOf(w.types[i], specialistID, start.Add(w.at[i]))
}

// resourcesOf are those of the visit that one person's type needs, in the order of its groups.
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

// rules say how a time is looked at.
type rules struct {
	ignoreHours bool            // outside opening times and blocks
	moving      map[string]bool // ids of appointments whose own time is free to them
}

// known is what is taken around the starts that are asked for.
type known struct {
	*slot
	*rules
	booking  *booking.Booking
	schedule *clinic.Schedule
	taken    []store.Taken
	own      map[string][]occupancy.Interval // where those that are moved stand, by specialist
	needs    *availability.Needs
}

// look reads what is taken of these specialists, and of the rooms, around the slots with from ≤ start < to.
func (v *Visits) look(ctx context.Context, s *clinic.Schedule, w *slot, ids []string, from, to time.Time, r *rules) (*known, error) {
	k := &known{slot: w, rules: r, booking: v.booking, schedule: s}
	first, last := availability.Around(w.AppointmentType, from, to)
	busy, err := v.booking.TakenTime(ctx, ids, first, last)
	if err != nil {
		return nil, err
	}
	k.own = r.standing(busy)
	k.taken = v.booking.WithClosed(k.others(busy), ids)
	if len(w.Needs) > 0 {
		if busy, err = v.booking.TakenTime(ctx, availability.ResourcesOf(w.AppointmentType), first, last); err != nil {
			return nil, err
		}
		k.needs = availability.NeedsOf(s.Calendars, w.AppointmentType, k.others(busy), "")
	}
	return k, nil
}

func (r *rules) others(busy []store.Taken) []store.Taken {
	if len(r.moving) == 0 {
		return busy
	}
	return slices.DeleteFunc(slices.Clone(busy), func(x store.Taken) bool { return r.moving[x.AppointmentID] })
}

// standing is the time of those that are moved, by specialist: those that follow one another as one stretch, with the buffers between.
func (r *rules) standing(busy []store.Taken) map[string][]occupancy.Interval {
	own, until := make(map[string][]occupancy.Interval), make(map[string]time.Time)
	for i := range busy {
		x := &busy[i]
		if !r.moving[x.AppointmentID] {
			continue
		}
		id := x.SpecialistID
		if n := len(own[id]); n > 0 && !x.BusyStart.After(until[id]) {
			own[id][n-1].To = x.SlotEnd
		} else {
			own[id] = append(own[id], occupancy.Interval{From: x.SlotStart, To: x.SlotEnd})
		}
		until[id] = x.BusyEnd
	}
	return own
}

// at says why the desk cannot book the visit with one specialist at a start, holds aside. Notice, horizon and the grid of starts are for patients.
func (k *known) at(specialistID string, start, now time.Time) availability.Reason {
	calendar := k.schedule.Calendars[specialistID]
	if calendar == nil || !serves(k.AppointmentType, specialistID) {
		return availability.ReasonInactive
	}
	if !k.ignoreHours {
		if start.Before(now) {
			return availability.ReasonTooSoon
		}
		switch reason := calendar.Bookable(booking.WithoutNotice(k.AppointmentType), start, nil, now); reason {
		case "", availability.ReasonNotASlotStart:
		default:
			return reason
		}
	}
	free := availability.FreeSeats(k.AppointmentType, availability.SpanOf(k.AppointmentType, specialistID, start), availability.TakenBy(k.taken, specialistID))
	if len(free) == 0 || !k.ignoreHours && !k.isOpen(specialistID, start, now) {
		return availability.ReasonTaken
	}
	if slices.ContainsFunc(k.needs.Free(start, k.ignoreHours), func(group []string) bool { return len(group) == 0 }) {
		return availability.ReasonTaken
	}
	return ""
}

// isOpen reports whether the practice system has the time of each of them open. The time that the visit itself has there counts as open.
func (k *known) isOpen(specialistID string, start, now time.Time) bool {
	own := k.own[specialistID]
	if len(own) == 0 {
		own = []occupancy.Interval{{}}
	}
	for i, t := range k.types {
		if !slices.ContainsFunc(own, func(mine occupancy.Interval) bool {
			return k.booking.IsOpen(k.schedule, t, specialistID, start.Add(k.slot.at[i]), mine, now)
		}) {
			return false
		}
	}
	return true
}

// free lists who could take the visit at a start, holds aside. Where nobody can it says why: store.ErrSlotTaken, *NotBookableError.
func (v *Visits) free(ctx context.Context, s *clinic.Schedule, w *slot, specialistID string, start time.Time, r *rules) (*known, []store.Assignment, error) {
	if specialistID != "" && !serves(w.AppointmentType, specialistID) {
		return nil, nil, record.Invalid("specialistId", "no specialist with this id serves all of these appointment types")
	}
	var ids []string
	for _, a := range w.Specialists {
		if specialistID == "" || a.SpecialistID == specialistID {
			ids = append(ids, a.SpecialistID)
		}
	}
	k, err := v.look(ctx, s, w, ids, start, start, r)
	if err != nil {
		return nil, nil, err
	}
	var found []store.Assignment
	var refusal availability.Reason
	for _, a := range w.Specialists {
		if !slices.Contains(ids, a.SpecialistID) {
			continue
		}
		switch reason := k.at(a.SpecialistID, start, time.Now()); {
		case reason == "":
			found = append(found, a)
		case refusal == "" || weight[reason] > weight[refusal]:
			refusal = reason
		}
	}
	switch {
	case len(found) > 0:
		return k, found, nil
	case refusal == availability.ReasonTaken:
		return nil, nil, store.ErrSlotTaken
	}
	return nil, nil, &availability.NotBookableError{Reason: refusal}
}

// weight orders the reasons of several specialists: the one that came closest to being free is told.
var weight = map[availability.Reason]int{
	availability.ReasonInactive: 1, availability.ReasonTooSoon: 2, availability.ReasonOutsideHours: 3, availability.ReasonOverrideClosed: 4, availability.ReasonTaken: 5,
}

// claim holds the visit with one of them: the assigned one, and while that is lost, the next. It takes out of found whom it tried.
func (v *Visits) claim(ctx context.Context, k *known, found *[]store.Assignment, start time.Time, c holds.Claim) (holds.Hold, error) {
	var lost *holds.HeldError
	for len(*found) > 0 {
		id, _ := availability.Assign(k.ID, start, *found)
		*found = slices.DeleteFunc(slices.Clone(*found), func(a store.Assignment) bool { return a.SpecialistID == id })
		c.Span, c.Seats, c.Needs = availability.SpanOf(k.AppointmentType, id, start), []int{0}, k.needs.Free(start, k.ignoreHours)
		h, err := v.holds.Claim(ctx, c)
		var held *holds.HeldError
		switch {
		case errors.As(err, &held):
			if lost == nil || held.Until.Before(lost.Until) {
				lost = held
			}
			continue
		case err != nil:
			return holds.Hold{}, err
		}
		// A booking keeps its time by a hold until what is taken is known here, so who looks again with the hold in hand cannot miss it.
		again, err := v.look(ctx, k.schedule, k.slot, []string{id}, start, start, k.rules)
		if err == nil && again.isTaken(&h) {
			v.booking.Release(ctx, h, holds.ReasonConflict)
			lost = &holds.HeldError{}
			continue
		}
		return h, nil
	}
	if lost == nil || lost.Until.IsZero() {
		return holds.Hold{}, store.ErrSlotTaken
	}
	return holds.Hold{}, lost
}

func (k *known) isTaken(h *holds.Hold) bool {
	return len(availability.FreeSeats(k.AppointmentType, h.Span, availability.TakenBy(k.taken, h.SpecialistID))) == 0 || !k.needs.Have(h)
}
