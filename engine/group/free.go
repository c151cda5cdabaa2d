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

// rules select the limits that apply. The minimum notice, the booking horizon and the grid of start times apply only to
// patients.
type rules struct {
	patient      bool            // a patient moves a visit
	ignoreHours  bool            // allow times outside opening times and in blocks
	ignoreHolds  bool            // ignore the holds of other clients; the claim decides
	replaces     string          // the id of a hold that will be released
	moving       map[string]bool // ids of the appointments being moved: their current times do not conflict
	moved        []holds.Booked  // the current times of the same appointments, for their claims
	owner        holds.Owner     // its own holds do not conflict
	specialistID string          // empty means any specialist who serves all types
}

// moves adds members that are being moved, and returns their types.
func (r *rules) moves(list []store.Appointment) (typeIDs []string) {
	r.moving = make(map[string]bool)
	for i := range list {
		r.moving[list[i].ID], r.moved = true, append(r.moved, occupancy.Booked(&list[i]))
		typeIDs = append(typeIDs, list[i].AppointmentTypeID)
	}
	return typeIDs
}

// known contains the taken and held time around the requested start times of a slot.
type known struct {
	*slot
	snapshot *booking.Snapshot
}

// look reads the taken and held time of these specialists, and of the rooms, around the slots with from ≤ start ≤ to.
func (m *mechanism) look(ctx context.Context, s *clinic.Schedule, w *slot, ids []string, from, to time.Time,
	r *rules) (*known, error) {
	rules := booking.Rules{Rules: availability.Rules{IgnoreHours: r.ignoreHours, IgnoreNotice: !r.patient,
		IgnoreGrid: !r.patient}, Moving: r.moving, Moved: r.moved}
	for i, t := range w.types {
		rules.Parts = append(rules.Parts, booking.Part{Type: t, After: w.offsets[i]})
	}
	snapshot, err := m.booking.Snapshot(ctx, booking.Question{
		Schedule: s, Types: []*store.AppointmentType{w.AppointmentType}, Specialists: ids, From: from, To: to,
		Rules:  rules,
		Client: r.owner, IgnoreHeld: r.ignoreHolds, Replaces: r.replaces,
	})
	return &known{w, snapshot}, err
}

// at returns the reason why the desk cannot book the slot with one specialist at a start time, or an empty reason if it
// can.
func (k *known) at(specialistID string, start time.Time) availability.Reason {
	_, refusal := k.snapshot.Offer(k.AppointmentType, specialistID, start)
	return refusal.Reason
}

// among returns the specialists in ids who are free at a start time, in the same order. If no specialist is free, it
// returns the refusal that came closest to an offer.
func (k *known) among(ids []string, start time.Time) (free []string, refusal booking.Refusal) {
	for _, id := range ids {
		_, why := k.snapshot.Offer(k.AppointmentType, id, start)
		if why.Reason == "" {
			free = append(free, id)
		} else if why.Reason.IsCloser(refusal.Reason) {
			refusal = why
		}
	}
	if len(free) > 0 {
		return free, booking.Refusal{}
	}
	refusal.Reason = cmp.Or(refusal.Reason, availability.ReasonInactive)
	return nil, refusal
}

// find reads the time around one start time and lists the specialists who can take the slot then: first the assigned
// one, then those to try if a claim fails. Other clients' holds count only if the slot replaces a hold, so that the
// replaced hold is not released unnecessarily.
//
// Errors: store.ErrSlotTaken, *holds.HeldError, *NotBookableError, *ValidationError.
func (m *mechanism) find(ctx context.Context, s *clinic.Schedule, w *slot, start time.Time, r rules) (*known,
	[]string, error) {
	r.ignoreHolds = r.replaces == ""
	if r.specialistID != "" && !w.AppointmentType.IsServedBy(r.specialistID) {
		return nil, nil, record.Invalid("specialistId",
			"no specialist with this id serves all of these appointment types")
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
	free, refusal := k.among(ids, start)
	return k, free, refusal.Err()
}
