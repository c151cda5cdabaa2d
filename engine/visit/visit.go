// Package visit books several people one after the other with one specialist ("a parent and two children"), and moves, cancels and
// takes back what was done to all of them.
//
// # The contract
//
// A visit is held by one hold over all of its time, and written in one Write or not at all: there is no half visit, neither held nor
// booked. So it is with a move, a cancellation and what takes one of them back. What the database refuses of one refuses all.
//
// # What a visit is
//
// Appointments with the same VisitID, each with its own person and type, in the order in which they come, and nothing between them
// but the buffers of their types. To holds and to the listing it is one slot of one type, as long as all of them together (slot.go); to
// the guarantee it is its appointments. One of them can be cancelled alone by the desk; one that is moved alone is of the visit no more.
//
//	slot.go    the visit as one slot, and who has time for it      book.go    held and booked
//	change.go  cancelled and moved                                 undo.go    taken back
package visit

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MaxPeople is the most people of one visit.
const MaxPeople = 6

// ErrNone: the appointment is of no visit.
var ErrNone = errors.New("this appointment is of no visit")

// Visits holds, books, moves and cancels visits. It is safe for concurrent use.
type Visits struct {
	store   store.Store
	holds   holds.Table
	clinic  *clinic.Clinic
	booking *booking.Booking
}

// New returns a Visits.
func New(s store.Store, live holds.Table, c *clinic.Clinic, b *booking.Booking) *Visits {
	return &Visits{s, live, c, b}
}

// Of lists the appointments of the visit that one is of, cancelled ones included, by start. store.ErrNotFound, ErrNone.
func (v *Visits) Of(ctx context.Context, appointmentID string) ([]store.Appointment, error) {
	a, err := v.booking.Appointment(ctx, appointmentID)
	if err != nil {
		return nil, err
	}
	return listOf(ctx, v.store, &a, "")
}

// listOf lists the visit of an appointment; with a status, those that have it.
func listOf(ctx context.Context, r store.Reader, a *store.Appointment, status store.Status) ([]store.Appointment, error) {
	if a.VisitID == "" {
		return nil, ErrNone
	}
	list, _, err := r.Appointments(ctx, store.AppointmentFilter{VisitID: a.VisitID, Status: status, Limit: 500})
	return list, err
}

// changed is one appointment before and after.
type changed struct{ before, after store.Appointment }

func (c *changed) stays() bool {
	a, b := &c.before, &c.after
	return a.SpecialistID == b.SpecialistID && a.SlotStart.Equal(b.SlotStart) && a.SlotEnd.Equal(b.SlotEnd)
}

// commit writes all of them in the order given, with their records, in a transaction of the caller's. change is what they have in
// common; it answers them as they are now, by start.
func (v *Visits) commit(ctx context.Context, tx store.Tx, change booking.Change, all []changed) (result []store.Appointment, calls []booking.Promise, err error) {
	byStart := slices.Clone(all)
	// Not slices.SortFunc: for structs as large as these it is 10 KB of program each.
	sort.Slice(byStart, func(i, j int) bool { return byStart[i].after.SlotStart.Before(byStart[j].after.SlotStart) })
	for i := range byStart {
		change.Series = append(change.Series, byStart[i].after.ID)
	}
	for i := range all {
		before, after := &all[i].before, &all[i].after
		after.UpdatedAt = change.At
		after.Place = v.clinic.Current().PlaceAt(after.SpecialistID, after.SlotStart)
		v.booking.MarkUpstream(before, after, change.Kind)
		if err := tx.UpdateAppointment(ctx, *after); err != nil {
			return nil, nil, err
		}
		after.Version++
		c := change
		c.Before, c.After = before, after
		if err := v.booking.Record(ctx, tx, &c); err != nil {
			return nil, nil, err
		}
		calls = append(calls, c.Calls...)
		result = append(result, *after)
	}
	sort.Slice(result, func(i, j int) bool { return result[i].SlotStart.Before(result[j].SlotStart) })
	return result, calls, nil
}

// now is the instant of a change, as it is kept.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// unpinGrace is what an owner gets back whose booking could not be written, so that the page can try again.
const unpinGrace = 15 * time.Second

// letGo ends a hold whose Write failed: one that somebody came with is theirs again, unless the time is lost.
func (v *Visits) letGo(ctx context.Context, h *holds.Hold, given bool, err error) {
	switch {
	case errors.Is(err, store.ErrSlotTaken):
		v.booking.Release(ctx, *h, holds.ReasonConflict)
	case given:
		_, _ = v.holds.Unpin(context.WithoutCancel(ctx), h.ID, h.Owner, unpinGrace) // else it lapses by itself
	default:
		v.booking.Release(ctx, *h, holds.ReasonReleased)
	}
}

// ownerOf is the owner of a client's holds, or of those of this request alone.
func ownerOf(c holds.ClientID, once *record.Once) holds.Owner {
	if c == "" {
		return once.Owner()
	}
	return c.Owner()
}
