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

// Watch follows every event of the live state from now on. A stream watches first and takes its Snapshot second, so
// that nothing falls between.
func (e *Engine) Watch(ctx context.Context) (holds.Watch, error) { return e.holds.Watch(ctx) }

// AnnounceStream tells the other nodes that a client has opened a live stream here.
func (e *Engine) AnnounceStream(ctx context.Context, owner holds.Owner, connectionID string) error {
	return e.holds.Publish(ctx, holds.Event{Kind: holds.EventStream, Owner: owner, ConnectionID: connectionID})
}

// Await returns once this node knows the change with the number, committed by whichever node. The error of ctx, store.ErrClosed.
func (e *Engine) Await(ctx context.Context, number int64) error { return e.store.Await(ctx, number) }

// LastChange is the number of the last change that this node knows.
func (e *Engine) LastChange() int64 { return e.store.LastChange() }

// Shared reports whether other nodes use the same store and live state.
func (e *Engine) Shared() bool { return e.options.Shared }

// Epoch names this run of the event numbering.
func (e *Engine) Epoch() string { return e.holds.Epoch() }

// Concerns lists the appointment types whose streams an event belongs on: all those its specialist serves, because a
// hold taken for one type greys out the others as well.
func (e *Engine) Concerns(ev *holds.Event) []string {
	if ev.AppointmentTypeIDs != nil {
		return ev.AppointmentTypeIDs
	}
	return e.Clinic.Serves(ev.SpecialistID)
}

// Affects lists the appointment types that need a room or a device that an event is about, and the newest generation among theirs: whoever
// looks at their slots lists them anew, because which of them are left is not to be seen from the event.
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

// PresenceSnapshot returns who is online and which sessions are open.
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

// HoldServer asks the server of the live state how it is. holds.ErrUnavailable where there is none, or it is away.
func (e *Engine) HoldServer(ctx context.Context) (holds.Server, error) {
	if live, ok := e.holds.(holds.Served); ok {
		return live.Server(ctx)
	}
	return holds.Server{}, holds.ErrUnavailable
}

// HoldStats counts the live state, for people who operate the server.
func (e *Engine) HoldStats(ctx context.Context) (holds.Stats, error) { return e.holds.Stats(ctx) }

// StreamTicket is a short-lived credential that opens one live stream as a client, so that the client stands in no address.
func (e *Engine) StreamTicket(client holds.ClientID) (ticket string, expiresAt time.Time, err error) {
	ticket, t, err := e.Booking.Keys().IssueStreamTicket(string(client), time.Now())
	return ticket, t.ExpiresAt, err
}

// UseStreamTicket returns the client that a ticket is for, once. ErrUnauthorized if it is forged, has expired, or was used
// at this node before.
func (e *Engine) UseStreamTicket(ticket string) (holds.ClientID, error) {
	now := time.Now()
	t, err := e.Booking.Keys().OpenStreamTicket(ticket, now)
	if err != nil || !e.usedTickets.PutFirst(t.Nonce, struct{}{}, now) {
		return "", record.ErrUnauthorized
	}
	return holds.ClientID(t.Client), nil
}

// maxUsedTickets bounds one half of the nonces that are remembered. One network would need a quarter of an hour to push one out.
const maxUsedTickets = 1 << 15
