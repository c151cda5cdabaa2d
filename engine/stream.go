package engine

import (
	"context"
	"time"

	"holdfast/holds"
	"holdfast/store"
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

// Snapshot is what a new stream is told: of the time of some specialists, what is held and which slots that are not over
// somebody is looking at; or who is online and which sessions are open.
type Snapshot struct {
	Generation uint64 // of the slots, read before the rest
	Holds      []holds.Hold
	Looking    []holds.Selection
	Presence   []holds.Event // as if they had just happened; they have no number
}

// Snapshot returns what is held and looked at of every specialist who serves a type, or of all if no type is given. store.ErrNotFound.
func (e *Engine) Snapshot(ctx context.Context, appointmentTypeID string) (Snapshot, error) {
	s := Snapshot{Generation: e.Generation(appointmentTypeID)}
	var ids []string
	if appointmentTypeID != "" {
		t, err := e.AppointmentType(appointmentTypeID)
		if err != nil || len(t.Specialists) == 0 {
			return s, err
		}
		for _, a := range t.Specialists {
			ids = append(ids, a.SpecialistID)
		}
	}
	var err error
	if s.Holds, err = e.holds.List(ctx, ids...); err != nil {
		return s, err
	}
	now := time.Now()
	s.Looking, err = e.holds.Selected(ctx, now, now.AddDate(0, 0, maxHorizonDays), ids...)
	return s, err
}

// PresenceSnapshot returns who is online and which sessions are open.
func (e *Engine) PresenceSnapshot(ctx context.Context) (Snapshot, error) {
	s := Snapshot{Generation: e.Generation("")}
	online, err := e.Online(ctx)
	if err != nil {
		return s, err
	}
	for i := range online {
		s.Presence = append(s.Presence, holds.Event{
			Kind: holds.EventPresence, Span: holds.Span{SpecialistID: online[i].SpecialistID}, Reason: "online",
		})
	}
	open, err := e.Sessions(ctx, store.SessionFilter{
		Statuses: []store.SessionStatus{store.SessionRequested, store.SessionActive, store.SessionPendingPayment}, Limit: 500,
	})
	if err != nil {
		return s, err
	}
	for i := range open {
		x := &open[i]
		s.Presence = append(s.Presence, holds.Event{
			Kind: holds.EventSession, SessionID: x.ID, Span: holds.Span{SpecialistID: x.SpecialistID}, Reason: holds.Reason(x.Status), ExpiresAt: x.ExpiresAt,
		})
	}
	return s, nil
}

// HoldStats counts the live state, for people who operate the server.
func (e *Engine) HoldStats(ctx context.Context) (holds.Stats, error) { return e.holds.Stats(ctx) }
