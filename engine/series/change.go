package series

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// From names an appointment, and with it all later ones of its series.
type From struct {
	ID      string
	Version int64 // the version of that one that the caller has seen; 0 = any
	// Reaches says whether the caller may change a specialist's calendar. Nil: all. One that is out of reach refuses all.
	Reaches func(specialistID string) bool
	Actor   record.Actor
	Silent  bool
	// Undoable: all of it can be taken back for booking.UndoTime, and nobody is told until then. For staff.
	Undoable bool
	Once     *record.Once // its result is []store.Appointment
}

// read finds them, and refuses what this caller may not change.
func (f *From) read(ctx context.Context, r store.Reader) ([]store.Appointment, error) {
	if !record.ValidID(f.ID) {
		return nil, store.ErrNotFound
	}
	a, err := r.Appointment(ctx, f.ID)
	if err != nil {
		return nil, err
	}
	if f.Version != 0 && a.Version != f.Version {
		return nil, store.ErrVersion
	}
	list, err := fromHereOn(ctx, r, &a)
	if err == nil && f.Reaches != nil && slices.ContainsFunc(list, func(x store.Appointment) bool { return !f.Reaches(x.SpecialistID) }) {
		err = record.ErrForbidden
	}
	return list, err
}

// changed is one appointment before and after.
type changed struct{ before, after store.Appointment }

// commit writes all of them, in the order given, with their records, in a transaction of the caller's. place counts how far it got.
func (se *Series) commit(ctx context.Context, tx store.Tx, f *From, kind, reason string, all []changed, now time.Time, place *int) (calls []booking.Promise, err error) {
	result := make([]store.Appointment, len(all))
	for i := range all {
		result[i] = all[i].after
	}
	byStart := func(i, j int) bool { return result[i].SlotStart.Before(result[j].SlotStart) }
	sort.Slice(result, byStart)
	ids := make([]string, len(all))
	for i := range result {
		ids[i] = result[i].ID
	}
	for i := range all {
		*place = i
		before, after := &all[i].before, &all[i].after
		after.UpdatedAt = now
		se.booking.MarkUpstream(before, after, kind)
		if err := tx.UpdateAppointment(ctx, *after); err != nil {
			return nil, err
		}
		after.Version++
		c := booking.Change{Kind: kind, Before: before, After: after, Actor: f.Actor, Reason: reason, Silent: f.Silent, Undoable: f.Undoable && f.Actor.AtDesk(), At: now, Series: ids}
		if err := se.booking.Record(ctx, tx, &c); err != nil {
			return nil, err
		}
		calls = append(calls, c.Calls...)
	}
	for i := range all {
		result[i] = all[i].after
	}
	sort.Slice(result, byStart)
	return calls, f.Once.Remember(ctx, tx, result, now)
}

// CancelFrom cancels one appointment and all later ones of its series that are confirmed, all or none. The patient gets one mail.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNone, record.ErrNotConfirmed, record.ErrForbidden, *ValidationError.
func (se *Series) CancelFrom(ctx context.Context, f From, reason string) ([]store.Appointment, error) {
	var m record.Mistakes
	record.CheckText(&m, "reason", reason, 500, true)
	if err := m.Err(); err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	var done []store.Appointment
	var calls []booking.Promise
	err := se.store.Write(ctx, func(tx store.Tx) error {
		list, err := f.read(ctx, tx)
		if err != nil {
			return err
		}
		all := make([]changed, len(list))
		for i, a := range list {
			all[i] = changed{a, a}
			all[i].after.Status, all[i].after.CancelledAt, all[i].after.CancelReason = store.Cancelled, now, reason
			if err := tx.FreeNonces(ctx, a.ID); err != nil {
				return err
			}
		}
		place := 0
		if calls, err = se.commit(ctx, tx, &f, booking.ChangeCancelled, reason, all, now, &place); err != nil {
			return err
		}
		done = make([]store.Appointment, len(all))
		for i := range all {
			done[i] = all[i].after
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	se.booking.Enqueue(calls...)
	return done, nil
}

// Move says where a series goes from one appointment on: each by as many days, and as much of the wall clock, as that one.
type Move struct {
	From
	SlotStart    time.Time // where the named one goes
	SpecialistID string    // for all of them; empty: each stays with whom it is
	Keep         []string  // ids of later ones that stay as they are
	Displace     bool      // over other clients' holds
}

// PlanMove lists where the appointments would go, and what is in the way. It writes and holds nothing.
//
// Errors: those of MoveFrom but *ConflictError.
func (se *Series) PlanMove(ctx context.Context, r Move) ([]Occurrence, error) {
	_, plan, _, err := se.planMove(ctx, &r)
	return plan, err
}

func (se *Series) planMove(ctx context.Context, r *Move) ([]store.Appointment, []Occurrence, *known, error) {
	if r.SlotStart.IsZero() || r.SlotStart.Year() < 2000 || r.SlotStart.Year() > 2200 {
		return nil, nil, nil, record.Invalid("slotStartDate", "must be an instant like 2026-11-23T09:00:00Z")
	}
	list, err := r.read(ctx, se.store)
	if err != nil {
		return nil, nil, nil, err
	}
	at := slices.IndexFunc(list, func(a store.Appointment) bool { return a.ID == r.ID })
	if at < 0 { // moved or cancelled since it was read
		return nil, nil, nil, store.ErrVersion
	}
	first := list[at]
	if slices.Contains(r.Keep, r.ID) {
		return nil, nil, nil, record.Invalid("keep", "the appointment that the move begins with is in it")
	}
	list = slices.DeleteFunc(list, func(a store.Appointment) bool { return slices.Contains(r.Keep, a.ID) })
	s := se.clinic.Current()
	t, ok := s.Types[first.AppointmentTypeID]
	if !ok {
		return nil, nil, nil, &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	if r.SpecialistID != "" && (s.Calendars[r.SpecialistID] == nil || !slices.ContainsFunc(t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == r.SpecialistID })) {
		return nil, nil, nil, record.Invalid("specialistId", "no specialist with this id serves this appointment type")
	}
	wall := func(at time.Time) (day, minute int) {
		local := at.In(s.Zone)
		return int(availability.DayOf(store.DateOf(local))), local.Hour()*60 + local.Minute()
	}
	oldDay, oldMinute := wall(first.SlotStart)
	newDay, newMinute := wall(r.SlotStart)
	moving, now := make(map[string]bool), time.Now()
	plan := make([]Occurrence, len(list))
	starts, ids := make([]time.Time, len(list)), []string(nil)
	for i, a := range list {
		day, minute := wall(a.SlotStart)
		at := day*24*60 + minute + (newDay-oldDay)*24*60 + newMinute - oldMinute
		date := store.DateOf(a.SlotStart.In(s.Zone)).AddDays(at/(24*60) - day)
		starts[i] = availability.WallTime(s.Zone, date, store.TimeOfDay(at%(24*60)))
		if a.ID == r.ID {
			starts[i] = r.SlotStart.UTC()
		}
		id := r.SpecialistID
		if id == "" {
			id = a.SpecialistID
		}
		ids, moving[a.ID] = append(ids, id), true
		plan[i] = Occurrence{AppointmentID: a.ID, Start: starts[i], End: starts[i].Add(availability.Minutes(t.DurationMinutes)), SpecialistIDs: []string{id}}
	}
	k, err := se.look(ctx, s, t, ids, starts, moving, holds.Owner{})
	if err != nil {
		return nil, nil, nil, err
	}
	if r.Displace {
		k.held = nil
	}
	for i := range plan {
		plan[i].Reason, _ = k.at(ids[i], starts[i], now)
	}
	return list, plan, k, nil
}

// MoveFrom moves one appointment and all later ones of its series, all or none: each new time is held first, and the moves are one
// Write. The patient gets one mail, and new manage links.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNone, record.ErrNotConfirmed, record.ErrForbidden, *NotBookableError,
// *ConflictError (places are those of PlanMove), *ValidationError.
func (se *Series) MoveFrom(ctx context.Context, r Move) ([]store.Appointment, error) {
	list, plan, k, err := se.planMove(ctx, &r)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	var held claimed
	var conflicts []Conflict
	for i := range plan { // nothing is held, and nobody displaced, before all conflicts are known
		if plan[i].Reason != "" {
			conflicts = append(conflicts, Conflict{i, plan[i].Reason})
		}
	}
	if conflicts != nil {
		return nil, &ConflictError{conflicts}
	}
	for i := range plan {
		reason, seats := k.at(plan[i].SpecialistIDs[0], plan[i].Start, now)
		if reason == "" {
			span := availability.SpanOf(k.t, plan[i].SpecialistIDs[0], plan[i].Start)
			if reason, err = se.claim(ctx, &held, i, span, seats, k.needs.Free(plan[i].Start, false), holds.Owner{}, r.Displace); err != nil {
				se.release(ctx, held, holds.ReasonReleased)
				return nil, err
			}
		}
		if reason != "" {
			conflicts = append(conflicts, Conflict{i, reason})
		}
	}
	if conflicts != nil {
		se.release(ctx, held, holds.ReasonReleased)
		return nil, &ConflictError{conflicts}
	}
	// The database looks at one row after the other, so each goes where the one before it has just left: the last one first when they
	// go forward.
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	if r.SlotStart.After(list[0].SlotStart) {
		slices.Reverse(order)
	}
	var all []changed
	var calls []booking.Promise
	place := 0
	err = se.store.Write(ctx, func(tx store.Tx) error {
		all = all[:0]
		for _, i := range order {
			a, err := tx.Appointment(ctx, list[i].ID)
			switch {
			case err != nil:
				return err
			case a.Status != store.Confirmed:
				return record.ErrNotConfirmed
			case a.ManageEpoch != list[i].ManageEpoch || a.SeriesID != list[i].SeriesID:
				return store.ErrVersion
			}
			x, h := changed{a, a}, &held[i]
			x.after.SpecialistID, x.after.Seat, x.after.Overbook, x.after.OverbookReason = h.SpecialistID, h.Seat, false, ""
			x.after.Resources = h.Resources.List()
			x.after.SlotStart, x.after.SlotEnd, x.after.BusyStart, x.after.BusyEnd = h.SlotStart, h.SlotEnd, h.BusyStart, h.BusyEnd
			x.after.Place = se.clinic.Current().PlaceAt(h.SpecialistID, h.SlotStart)
			x.after.ManageEpoch++
			all = append(all, x)
		}
		var err error
		calls, err = se.commit(ctx, tx, &r.From, booking.ChangeRescheduled, "", all, now, &place)
		return err
	})
	if err != nil {
		se.release(ctx, held, holds.ReasonReleased)
		if errors.Is(err, store.ErrSlotTaken) {
			return nil, &ConflictError{[]Conflict{{order[place], availability.ReasonTaken}}}
		}
		return nil, err
	}
	se.booking.Enqueue(calls...)
	done := make([]store.Appointment, len(all))
	for at, i := range order {
		done[i] = all[at].after
		se.booking.Confirm(ctx, held[i].Hold, done[i])
	}
	return done, nil
}
