package booking

import (
	"context"
	"time"

	"holdfast/engine/clinic"
	"holdfast/holds"
)

// Watch returns a watch for all later events of the live state. A stream must call Watch before StreamStart, so that it
// misses no event in between.
func (bk *Booking) Watch(ctx context.Context) (holds.Watch, error) { return bk.holds.Watch(ctx) }

// Epoch returns the name of the current sequence of event numbers.
func (bk *Booking) Epoch() string { return bk.holds.Epoch() }

// AnnounceStream notifies the other nodes that a client has opened a live stream on this node.
func (bk *Booking) AnnounceStream(ctx context.Context, owner holds.Owner, connectionID string) error {
	return bk.holds.Publish(ctx, holds.Event{Kind: holds.EventStream, Owner: owner, ConnectionID: connectionID})
}

// StreamStart is the initial state of a new stream of times.
type StreamStart struct {
	Generation uint64 // generation of the slots, read before the other fields
	Holds      []holds.Hold
	Looking    []holds.Selection // selections of future slots
}

// StreamStart returns the holds and selections of all specialists of a type, or of all specialists if no type is given.
// Errors: store.ErrNotFound.
func (bk *Booking) StreamStart(ctx context.Context, appointmentTypeID string) (StreamStart, error) {
	s := StreamStart{Generation: bk.clinic.Generation(appointmentTypeID)}
	var ids []string
	if appointmentTypeID != "" {
		t, err := bk.clinic.AppointmentType(appointmentTypeID)
		if err != nil || len(t.Specialists) == 0 {
			return s, err
		}
		for _, a := range t.Specialists {
			ids = append(ids, a.SpecialistID)
		}
	}
	var err error
	if s.Holds, err = bk.holds.List(ctx, ids...); err != nil {
		return s, err
	}
	now := time.Now()
	s.Looking, err = bk.holds.Selected(ctx, now, now.AddDate(0, 0, clinic.MaxHorizonDays), ids...)
	return s, err
}
