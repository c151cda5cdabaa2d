// Package series books several appointments of one patient together ("six times, Tuesdays at nine, any of the two"), and cancels
// or moves them from one of them on.
//
// # The contract
//
// Plan writes nothing: it says of every time whether it can be had, why not, and what is nearest. Book takes the times that were
// chosen, as they are or exchanged, and books all of them in one Write or none: there is no half series. So do CancelFrom and
// MoveFrom with what is changed, and Undo with what they did a moment ago. What the database refuses of one refuses all, and *ConflictError says which.
//
// # What a series is
//
// Appointments with the same SeriesID, and nothing else: each has a life of its own, is moved, cancelled and told of by itself, and
// stays of its series. Dates and times are the clinic's wall clock, so Tuesdays at nine are at nine before and after the clocks
// change.
package series

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MaxTimes is the most appointments of one series, and maxEvery the most weeks from one to the next.
const (
	MaxTimes = 52
	maxEvery = 12
	// maxAhead is how far ahead the last one may be.
	maxAhead = 2 * 366 * 24 * time.Hour
)

// ErrNone: the appointment stands alone.
var ErrNone = errors.New("this appointment belongs to no series")

// ReasonHeld is given where somebody else holds the time at the moment.
const ReasonHeld availability.Reason = "held"

// Conflict is one of the times asked for that cannot be had.
type Conflict struct {
	Place  int // in the list of the request
	Reason availability.Reason
}

// ConflictError names every time that cannot be had, as far as is known before anything is written. Nothing was.
type ConflictError struct{ Conflicts []Conflict }

func (e *ConflictError) Error() string {
	said := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		said[i] = fmt.Sprintf("%d: %s", c.Place, c.Reason)
	}
	return "some of the times cannot be had: " + strings.Join(said, ", ")
}

// Series books, cancels and moves several appointments together. It is safe for concurrent use.
type Series struct {
	store   store.Store
	holds   holds.Table
	clinic  *clinic.Clinic
	booking *booking.Booking
}

// New returns a Series.
func New(s store.Store, live holds.Table, c *clinic.Clinic, b *booking.Booking) *Series {
	return &Series{s, live, c, b}
}

// Of lists all appointments of the series that one belongs to, cancelled ones included, by start. store.ErrNotFound, ErrNone.
func (se *Series) Of(ctx context.Context, appointmentID string) ([]store.Appointment, error) {
	a, err := se.booking.Appointment(ctx, appointmentID)
	if err != nil {
		return nil, err
	}
	return listOf(ctx, se.store, &a, store.AppointmentFilter{})
}

// listOf lists the series of an appointment, narrowed by f.
func listOf(ctx context.Context, r store.Reader, a *store.Appointment, f store.AppointmentFilter) ([]store.Appointment, error) {
	if a.SeriesID == "" {
		return nil, ErrNone
	}
	f.SeriesID, f.Limit = a.SeriesID, 500
	list, _, err := r.Appointments(ctx, f)
	return list, err
}

// fromHereOn are the confirmed appointments of a series that begin with one or later, that one first.
func fromHereOn(ctx context.Context, r store.Reader, a *store.Appointment) ([]store.Appointment, error) {
	switch {
	case a.SeriesID == "":
		return nil, ErrNone
	case a.Status != store.Confirmed:
		return nil, record.ErrNotConfirmed
	}
	list, err := listOf(ctx, r, a, store.AppointmentFilter{Status: store.Confirmed, From: a.SlotStart})
	return slices.DeleteFunc(list, func(x store.Appointment) bool { return x.SlotStart.Before(a.SlotStart) }), err
}

// claim holds a time for one appointment of a series, so that nobody else begins to book it, and adds it to all. The reason says
// why it cannot be held. The owner is whose earlier hold of the same time is taken over; zero: nobody's.
func (se *Series) claim(ctx context.Context, all *claimed, place int, span holds.Span, seats []int, needs [][]string, owner holds.Owner, displace bool) (availability.Reason, error) {
	if owner.IsZero() {
		owner = record.NewOwner()
	}
	for range 3 { // one that is gone before it is pinned was displaced, and is claimed again
		h, err := se.holds.Claim(ctx, holds.Claim{
			Span: span, Seats: seats, Needs: needs, Owner: owner, TTL: booking.BookingTTL, MaxLife: booking.BookingTTL, Displace: displace,
		})
		if reason := reasonOf(err); reason != "" {
			return reason, nil
		}
		if err != nil {
			return "", err
		}
		if _, err = se.holds.Pin(ctx, h.ID, owner, booking.BookingPin); !errors.Is(err, holds.ErrNotFound) {
			*all = append(*all, placed{h, place})
			return "", err
		}
	}
	return "", fmt.Errorf("%w: what is held does not stay", holds.ErrUnavailable)
}

// claimed are the holds of one request, each with its place in it.
type claimed []placed

type placed struct {
	holds.Hold
	place int
}

func (se *Series) release(ctx context.Context, all claimed, reason holds.Reason) {
	for i := range all {
		se.booking.Release(ctx, all[i].Hold, reason)
	}
}

// reasonOf is what a refusal of a claim or of the database says of a time; nothing if it is another failure.
func reasonOf(err error) availability.Reason {
	var held *holds.HeldError
	switch {
	case errors.Is(err, store.ErrSlotTaken), errors.As(err, &held) && held.Until.IsZero():
		return availability.ReasonTaken
	case errors.As(err, &held):
		return ReasonHeld
	}
	return ""
}
