package group

import (
	"context"
	"errors"
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

// Which selects the members that a change applies to by naming one of them: this appointment and all later ones in its
// series, or all appointments in its visit. Only confirmed appointments change.
type Which struct {
	ID      string
	Version int64 // the version of the named appointment that the caller has read; 0 means any
	// Reaches reports whether the caller is allowed to change a specialist's calendar. If any member is in a calendar
	// that the caller is not allowed to change, no member changes. If Reaches is nil, the caller may change all
	// calendars.
	Reaches func(specialistID string) bool
	Actor   record.Actor
	Silent  bool // no email and no text message
	// Undoable is for staff: they can undo the change for booking.UndoTime. No email is sent before that time has
	// passed.
	Undoable bool
	Once     *record.Once // the result that it stores is a []store.Appointment
}

// named reads the appointment that w names. Errors: store.ErrNotFound, store.ErrVersion.
func (w *Which) named(ctx context.Context, r store.Reader) (store.Appointment, error) {
	if !record.ValidID(w.ID) {
		return store.Appointment{}, store.ErrNotFound
	}
	a, err := r.Appointment(ctx, w.ID)
	if err == nil && w.Version != 0 && a.Version != w.Version {
		err = store.ErrVersion
	}
	return a, err
}

// mayChange returns record.ErrForbidden if there is an appointment that the caller is not allowed to change.
func (w *Which) mayChange(list []store.Appointment) error {
	for i := range list {
		if w.Reaches != nil && !w.Reaches(list[i].SpecialistID) {
			return record.ErrForbidden
		}
	}
	return nil
}

func (w *Which) change(kind, reason string, at time.Time) booking.Change {
	return booking.Change{ID: record.NewID(), Kind: kind, Actor: w.Actor, Reason: reason, Silent: w.Silent,
		Undoable: w.Undoable && w.Actor.AtDesk(), At: at}
}

// rest lists the confirmed appointments of a series, starting with the named one.
func (w *Which) rest(ctx context.Context, r store.Reader) ([]store.Appointment, error) {
	a, err := w.named(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case a.SeriesID == "":
		return nil, ErrNoSeries
	case a.Status != store.Confirmed:
		return nil, record.ErrNotConfirmed
	}
	list, err := seriesOf(ctx, r, &a, store.AppointmentFilter{Status: store.Confirmed, From: a.SlotStart})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(x store.Appointment) bool { return x.SlotStart.Before(a.SlotStart) })
	return list, w.mayChange(list)
}

// visitors lists the confirmed appointments in the same visit as the named one, sorted by start. The list is empty if
// all of them have been cancelled.
func (w *Which) visitors(ctx context.Context, r store.Reader) ([]store.Appointment, error) {
	a, err := w.named(ctx, r)
	if err != nil {
		return nil, err
	}
	list, err := visitOf(ctx, r, &a, store.Confirmed)
	if err != nil {
		return nil, err
	}
	return list, w.mayChange(list)
}

// Cancel is a request to cancel a group.
type Cancel struct {
	Which
	Reason string
	// CutOff is true if the patient cancels. The clinic's cut-off for changes applies to the first member. No member
	// may have an attendance that ends changes (Booking.PastCutOff).
	CutOff bool
	Only   string // the id of the only person in a visit whose appointment is cancelled; empty means all people
}

// Cancel cancels an appointment and all later confirmed ones in its series, or none of them. The patient gets one
// email.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNoSeries, record.ErrNotConfirmed, record.ErrCutOff,
// record.ErrForbidden, *ValidationError.
func (se *Series) Cancel(ctx context.Context, r Cancel) ([]store.Appointment, error) {
	return se.cancel(ctx, &r, r.rest)
}

// Cancel cancels all confirmed appointments in a visit, or none of them. If all have already been cancelled, it changes
// nothing and returns them. With Only, it does the same for the appointment of one person; the others keep their times.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNoVisit, record.ErrCutOff, record.ErrForbidden, *ValidationError.
func (v *Visit) Cancel(ctx context.Context, r Cancel) ([]store.Appointment, error) {
	return v.cancel(ctx, &r, func(ctx context.Context, tx store.Reader) ([]store.Appointment, error) {
		list, err := r.visitors(ctx, tx)
		if list = r.only(list); err != nil || len(list) > 0 {
			return list, err
		}
		a, err := r.named(ctx, tx)
		if err != nil {
			return nil, err
		}
		list, err = visitOf(ctx, tx, &a, "")
		if list = r.only(list); err == nil && len(list) == 0 {
			err = record.Invalid("only", "must be the id of an appointment in this visit")
		}
		return list, err
	})
}

// only returns the members of a visit that the request cancels.
func (r *Cancel) only(list []store.Appointment) []store.Appointment {
	if r.Only == "" {
		return list
	}
	return slices.DeleteFunc(list, func(a store.Appointment) bool { return a.ID != r.Only })
}

// Arrive records that the patient of an appointment has arrived, together with the people of the same visit who have
// the same contact details. It changes only those who are still expected. If the appointment is not part of a visit,
// its patient arrives alone. Arrive returns the named appointment.
//
// Errors: those of booking.Arrive, record.ErrForbidden.
func (v *Visit) Arrive(ctx context.Context, w Which) (store.Appointment, error) {
	a, err := w.named(ctx, v.store)
	switch {
	case err != nil:
		return a, err
	case a.VisitID == "":
		return v.booking.Arrive(ctx, w.ID, w.Version, w.Actor, w.Once)
	}
	w.Silent = true
	at := now()
	named := func(done []store.Appointment) any {
		return done[slices.IndexFunc(done, func(x store.Appointment) bool { return x.ID == w.ID })]
	}
	done, err := v.commit(ctx, w.change(booking.ChangeAttendance, "", at), w.Once, func(tx store.Tx) ([]member, error) {
		a, err := w.named(ctx, tx)
		if err != nil {
			return nil, err
		}
		before, err := visitOf(ctx, tx, &a, store.Confirmed)
		if err != nil {
			return nil, err
		}
		before = slices.DeleteFunc(before, func(x store.Appointment) bool {
			return x.ID != a.ID && !booking.SameContact(&x.Patient, &a.Patient)
		})
		after := slices.Clone(before)
		if _, err := v.booking.ArriveAll(&a, after, at); err != nil {
			return nil, err
		}
		all := make([]member, len(before))
		for i := range before {
			all[i] = member{before: &before[i], after: after[i], same: before[i].Attendance == after[i].Attendance}
		}
		return all, w.mayChange(before)
	}, named)
	if err != nil {
		return a, err
	}
	return named(done).(store.Appointment), nil
}

func (m *mechanism) cancel(ctx context.Context, r *Cancel, members func(context.Context,
	store.Reader) ([]store.Appointment, error)) ([]store.Appointment, error) {
	var wrong record.Mistakes
	record.CheckText(&wrong, "reason", r.Reason, 500, true)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	at := now()
	return m.commit(ctx, r.change(booking.ChangeCancelled, r.Reason, at), r.Once, func(tx store.Tx) ([]member, error) {
		list, err := members(ctx, tx)
		if err != nil {
			return nil, err
		}
		if r.CutOff && list[0].Status == store.Confirmed && m.booking.PastCutOff(at, list...) {
			return nil, record.ErrCutOff
		}
		all := make([]member, len(list))
		for i := range list {
			all[i] = member{before: &list[i], after: list[i], same: list[i].Status == store.Cancelled}
			if all[i].same {
				continue
			}
			all[i].after.Status, all[i].after.CancelledAt, all[i].after.CancelReason = store.Cancelled, at, r.Reason
			if err := tx.FreeNonces(ctx, list[i].ID); err != nil {
				return nil, err
			}
		}
		return all, nil
	}, nil)
}

// move moves the members to their new times and rooms, which the holds in held reserve. It ends those holds, except
// after an error. If no member would change, it writes nothing.
func (m *mechanism) move(ctx context.Context, w *Which, list []store.Appointment, to []place,
	held []holds.Hold) ([]store.Appointment, error) {
	stay := false
	done, err := m.commit(ctx, w.change(booking.ChangeRescheduled, "", now()), w.Once,
		func(tx store.Tx) ([]member, error) {
			all := make([]member, len(list))
			for i := range list {
				a, err := tx.Appointment(ctx, list[i].ID)
				switch {
				case err != nil:
					return nil, err
				case a.Status != store.Confirmed:
					return nil, record.ErrNotConfirmed
				case a.ManageEpoch != list[i].ManageEpoch,
					a.SeriesID != list[i].SeriesID, a.VisitID != list[i].VisitID:
					return nil, store.ErrVersion // the member has been moved since it was read
				}
				all[i] = moved(a, &to[i])
			}
			if stay = !slices.ContainsFunc(all, func(x member) bool { return !x.same }); stay {
				for i := range all {
					all[i].after = *all[i].before
				}
				return all, nil
			}
			for i := range all {
				all[i].same = false
				all[i].after.ManageEpoch++
			}
			return all, nil
		}, nil)
	switch {
	case err != nil:
		m.booking.CountMoves(0, err)
		return nil, err
	case stay:
		m.release(ctx, held, nil)
	default:
		m.booking.CountMoves(len(done), nil)
		m.confirm(ctx, held, done)
	}
	return done, nil
}

// SeriesMove is a request to move one appointment in a series and all later ones. Each member moves by the same number
// of days, and by the same amount of wall-clock time, as the named one.
type SeriesMove struct {
	Which
	SlotStart    time.Time // the new start of the named appointment
	SpecialistID string    // the specialist for all members; if empty, each keeps its own
	Keep         []string  // ids of later members that do not move
	Displace     bool      // displace other clients' holds
}

// PlanMove lists the times that the appointments would move to, and the conflicts. It does not write or hold anything.
//
// Errors: those of Move except *ConflictError.
func (se *Series) PlanMove(ctx context.Context, r SeriesMove) ([]Occurrence, error) {
	_, plan, _, err := se.planMove(ctx, &r, holds.Owner{})
	return plan, err
}

// planMove is like PlanMove, for the owner of a move's holds. The owner's own holds do not conflict.
func (se *Series) planMove(ctx context.Context, r *SeriesMove, owner holds.Owner) ([]store.Appointment, []Occurrence,
	[]wanted, error) {
	if r.SlotStart.IsZero() || r.SlotStart.Year() < 2000 || r.SlotStart.Year() > 2200 {
		return nil, nil, nil, record.Invalid("slotStartDate", "must be a time such as 2026-11-23T09:00:00Z")
	}
	list, err := r.rest(ctx, se.store)
	if err != nil {
		return nil, nil, nil, err
	}
	at := slices.IndexFunc(list, func(a store.Appointment) bool { return a.ID == r.ID })
	if at < 0 { // the named appointment was moved or cancelled after it was read
		return nil, nil, nil, store.ErrVersion
	}
	first := list[at]
	if slices.Contains(r.Keep, r.ID) {
		return nil, nil, nil, record.Invalid("keep", "must not contain the appointment that starts the move")
	}
	list = slices.DeleteFunc(list, func(a store.Appointment) bool { return slices.Contains(r.Keep, a.ID) })
	s := se.clinic.Current()
	t, ok := s.Types[first.AppointmentTypeID]
	if !ok {
		return nil, nil, nil, &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	if r.SpecialistID != "" && (s.Calendars[r.SpecialistID] == nil || !t.IsServedBy(r.SpecialistID)) {
		return nil, nil, nil, record.Invalid("specialistId", "no specialist with this id serves this appointment type")
	}
	wall := func(at time.Time) (day, minute int) {
		local := at.In(s.Zone)
		return int(availability.DayOf(store.DateOf(local))), local.Hour()*60 + local.Minute()
	}
	oldDay, oldMinute := wall(first.SlotStart)
	newDay, newMinute := wall(r.SlotStart)
	rule := &rules{moving: make(map[string]bool), ignoreHolds: r.Displace, owner: owner}
	plan := make([]Occurrence, len(list))
	starts, ids := make([]time.Time, len(list)), make([]string, len(list))
	for i, a := range list {
		day, minute := wall(a.SlotStart)
		at := day*24*60 + minute + (newDay-oldDay)*24*60 + newMinute - oldMinute
		date := store.DateOf(a.SlotStart.In(s.Zone)).AddDays(at/(24*60) - day)
		starts[i] = availability.WallTime(s.Zone, date, store.TimeOfDay(at%(24*60)))
		if a.ID == r.ID {
			starts[i] = r.SlotStart.UTC()
		}
		if ids[i] = r.SpecialistID; ids[i] == "" {
			ids[i] = a.SpecialistID
		}
		rule.moving[a.ID], rule.moved = true, append(rule.moved, occupancy.Booked(&a))
		plan[i] = Occurrence{AppointmentID: a.ID, Start: starts[i],
			End: starts[i].Add(availability.Minutes(t.DurationMinutes)), SpecialistIDs: ids[i : i+1]}
	}
	k, err := se.look(ctx, s, slotOfOne(t), ids, slices.MinFunc(starts, time.Time.Compare),
		slices.MaxFunc(starts, time.Time.Compare), rule)
	if err != nil {
		return nil, nil, nil, err
	}
	all := make([]wanted, len(plan))
	for i := range plan {
		plan[i].Reason = k.at(ids[i], starts[i])
		all[i] = wanted{known: k, start: starts[i], ids: ids[i : i+1], why: plan[i].Reason}
	}
	return list, plan, all, nil
}

// Move moves an appointment and all later ones in its series, or none of them. It first holds each new time and then
// writes all moves in one transaction. The patient gets one email with new manage links, and the old links stop
// working.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNoSeries, record.ErrNotConfirmed, record.ErrForbidden,
// *NotBookableError, *ConflictError (with the same places as PlanMove), *ValidationError.
func (se *Series) Move(ctx context.Context, r SeriesMove) (done []store.Appointment, err error) {
	defer func() { se.booking.CountRefusal(booking.ActMove, firstOf(err)) }()
	owner := booking.ClaimOwner(holds.Owner{}, r.Once)
	list, _, all, err := se.planMove(ctx, &r, owner)
	if err != nil {
		return nil, err
	}
	held, err := se.secureAll(ctx, all, owner, r.Displace)
	if err != nil {
		return nil, err
	}
	to := make([]place, len(held))
	for i := range held {
		to[i] = place{held[i].Span, held[i].Resources.List()}
	}
	done, err = se.move(ctx, &r.Which, list, to, held)
	if err != nil {
		se.release(ctx, held, err)
	}
	return done, conflictOf(err, func(id string) int {
		return slices.IndexFunc(list, func(a store.Appointment) bool { return a.ID == id })
	})
}

// VisitMove is a request to move a visit.
type VisitMove struct {
	Which
	SlotStart    time.Time // the new start of the first member
	SpecialistID string    // if empty, the same specialist if free, otherwise an assigned one
	Displace     bool      // displace other clients' holds
	IgnoreHours  bool      // allow a time outside opening times
	HoldID       string    // a hold that Client has on the new time, if any
	Client       holds.ClientID
	CutOff       bool // the patient moves: the rules for patients apply, and the cut-off of the first member
}

// Move moves all confirmed appointments in a visit, or none of them. They stay in the same order, one after the other.
// Move first holds the whole new time with a single hold, or uses the hold that the request names, and then writes all
// moves in one transaction. The old manage links stop working.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNoVisit, record.ErrNotConfirmed, record.ErrForbidden,
// record.ErrCutOff, record.ErrAsksDesk, *NotBookableError, store.ErrSlotTaken, *holds.HeldError, holds.ErrNotOwner,
// *ValidationError.
func (v *Visit) Move(ctx context.Context, r VisitMove) (done []store.Appointment, err error) {
	defer func() { v.booking.CountRefusal(booking.ActMove, err) }()
	var wrong record.Mistakes
	record.CheckStart(&wrong, r.SlotStart)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	list, err := r.visitors(ctx, v.store)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, record.ErrNotConfirmed
	case r.CutOff && v.booking.PastCutOff(now(), list...):
		return nil, record.ErrCutOff
	case r.CutOff && slices.ContainsFunc(list, func(a store.Appointment) bool { return v.booking.AsksDesk(&a) }):
		return nil, record.ErrAsksDesk
	}
	s := v.clinic.Current()
	rule := rules{ignoreHours: r.IgnoreHours, patient: r.CutOff}
	w, err := slotToMove(s, list, &rule)
	if err != nil {
		return nil, err
	}
	if r.HoldID != "" {
		h, err := v.holds.Pin(ctx, r.HoldID, r.Client.Owner(), booking.BookingPin)
		if err == nil {
			return v.moveHeld(ctx, s, w, &r, &h, list)
		}
		if !errors.Is(err, holds.ErrNotFound) {
			return nil, err
		}
	}
	rule.specialistID = r.SpecialistID
	if rule.specialistID == "" && w.AppointmentType.IsServedBy(list[0].SpecialistID) {
		rule.specialistID = list[0].SpecialistID
	}
	k, free, err := v.find(ctx, s, w, r.SlotStart, rule)
	if err != nil && r.SpecialistID == "" && rule.specialistID != "" {
		rule.specialistID = ""
		k, free, err = v.find(ctx, s, w, r.SlotStart, rule)
	}
	if err != nil {
		return nil, err
	}
	h, err := v.secure(ctx, k, &free, r.SlotStart, booking.ClaimOwner(r.Client.Owner(), r.Once), r.Displace)
	if err != nil {
		return nil, err
	}
	done, err = v.move(ctx, &r.Which, list, w.places(&h), []holds.Hold{h})
	if err != nil {
		v.release(ctx, []holds.Hold{h}, err)
	}
	return done, err
}

// moveHeld moves a visit to the time of a pinned hold.
func (v *Visit) moveHeld(ctx context.Context, s *clinic.Schedule, w *slot, r *VisitMove, h *holds.Hold,
	list []store.Appointment) ([]store.Appointment, error) {
	if err := v.checkHeld(ctx, s, w, h, r.SlotStart, r.SpecialistID, r.IgnoreHours); err != nil {
		return nil, err
	}
	done, err := v.move(ctx, &r.Which, list, w.places(h), []holds.Hold{*h})
	if err != nil {
		v.returnHold(ctx, h, err)
	}
	return done, err
}
