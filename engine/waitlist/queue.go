package waitlist

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// queue is the waiting list as one round reads it.
type queue struct {
	*Waitlist
	now     time.Time
	s       *clinic.Schedule
	entries []store.WaitlistEntry // the live entries, in their order
	offers  map[string][]store.WaitlistOffer
	busy    map[string]bool // entries with an open offer
	free    map[string][]booking.Timeslot
	asked   map[string]time.Time // by entry that settled has checked: the instant before which the entry wants a time
}

// queue reads the waiting list and ends the entries that have expired.
func (w *Waitlist) queue(ctx context.Context, now time.Time) (*queue, error) {
	q := &queue{
		Waitlist: w, now: now, s: w.Clinic.Current(), busy: make(map[string]bool),
		free: make(map[string][]booking.Timeslot), asked: make(map[string]time.Time),
	}
	entries, err := w.Store.WaitlistEntries(ctx)
	if err != nil {
		return nil, err
	}
	today := store.DateOf(now.In(q.s.Zone))
	for i := range entries {
		e := &entries[i]
		over := e.Wish.To.Before(today) || !e.Wish.SlotStart.IsZero() && !e.Wish.SlotStart.After(now) ||
			e.Status == store.WaitlistUnconfirmed && now.Sub(e.CreatedAt) >= confirmWithin
		if !over {
			q.entries = append(q.entries, *e)
			continue
		}
		if err := w.over(ctx, e, store.WaitlistLapsed, now); err != nil {
			return nil, err
		}
	}
	if q.offers, err = w.offersOf(ctx, q.entries); err != nil {
		return nil, err
	}
	for i := range q.entries {
		x := Waiting{q.entries[i], q.offers[q.entries[i].ID]}
		q.busy[x.ID] = x.Offer() != nil
	}
	return q, nil
}

// over ends an entry that can get no more offers.
func (w *Waitlist) over(ctx context.Context, e *store.WaitlistEntry, to store.WaitlistStatus, now time.Time) error {
	var ended []store.WaitlistOffer
	err := w.Store.Write(ctx, func(tx store.Tx) (err error) {
		ended, err = w.dropEntry(ctx, tx, e, to, system, now)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil // it has already ended
	}
	for _, o := range ended {
		w.end(o)
	}
	return err
}

// next reports whether an entry can get an offer now.
func (q *queue) next(e *store.WaitlistEntry) bool {
	t := q.s.Types[e.AppointmentTypeID]
	if e.Status != store.WaitlistWaiting || e.Patient.Email == "" || q.busy[e.ID] || t == nil || t.Page.Approval ||
		!q.automatic() {
		return false
	}
	return !slices.ContainsFunc(q.entries, func(o store.WaitlistEntry) bool {
		return q.busy[o.ID] && o.AppointmentTypeID == e.AppointmentTypeID && samePerson(&o, e)
	})
}

// wanted reports whether an entry can get an offer of a start. If the entry is settled, wanted ends it.
func (q *queue) wanted(ctx context.Context, e *store.WaitlistEntry, start time.Time) (bool, error) {
	if _, long := Until(q.s.Zone, q.Clinic.Settings().Waitlist.Keeps(), start, q.now); !long ||
		!suits(&e.Wish, start.In(q.s.Zone)) || offeredBefore(q.offers[e.ID], start) {
		return false, nil
	}
	before, asked := q.asked[e.ID]
	if !asked { // once per round, not once per free time
		done, wants, err := q.settled(ctx, e, q.now)
		switch {
		case err != nil:
			return false, err
		case done != "":
			q.busy[e.ID] = true
			return false, q.over(ctx, e, done, q.now)
		}
		before, q.asked[e.ID] = wants, wants
	}
	return before.IsZero() || start.Before(before), nil
}

// settled returns the final status of an entry that needs no more offers, and an empty status for all other entries. An
// entry is settled if the patient has booked the type since joining the list, or no longer has the appointment for
// which the entry wants an earlier time, or that appointment has started. While the desk can still undo the change that
// settled an entry, the entry is not settled. settled also returns the instant before which the entry wants a time;
// zero means any time.
func (w *Waitlist) settled(ctx context.Context, e *store.WaitlistEntry, now time.Time) (store.WaitlistStatus, time.Time,
	error) {
	if e.AppointmentID != "" {
		a, err := w.Store.Appointment(ctx, e.AppointmentID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return store.WaitlistLapsed, time.Time{}, nil
		case err != nil:
			return "", time.Time{}, err
		case e.AbsenceID == "" && !a.SlotStart.After(now):
			return store.WaitlistLapsed, time.Time{}, nil
		case w.concerns(e, &a):
			if replaced, err := w.isReplaced(ctx, e, &a); err != nil || replaced {
				return store.WaitlistRemoved, time.Time{}, err
			}
			return "", a.SlotStart, nil
		}
		if undoable, err := w.canBeUndone(ctx, &a); err != nil || undoable {
			w.stale.Store(true) // check again in the next round
			return "", time.Now(), err
		}
		return store.WaitlistLapsed, time.Time{}, nil
	}
	list, _, err := w.Store.Appointments(ctx, store.AppointmentFilter{
		From: e.CreatedAt, Status: store.Confirmed, Query: e.Patient.Email, Limit: 200,
	})
	if err != nil {
		return "", time.Time{}, err
	}
	if slices.ContainsFunc(list, func(a store.Appointment) bool {
		return a.AppointmentTypeID == e.AppointmentTypeID && a.CreatedAt.After(e.CreatedAt) &&
			booking.SameAddress(a.Patient.Email, e.Patient.Email) &&
			store.Fold(a.Patient.Name) == store.Fold(e.Patient.Name)
	}) {
		return store.WaitlistBooked, time.Time{}, nil
	}
	return "", time.Time{}, nil
}

// concerns reports whether an appointment still needs the time that its entry wants: another time, because the
// specialist is absent, or an earlier time.
func (w *Waitlist) concerns(e *store.WaitlistEntry, a *store.Appointment) bool {
	if e.AbsenceID != "" {
		// A new entry is not checked: another node may have recorded an absence that this node does not have yet.
		return e.Displaced.From(a) && a.AppointmentTypeID == e.AppointmentTypeID &&
			(w.isAbsent(e) || time.Since(e.CreatedAt) < quiet)
	}
	return a.Status == store.Confirmed && a.AppointmentTypeID == e.AppointmentTypeID &&
		// if the desk has corrected the email address, the old address belongs to another person
		booking.SameAddress(a.Patient.Email, e.Patient.Email)
}

// canBeUndone reports whether the desk can still undo the last change to an appointment. Until it can no longer be
// undone, the appointment's entry and offer do not change.
func (w *Waitlist) canBeUndone(ctx context.Context, a *store.Appointment) (bool, error) {
	before, err := w.Store.UndoState(ctx, a.ID, a.Version)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && time.Now().Before(before.ExpiresAt), err
}

// handOn offers a held time to the next entry that it suits, or releases the time.
func (q *queue) handOn(ctx context.Context, o *store.WaitlistOffer) error {
	for i := range q.entries {
		e := &q.entries[i]
		if e.ID == o.EntryID || e.AppointmentTypeID != o.AppointmentTypeID || !q.next(e) ||
			!among(q.s, &e.Wish, o.SpecialistID, o.SlotStart) {
			continue
		}
		wanted, err := q.wanted(ctx, e, o.SlotStart)
		if err != nil {
			q.releaseHold(ctx, o)
			return err
		}
		if !wanted {
			continue
		}
		until, _ := Until(q.s.Zone, q.Clinic.Settings().Waitlist.Keeps(), o.SlotStart, q.now)
		h, err := q.holdOf(ctx, o, until)
		if err != nil {
			break // the time can no longer be held
		}
		made, err := q.offer(ctx, e, h, record.SpelledOwner(o.HoldOwner), until, system, nil)
		switch {
		case errors.Is(err, ErrOffered):
			continue
		case err != nil:
			q.releaseHold(ctx, o)
			return err
		}
		q.note(e, made)
		return nil
	}
	q.releaseHold(ctx, o)
	return nil
}

func (q *queue) note(e *store.WaitlistEntry, o store.WaitlistOffer) {
	q.busy[e.ID], q.offers[e.ID] = true, append(q.offers[e.ID], o)
	clear(q.free)
}

// offerAll offers the free times to the entries, in their order.
func (q *queue) offerAll(ctx context.Context) error {
	for i := range q.entries {
		e := &q.entries[i]
		if !q.next(e) {
			continue
		}
		if err := q.offerTo(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// offerTo offers an entry the first free time that suits it and can be held.
func (q *queue) offerTo(ctx context.Context, e *store.WaitlistEntry) error {
	free, err := q.freeOf(ctx, e.AppointmentTypeID)
	if err != nil {
		return err
	}
	for i := range free {
		slot := &free[i]
		if slot.Available == 0 || q.busy[e.ID] {
			continue
		}
		for _, id := range q.specialists(e, slot) {
			wanted, err := q.wanted(ctx, e, slot.Start)
			if err != nil {
				return err
			}
			if !wanted {
				break
			}
			until, _ := Until(q.s.Zone, q.Clinic.Settings().Waitlist.Keeps(), slot.Start, q.now)
			owner := record.NewOwner()
			h, err := q.Booking.HoldForRequest(ctx,
				booking.RequestedSlot{AppointmentTypeID: e.AppointmentTypeID, SpecialistID: id,
					Place: wantedPlace(q.s, &e.Wish), Start: slot.Start},
				owner, until.Add(passing))
			if lost(err) {
				continue // another client was faster
			}
			if err != nil {
				return err
			}
			o, err := q.offer(ctx, e, h, owner, until, system, nil)
			if err != nil {
				q.Booking.Release(ctx, h, holds.ReasonReleased)
				if errors.Is(err, ErrOffered) {
					return nil // another node was faster
				}
				return err
			}
			q.note(e, o)
			return nil
		}
	}
	return nil
}

// specialists returns the specialists to try for a slot, in order. If the entry accepts any specialist, the list
// contains one empty id, and the engine assigns a specialist at the place of the entry.
func (q *queue) specialists(e *store.WaitlistEntry, slot *booking.Timeslot) []string {
	suitable := slices.DeleteFunc(slices.Clone(slot.SpecialistIDs), func(id string) bool {
		return !among(q.s, &e.Wish, id, slot.Start)
	})
	if len(e.Wish.SpecialistIDs) == 0 && (len(suitable) > 0 || wantedPlace(q.s, &e.Wish) == "") {
		return []string{""}
	}
	return suitable
}

// freeOf lists the times of a type that can be booked online now, on the days for which there are entries.
func (q *queue) freeOf(ctx context.Context, appointmentTypeID string) ([]booking.Timeslot, error) {
	if list, ok := q.free[appointmentTypeID]; ok {
		return list, nil
	}
	t := q.s.Types[appointmentTypeID]
	today := store.DateOf(q.now.In(q.s.Zone))
	from, last := store.Date{}, store.Date{}
	for i := range q.entries {
		if e := &q.entries[i]; e.AppointmentTypeID == appointmentTypeID {
			if from == (store.Date{}) || e.Wish.From.Before(from) {
				from = e.Wish.From
			}
			if last.Before(e.Wish.To) {
				last = e.Wish.To
			}
		}
	}
	if from.Before(today) {
		from = today
	}
	if end := today.AddDays(t.HorizonDays + 1); end.Before(last) {
		last = end
	}
	all := []booking.Timeslot{}
	for day := from; !last.Before(day); day = day.AddDays(booking.MaxTimeslotDays) {
		to := day.AddDays(booking.MaxTimeslotDays)
		if end := last.AddDays(1); end.Before(to) {
			to = end
		}
		list, err := q.Booking.Timeslots(ctx, booking.TimeslotsRequest{
			AppointmentTypeID: appointmentTypeID, From: day, To: to,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, list.Slots...)
	}
	q.free[appointmentTypeID] = all
	return all, nil
}
