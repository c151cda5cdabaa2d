package presence

import (
	"context"

	"holdfast/holds"
	"holdfast/store"
)

// StreamStart returns the online specialists and the open sessions, which a new presence stream begins with. They have
// the form of events that have just happened, without a number.
func (pr *Presence) StreamStart(ctx context.Context) ([]holds.Event, error) {
	var events []holds.Event
	online, err := pr.Online(ctx)
	if err != nil {
		return nil, err
	}
	for i := range online {
		events = append(events, holds.Event{
			Kind: holds.EventPresence, Span: holds.Span{SpecialistID: online[i].SpecialistID}, Reason: "online",
		})
	}
	open, err := pr.Sessions(ctx, store.SessionFilter{Limit: 500, Statuses: []store.SessionStatus{
		store.SessionRequested, store.SessionActive, store.SessionPendingPayment,
	}})
	if err != nil {
		return nil, err
	}
	for i := range open {
		x := &open[i]
		events = append(events, holds.Event{
			Kind: holds.EventSession, SessionID: x.ID, Span: holds.Span{SpecialistID: x.SpecialistID},
			Reason: holds.Reason(x.Status), ExpiresAt: x.ExpiresAt,
		})
	}
	return events, nil
}
