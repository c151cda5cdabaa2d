package group

import (
	"cmp"
	"context"
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

// rules say which obstacles count. The desk books groups, so notice, horizon and the grid of starts never count.
type rules struct {
	ignoreHours  bool            // outside opening times and blocks
	ignoreHolds  bool            // what other clients hold; the claim decides
	moving       map[string]bool // the ids of appointments that are being moved: their own time is free to them
	asking       holds.Owner     // whose own holds are no obstacle
	specialistID string          // empty: any who serves all types
}

// known is the taken and held time around the wanted starts.
type known struct {
	*slot
	*rules
	booking  *booking.Booking
	schedule *clinic.Schedule
	taken    []store.Taken
	own      map[string][]occupancy.Interval // where the appointments that are being moved are now, by specialist
	needs    *availability.Needs
	held     []holds.Hold // empty with ignoreHolds
}

// look reads the taken time of these specialists, and of the rooms, around the slots with from ≤ start ≤ to.
func (m *mechanism) look(ctx context.Context, s *clinic.Schedule, w *slot, ids []string, from, to time.Time, r *rules) (*known, error) {
	k := &known{slot: w, rules: r, booking: m.booking, schedule: s}
	if len(ids) == 0 {
		return k, nil
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	first, last := availability.Around(w.AppointmentType, from, to)
	busy, err := m.booking.TakenTime(ctx, ids, first, last)
	if err != nil {
		return nil, err
	}
	k.own = r.standing(busy)
	k.taken = m.booking.WithClosed(r.others(busy), ids)
	resources := availability.ResourcesOf(w.AppointmentType)
	if len(resources) > 0 {
		if busy, err = m.booking.TakenTime(ctx, resources, first, last); err != nil {
			return nil, err
		}
		k.needs = availability.NeedsOf(s.Calendars, w.AppointmentType, r.others(busy), "")
	}
	if !r.ignoreHolds {
		k.held, err = m.holds.List(ctx, slices.Concat(ids, resources)...)
	}
	return k, err
}

// others removes the time of the appointments that are being moved.
func (r *rules) others(busy []store.Taken) []store.Taken {
	if len(r.moving) == 0 {
		return busy
	}
	return slices.DeleteFunc(slices.Clone(busy), func(x store.Taken) bool { return r.moving[x.AppointmentID] })
}

// standing returns the time of the appointments that are being moved, by specialist. Appointments that follow one another are one
// interval, with the buffers between them.
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

// at returns why the desk cannot book the slot with one specialist at a start. An empty reason means that it can.
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
	seats := len(k.seats(specialistID, start))
	if seats == 0 || !k.ignoreHours && !k.isOpen(specialistID, start, now) {
		return availability.ReasonTaken
	}
	if slices.ContainsFunc(k.needs.Free(start, k.ignoreHours), func(group []string) bool { return len(group) == 0 }) {
		return availability.ReasonTaken
	}
	if k.isHeld(specialistID, start, seats) {
		return ReasonHeld
	}
	return ""
}

// seats lists the free seats of a specialist at a start.
func (k *known) seats(specialistID string, start time.Time) []int {
	return availability.FreeSeats(k.AppointmentType, availability.SpanOf(k.AppointmentType, specialistID, start), availability.TakenBy(k.taken, specialistID))
}

// isHeld reports whether other clients hold all of the free seats, or all rooms of a group.
func (k *known) isHeld(specialistID string, start time.Time, seats int) bool {
	if len(k.held) == 0 {
		return false
	}
	if k.needs.Left(start, k.held, k.asking) == 0 {
		return true
	}
	var near []holds.Hold
	for _, h := range k.held {
		if h.SpecialistID == specialistID {
			near = append(near, h)
		}
	}
	others, _ := booking.HeldSeats(availability.SpanOf(k.AppointmentType, specialistID, start), seats, near, k.asking)
	return others >= seats
}

// isOpen reports whether the practice-management system has the time of each member open. The time that the group itself has there
// counts as open.
func (k *known) isOpen(specialistID string, start, now time.Time) bool {
	own := k.own[specialistID]
	if len(own) == 0 {
		own = []occupancy.Interval{{}}
	}
	for i, t := range k.types {
		if !slices.ContainsFunc(own, func(mine occupancy.Interval) bool {
			return k.booking.IsOpen(k.schedule, t, specialistID, start.Add(k.offsets[i]), mine, now)
		}) {
			return false
		}
	}
	return true
}

// weight orders the reasons of several specialists. The answer is the reason of the specialist who came closest to being free.
var weight = map[availability.Reason]int{
	availability.ReasonInactive: 1, availability.ReasonTooSoon: 2, availability.ReasonOutsideHours: 3,
	availability.ReasonOverrideClosed: 4, availability.ReasonTaken: 5, ReasonHeld: 6,
}

// among returns those of the specialists who are free at a start, in the same order. If none is, it returns the reason.
func (k *known) among(ids []string, start, now time.Time) (free []string, reason availability.Reason) {
	for _, id := range ids {
		why := k.at(id, start, now)
		if why == "" {
			free = append(free, id)
		} else if reason == "" || weight[why] > weight[reason] {
			reason = why
		}
	}
	if len(free) > 0 {
		return free, ""
	}
	return nil, cmp.Or(reason, availability.ReasonInactive)
}

// find looks around one start and lists the specialists who can take the slot then: the one who is assigned first, then those who follow
// if a claim is lost. Holds of other clients do not count.
//
// Errors: store.ErrSlotTaken, *NotBookableError, *ValidationError.
func (m *mechanism) find(ctx context.Context, s *clinic.Schedule, w *slot, start time.Time, r rules) (*known, []string, error) {
	r.ignoreHolds = true
	if r.specialistID != "" && !serves(w.AppointmentType, r.specialistID) {
		return nil, nil, record.Invalid("specialistId", "no specialist with this id serves all of these appointment types")
	}
	var ids []string
	left := slices.Clone(w.Specialists)
	for len(left) > 0 {
		id, _ := availability.Assign(w.ID, start, left)
		left = slices.DeleteFunc(left, func(a store.Assignment) bool { return a.SpecialistID == id })
		if r.specialistID == "" || r.specialistID == id {
			ids = append(ids, id)
		}
	}
	k, err := m.look(ctx, s, w, ids, start, start, &r)
	if err != nil {
		return nil, nil, err
	}
	free, reason := k.among(ids, start, time.Now())
	switch reason {
	case "":
		return k, free, nil
	case availability.ReasonTaken:
		return nil, nil, store.ErrSlotTaken
	}
	return nil, nil, &availability.NotBookableError{Reason: reason}
}
