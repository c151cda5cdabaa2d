package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Await returns when this node has applied the change with this number, whichever node made it. Errors: ctx.Err(),
// store.ErrClosed.
func (e *Engine) Await(ctx context.Context, number int64) error { return e.store.Await(ctx, number) }

// LastChange returns the number of the last change that this node has received.
func (e *Engine) LastChange() int64 { return e.store.LastChange() }

// Shared reports whether other nodes use the same store and live state.
func (e *Engine) Shared() bool { return e.options.Shared }

// beginToFollow reads the schedule and follows all later commits.
func (e *Engine) beginToFollow(ctx context.Context) error {
	seen := e.store.LastChange()
	if err := e.Clinic.ReadSchedule(ctx); err != nil {
		return fmt.Errorf("read the schedule: %w", err)
	}
	if err := e.Booking.ReadClosures(ctx); err != nil {
		return err
	}
	e.Clinic.MoveGenerations()
	e.Message.Server.Follow()
	e.Message.Gateway.Follow()
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stopFollowing = stop
	if err := e.store.Changes(following, seen, e.follow); err != nil {
		stop()
		return fmt.Errorf("follow the changes: %w", err)
	}
	return nil
}

// follow applies committed changes in commit order: to the schedule, the occupied time, the generations, the busy bits,
// the verified keys and the events for the pages. No other function changes any of these. Write returns after follow,
// so a caller sees its own change here. The store calls follow with one batch at a time.
//
// The order within follow is fixed. A generation changes after the data it identifies, so older data is never cached
// under it. Events come last, so a page that receives an event can already read the change.
func (e *Engine) follow(changes []store.Change) {
	ctx := context.Background()
	if slices.ContainsFunc(changes, clinic.OfSchedule) {
		e.Clinic.FollowSchedule(ctx, changes)
		e.Message.Server.Follow()
		e.Message.Gateway.Follow()
	}
	var closed []string // ids of specialists
	for i := range changes {
		switch c := &changes[i]; c.Noun {
		case store.NounAppointment:
			if e.options.Shared {
				e.Booking.FollowBooking(c)
			}
			e.Booking.FollowAppointment(ctx, c)
			e.Person.FollowAppointment()
		case store.NounSession:
			e.Presence.FollowSession(c.Session.Status)
			publisher{e.holds, e.log}.Publish(ctx, holds.Event{
				Kind: holds.EventSession, SessionID: c.ID, Span: holds.Span{SpecialistID: c.Assigned},
				ExpiresAt: c.Session.ExpiresAt, Owner: record.SpelledOwner(c.Owner),
				Reason: holds.Reason(c.Session.Status),
			})
		case store.NounAPIKey:
			e.Account.ForgetKeys()
		case store.NounClosure:
			if !slices.Contains(closed, c.Assigned) {
				closed = append(closed, c.Assigned)
			}
		}
	}
	if closed != nil {
		e.Booking.FollowClosures(ctx, closed)
	}
	e.Waitlist.Follow(changes)
	if slices.ContainsFunc(changes, ofCredential) {
		e.Account.TellRevoked()
	}
}

func ofCredential(c store.Change) bool {
	return c.Noun == store.NounAPIKey || c.Noun == store.NounSignIn || c.Noun == store.NounUser
}

// followAgain is how long followHolds waits before it resubscribes after it has lost the live state's events.
const followAgain = time.Second

// followHolds passes live events from other nodes to Booking and Presence until ctx is cancelled. As a result, a client
// can also book with a hold of another node that has just expired, Booking sends each booking to the pages once, and
// Presence recounts after another node has changed the set of online specialists. followHolds first passes on the holds
// that are live at its start.
func (e *Engine) followHolds(ctx context.Context) {
	for ctx.Err() == nil {
		err := e.followEvents(ctx)
		if errors.Is(err, holds.ErrClosed) || ctx.Err() != nil {
			return
		}
		e.log.Debug("live events from other nodes lost; retrying in 1 second", "error", err)
		pause := time.NewTimer(followAgain)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

func (e *Engine) followEvents(ctx context.Context) error {
	watch, err := e.holds.Watch(ctx)
	if err != nil {
		return err
	}
	defer watch.Close()
	live, err := e.holds.List(ctx)
	if err != nil {
		return err
	}
	for i := range live {
		e.Booking.KnowHold(live[i].ID, &live[i].Span, live[i].Owner)
	}
	var events []holds.Event
	for {
		if events, err = watch.Next(ctx, events); err != nil {
			return err
		}
		for i := range events {
			switch x := &events[i]; x.Kind {
			case holds.EventHold, holds.EventHeartbeat:
				e.Booking.KnowHold(x.HoldID, &x.Span, x.Owner)
			case holds.EventConfirm:
				e.Booking.Confirmed(&x.Span)
			case holds.EventPresence:
				e.Presence.Recount()
			}
		}
	}
}

// publisher is the record.Publisher that all packages use.
type publisher struct {
	holds holds.Backend
	log   *slog.Logger
}

// Publish implements record.Publisher.
func (p publisher) Publish(ctx context.Context, ev holds.Event) {
	ev.At = time.Now().UTC()
	if err := p.holds.Publish(ctx, ev); err != nil {
		p.log.Warn("failed to publish an event; pages catch up on their next request", "kind", ev.Kind, "error", err)
	}
}
