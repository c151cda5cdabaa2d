package engine

import (
	"context"
	"fmt"
	"slices"

	"holdfast/holds"
	"holdfast/store"
)

// beginToFollow reads the schedule and follows everything that is committed from then on.
func (e *Engine) beginToFollow(ctx context.Context) error {
	seen := e.store.LastChange()
	if err := e.readSchedule(ctx); err != nil {
		return fmt.Errorf("read the schedule: %w", err)
	}
	e.moveGenerations()
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stopFollowing = stop
	if err := e.store.Changes(following, seen, e.follow); err != nil {
		stop()
		return fmt.Errorf("follow the changes: %w", err)
	}
	return nil
}

// follow takes over what was committed, in commit order: the schedule, the taken time, the generations, the busy bits, the
// keys found good, and what the pages are told. It is the only place that changes any of these, and Write returns after it,
// so whoever is answered finds its own change here. The store calls it, one batch at a time.
//
// The order within is fixed. A generation moves after what it names has changed, so nothing older is ever kept under it;
// events come last, so whoever hears of a change finds it.
func (e *Engine) follow(changes []store.Change) {
	ctx := context.Background()
	if slices.ContainsFunc(changes, ofSchedule) {
		e.followSchedule(ctx, changes)
	}
	for i := range changes {
		switch c := &changes[i]; c.Noun {
		case store.NounAppointment:
			e.followAppointment(ctx, c)
		case store.NounSession:
			e.publish(ctx, holds.Event{
				Kind: holds.EventSession, SessionID: c.ID, Span: holds.Span{SpecialistID: c.Assigned}, ExpiresAt: c.Session.ExpiresAt,
				Owner: spelledOwner(c.Owner), Reason: holds.Reason(c.Session.Status),
			})
		case store.NounAPIKey:
			e.knownKeys.forget()
		}
	}
	if slices.ContainsFunc(changes, ofCredential) {
		e.TellRevoked()
	}
}

func ofCredential(c store.Change) bool {
	return c.Noun == store.NounAPIKey || c.Noun == store.NounSignIn || c.Noun == store.NounUser
}
