// Package group books several appointments as one: a series or a visit.
//
// A series is several appointments for one patient ("six times, Tuesdays at nine"). They have the same SeriesID, but
// each can also be changed on its own. A visit is several patients' appointments, one after the other, with one
// specialist ("a parent and two children"). They have the same VisitID, and only their types' buffers separate them.
// One of them can be cancelled on its own. If the desk moves one on its own, that one leaves the visit. With the manage
// link of any of them, a patient can move or cancel the visit, or cancel one person (decision 119).
//
// # The contract
//
// Every change applies to all members or to none: booking, moving, cancelling and undoing. If the database refuses one
// member, it refuses all. The patient gets one email about all of them.
//
// # The walk
//
//  1. Look. look reads, once, the taken time, the held time and the free rooms around the wanted starts. Its
//     booking.Snapshot answers whether a specialist is free at a start, or why not (free.go).
//  2. Claim. secure holds the time and pins the hold, so that it cannot expire while the rows are written. A series
//     claims one hold for each member, a visit one hold for its whole time (claim.go).
//  3. Write. commit writes all members, their audit entries, their outbound operations and the saved response in one
//     transaction (write.go).
//  4. Settle. After the commit, the holds are confirmed. If the write failed, they are released.
//
// An undo takes the same four steps. It claims one hold for the previous time of each member, also in a visit, and
// restores the members with their old manage links. Staff can undo their own cancellation or move within
// booking.UndoTime, for all members that were changed together. No email has been sent to the patient by then.
//
//	series.go   plan and book a series              visit.go    hold and book a visit
//	slot.go     a visit as one slot                 listing.go  the starts at which a whole visit fits
//	change.go   cancel and move, both kinds         undo.go     undo, both kinds
package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/holds"
	"holdfast/store"
)

// ErrNoSeries reports that the appointment is not part of a series, and ErrNoVisit that it is not part of a visit.
var (
	ErrNoSeries = errors.New("this appointment is not part of a series")
	ErrNoVisit  = errors.New("this appointment is not part of a group visit")
)

// Conflict is one time in a series that is not free.
type Conflict struct {
	Place  int // index in the list of the request
	Reason availability.Reason
	Until  time.Time // when the hold that is in the way expires; zero if unknown
}

// ConflictError lists every time in a series that is not free, as far as the engine can determine this before it
// writes. Nothing has been written.
type ConflictError struct{ Conflicts []Conflict }

func (e *ConflictError) Error() string {
	list := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		list[i] = fmt.Sprintf("%d: %s", c.Place, c.Reason)
	}
	return "some of the times are not free: " + strings.Join(list, ", ")
}

// firstOf returns the reason of the first conflict as booking returns it for a single appointment, and any other error
// unchanged.
func firstOf(err error) error {
	var c *ConflictError
	switch {
	case !errors.As(err, &c):
		return err
	case c.Conflicts[0].Reason == availability.ReasonHeld:
		return &holds.HeldError{Until: c.Conflicts[0].Until}
	default:
		return &availability.NotBookableError{Reason: c.Conflicts[0].Reason}
	}
}

// Group books, moves, cancels and undoes several appointments as one. It is safe for concurrent use.
type Group struct {
	Series *Series
	Visit  *Visit
}

// Series is the part of Group for appointments for one patient.
type Series struct{ *mechanism }

// Visit is the part of Group for appointments for several patients, one after the other.
type Visit struct{ *mechanism }

// mechanism claims, writes, changes and undoes the members of both kinds of group.
type mechanism struct {
	store   store.Store
	holds   holds.Table
	clinic  *clinic.Clinic
	booking *booking.Booking
}

// New returns a Group.
func New(s store.Store, live holds.Table, c *clinic.Clinic, b *booking.Booking) *Group {
	m := &mechanism{s, live, c, b}
	return &Group{&Series{m}, &Visit{m}}
}

// Of lists all appointments in a series, sorted by start, including cancelled ones. Errors: store.ErrNotFound,
// ErrNoSeries.
func (se *Series) Of(ctx context.Context, appointmentID string) ([]store.Appointment, error) {
	a, err := se.booking.Appointment(ctx, appointmentID)
	if err != nil {
		return nil, err
	}
	return seriesOf(ctx, se.store, &a, store.AppointmentFilter{})
}

// Of lists all appointments in a visit, sorted by start, including cancelled ones. Errors: store.ErrNotFound,
// ErrNoVisit.
func (v *Visit) Of(ctx context.Context, appointmentID string) ([]store.Appointment, error) {
	a, err := v.booking.Appointment(ctx, appointmentID)
	if err != nil {
		return nil, err
	}
	return visitOf(ctx, v.store, &a, "")
}

// seriesOf lists the appointments in the same series as an appointment, filtered by f.
func seriesOf(ctx context.Context, r store.Reader, a *store.Appointment,
	f store.AppointmentFilter) ([]store.Appointment, error) {
	if a.SeriesID == "" {
		return nil, ErrNoSeries
	}
	f.SeriesID, f.Limit = a.SeriesID, 500
	list, _, err := r.Appointments(ctx, f)
	return list, err
}

// visitOf lists the appointments in the same visit as an appointment. If a status is given, it lists only the
// appointments with that status.
func visitOf(ctx context.Context, r store.Reader, a *store.Appointment, status store.Status) ([]store.Appointment,
	error) {
	if a.VisitID == "" {
		return nil, ErrNoVisit
	}
	list, _, err := r.Appointments(ctx, store.AppointmentFilter{VisitID: a.VisitID, Status: status, Limit: 500})
	return list, err
}

// now returns the current instant, truncated to the database's precision.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
