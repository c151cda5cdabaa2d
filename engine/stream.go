package engine

import (
	"context"

	"holdfast/holds"
)

// Watch follows every event of the live state from now on. A stream watches first and takes its Snapshot second, so
// that nothing falls between.
func (e *Engine) Watch(ctx context.Context) (holds.Watch, error) { return e.holds.Watch(ctx) }

// Epoch names this run of the event numbering.
func (e *Engine) Epoch() string { return e.holds.Epoch() }

// Concerns lists the appointment types whose streams an event belongs on: all those its specialist serves, because a
// hold taken for one type greys out the others as well.
func (e *Engine) Concerns(ev *holds.Event) []string {
	if ev.AppointmentTypeIDs != nil {
		return ev.AppointmentTypeIDs
	}
	return e.Serves(ev.SpecialistID)
}

// Snapshot returns what a new stream of one type is told first: the live holds of every specialist who serves it, and
// the generation of its slots, which is read before them. store.ErrNotFound.
func (e *Engine) Snapshot(ctx context.Context, appointmentTypeID string) (held []holds.Hold, generation uint64, err error) {
	t, err := e.AppointmentType(appointmentTypeID)
	if err != nil {
		return nil, 0, err
	}
	generation = e.Generation(t.ID)
	if len(t.Specialists) == 0 {
		return nil, generation, nil
	}
	ids := make([]string, len(t.Specialists))
	for i, a := range t.Specialists {
		ids[i] = a.SpecialistID
	}
	held, err = e.holds.List(ctx, ids...)
	return held, generation, err
}

// HoldStats counts the live state, for people who operate the server.
func (e *Engine) HoldStats(ctx context.Context) (holds.Stats, error) { return e.holds.Stats(ctx) }
