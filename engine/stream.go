package engine

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Watch returns a watch of all later events of the live state. A stream calls Watch first and Snapshot second, so
// that it misses no event in between.
func (e *Engine) Watch(ctx context.Context) (holds.Watch, error) { return e.holds.Watch(ctx) }

// AnnounceStream notifies the other nodes that a client has opened a live stream at this node.
func (e *Engine) AnnounceStream(ctx context.Context, owner holds.Owner, connectionID string) error {
	return e.holds.Publish(ctx, holds.Event{Kind: holds.EventStream, Owner: owner, ConnectionID: connectionID})
}

// Await returns when this node has applied the change with the number, of any node. Errors: the error of ctx,
// store.ErrClosed.
func (e *Engine) Await(ctx context.Context, number int64) error { return e.store.Await(ctx, number) }

// LastChange returns the number of the last change that this node has received.
func (e *Engine) LastChange() int64 { return e.store.LastChange() }

// Shared reports whether other nodes use the same store and live state.
func (e *Engine) Shared() bool { return e.options.Shared }

// Epoch returns the name of this run of the event numbering.
func (e *Engine) Epoch() string { return e.holds.Epoch() }

// Concerns lists the appointment types whose streams receive an event: all types of its specialist, because a hold
// for one type also makes slots of the others unavailable.
func (e *Engine) Concerns(ev *holds.Event) []string {
	if ev.AppointmentTypeIDs != nil {
		return ev.AppointmentTypeIDs
	}
	return e.Clinic.Serves(ev.SpecialistID)
}

// Affects lists the appointment types that need a room or a device of an event, and the newest of their generations.
// The event does not show which of their slots are left, so clients of these types must list again.
func (e *Engine) Affects(ev *holds.Event) (appointmentTypeIDs []string, generation uint64) {
	for _, id := range ev.Resources.List() {
		appointmentTypeIDs = append(appointmentTypeIDs, e.Clinic.Current().NeededBy[id]...)
	}
	slices.Sort(appointmentTypeIDs)
	appointmentTypeIDs = slices.Compact(appointmentTypeIDs)
	for _, id := range appointmentTypeIDs {
		generation = max(generation, e.Clinic.Generation(id))
	}
	return appointmentTypeIDs, generation
}

// Snapshot is the initial state of a new stream. It has either the holds of some specialists and the selections of
// their future slots, or the online specialists and the open sessions.
type Snapshot struct {
	Generation uint64 // of the slots, read before the rest
	Holds      []holds.Hold
	Looking    []holds.Selection
	Presence   []holds.Event // as if they had just happened; they have no number
}

// Snapshot returns the holds and selections of all specialists of a type, or of all specialists if no type is given.
// store.ErrNotFound.
func (e *Engine) Snapshot(ctx context.Context, appointmentTypeID string) (Snapshot, error) {
	s := Snapshot{Generation: e.Clinic.Generation(appointmentTypeID)}
	var ids []string
	if appointmentTypeID != "" {
		t, err := e.Clinic.AppointmentType(appointmentTypeID)
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
	s.Looking, err = e.holds.Selected(ctx, now, now.AddDate(0, 0, clinic.MaxHorizonDays), ids...)
	return s, err
}

// PresenceSnapshot returns the online specialists and the open sessions.
func (e *Engine) PresenceSnapshot(ctx context.Context) (Snapshot, error) {
	s := Snapshot{Generation: e.Clinic.Generation("")}
	online, err := e.Presence.Online(ctx)
	if err != nil {
		return s, err
	}
	for i := range online {
		s.Presence = append(s.Presence, holds.Event{
			Kind: holds.EventPresence, Span: holds.Span{SpecialistID: online[i].SpecialistID}, Reason: "online",
		})
	}
	open, err := e.Presence.Sessions(ctx, store.SessionFilter{
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

// HoldServer returns the status of the server of the live state. holds.ErrUnavailable: there is none, or it is
// unreachable.
func (e *Engine) HoldServer(ctx context.Context) (holds.Server, error) {
	if live, ok := e.holds.(holds.Served); ok {
		return live.Server(ctx)
	}
	return holds.Server{}, holds.ErrUnavailable
}

// HoldStats returns counts of the live state, for operators.
func (e *Engine) HoldStats(ctx context.Context) (holds.Stats, error) { return e.holds.Stats(ctx) }

// StreamTicket issues a short-lived credential that opens one live stream as a client. So the client itself is not
// part of any URL.
func (e *Engine) StreamTicket(client holds.ClientID) (ticket string, expiresAt time.Time, err error) {
	ticket, t, err := e.Booking.Keys().IssueStreamTicket(string(client), time.Now())
	return ticket, t.ExpiresAt, err
}

// UseStreamTicket returns the client that a ticket is for, once. ErrUnauthorized if it is forged, has expired, or was
// used at this node before.
func (e *Engine) UseStreamTicket(ticket string) (holds.ClientID, error) {
	now := time.Now()
	t, err := e.Booking.Keys().OpenStreamTicket(ticket, now)
	if err != nil || !e.usedTickets.PutFirst(t.Nonce, struct{}{}, now) {
		return "", record.ErrUnauthorized
	}
	return holds.ClientID(t.Client), nil
}

// maxUsedTickets is the maximum number of remembered nonces in each of two halves. One network would need 15 minutes
// to evict one.
const maxUsedTickets = 1 << 15
