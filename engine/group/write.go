package group

import (
	"context"
	"errors"
	"slices"
	"sort"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// place is the time and the rooms of one member.
type place struct {
	holds.Span
	resources []string
}

// member is one appointment of a group before and after a change. before is nil for a new appointment.
type member struct {
	before *store.Appointment
	after  store.Appointment
	same   bool // nothing changes, so nothing is written
}

// moved returns the change that moves an appointment to another time and other rooms.
func moved(a store.Appointment, to *place) member {
	x := member{before: &a, after: a}
	x.after.SpecialistID, x.after.Seat, x.after.Resources = to.SpecialistID, to.Seat, to.resources
	x.after.SlotStart, x.after.SlotEnd, x.after.BusyStart, x.after.BusyEnd = to.SlotStart, to.SlotEnd, to.BusyStart,
		to.BusyEnd
	x.after.Overbook, x.after.OverbookReason = false, ""
	x.same = !a.Overbook && x.stays()
	return x
}

// stays reports whether an appointment's time does not change.
func (x *member) stays() bool {
	b, a := x.before, &x.after
	return b != nil && b.SpecialistID == a.SpecialistID && b.SlotStart.Equal(a.SlotStart) && b.SlotEnd.Equal(a.SlotEnd)
}

// refusal is the database's refusal to write one member.
type refusal struct {
	error
	id string
}

func (r *refusal) Unwrap() error { return r.error }

// commit writes the members returned by read, with their records, in one transaction, and enqueues their operations
// after the commit. It may call read more than once. c contains the data that all members have in common. once stores
// the result of remembered or, if remembered is nil, all members. commit returns the members in their new state, sorted
// by start. If the database refuses one member, the error is a *refusal.
func (m *mechanism) commit(ctx context.Context, c booking.Change, once *record.Once,
	read func(store.Tx) ([]member, error),
	remembered func([]store.Appointment) any) (done []store.Appointment, err error) {
	var calls []booking.Promise
	err = m.store.Write(ctx, func(tx store.Tx) error {
		all, err := read(tx)
		if err != nil {
			return err
		}
		if calls, err = m.write(ctx, tx, c, inTurn(all)); err != nil {
			return err
		}
		done = done[:0]
		for i := range all {
			done = append(done, all[i].after)
		}
		sortByStart(done)
		if remembered != nil {
			return once.Remember(ctx, tx, remembered(done), c.At)
		}
		return once.Remember(ctx, tx, done, c.At)
	})
	if err != nil {
		return nil, err
	}
	m.booking.Enqueue(calls...)
	return done, nil
}

// write writes members in the given order.
func (m *mechanism) write(ctx context.Context, tx store.Tx, c booking.Change,
	turn []*member) (calls []booking.Promise, err error) {
	list := make([]store.Appointment, len(turn))
	for i := range turn {
		list[i] = turn[i].after
	}
	sortByStart(list)
	c.Together = list
	for _, x := range turn {
		if x.same {
			continue
		}
		x.after.UpdatedAt = c.At
		if !x.stays() {
			x.after.Place = m.clinic.Current().PlaceAt(x.after.SpecialistID, x.after.SlotStart)
		}
		m.booking.MarkUpstream(x.before, &x.after, c.Kind)
		if x.before == nil {
			err = tx.InsertAppointment(ctx, x.after)
		} else if err = tx.UpdateAppointment(ctx, x.after); err == nil {
			x.after.Version++
		}
		if err != nil {
			return nil, &refusal{err, x.after.ID}
		}
		one := c
		one.Before, one.After = x.before, &x.after
		if err := m.booking.Record(ctx, tx, &one); err != nil {
			return nil, err
		}
		calls = append(calls, one.Calls...)
	}
	return calls, nil
}

// inTurn orders members so that no member moves to a time before the member that currently occupies it has left,
// because the database checks one row at a time. A move preserves the chronological order, so there is always a member
// whose new time is free.
func inTurn(all []member) []*member {
	var turn, left []*member
	for i := range all {
		left = append(left, &all[i])
	}
	for len(left) > 0 {
		next := max(0, slices.IndexFunc(left, func(x *member) bool {
			return !slices.ContainsFunc(left, func(other *member) bool { return other != x && x.needsTimeOf(other) })
		}))
		turn, left = append(turn, left[next]), slices.Delete(left, next, next+1)
	}
	return turn
}

// needsTimeOf reports whether the new time of x conflicts with the current time of another member.
func (x *member) needsTimeOf(other *member) bool {
	a, b := &x.after, other.before
	if b == nil || b.Status != store.Confirmed || b.Overbook {
		return false
	}
	if a.SpecialistID != b.SpecialistID && !slices.ContainsFunc(a.Resources,
		func(id string) bool { return slices.Contains(b.Resources, id) }) {
		return false
	}
	return b.BusyStart.Before(a.SlotEnd) && a.SlotStart.Before(b.BusyEnd) || b.SlotStart.Before(a.BusyEnd) &&
		a.BusyStart.Before(b.SlotEnd)
}

// sortByStart uses sort.Slice because slices.SortFunc adds 10 KB of code for each large struct.
func sortByStart(list []store.Appointment) {
	sort.Slice(list, func(i, j int) bool { return list[i].SlotStart.Before(list[j].SlotStart) })
}

// create writes new appointments and ends their holds. If it fails, it leaves the holds to the caller.
func (m *mechanism) create(ctx context.Context, made []store.Appointment, held []holds.Hold, c booking.Change,
	once *record.Once) ([]store.Appointment, error) {
	c.Kind, c.At = booking.ChangeCreated, made[0].CreatedAt
	source := made[0].Source
	done, err := m.commit(ctx, c, once, func(store.Tx) ([]member, error) {
		all := make([]member, len(made))
		for i := range made {
			all[i].after = made[i]
			all[i].after.CreatedAt = c.At
		}
		return all, nil
	}, nil)
	if err != nil {
		m.booking.CountWrite(source, err)
		return nil, err
	}
	for range done {
		m.booking.CountWrite(source, nil)
	}
	m.confirm(ctx, held, done)
	return done, nil
}

// conflictOf converts the database's refusal of one member to a *ConflictError with the member's index in the request.
func conflictOf(err error, placeOf func(id string) int) error {
	var refused *refusal
	if errors.Is(err, store.ErrSlotTaken) && errors.As(err, &refused) {
		return &ConflictError{[]Conflict{{Place: placeOf(refused.id), Reason: availability.ReasonTaken}}}
	}
	return err
}
