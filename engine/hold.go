package engine

import (
	"context"
	"errors"
	"time"

	"holdfast/holds"
)

// followAgain is how long followHolds waits after the events of the live state broke off.
const followAgain = time.Second

// followHolds has this node know what the holds of other nodes were for, so that a client whose hold has just expired can book with it
// here as well, which bookings the pages have received, and count again who is online when another node changed that. It asks for the live holds when it begins. It ends with ctx.
func (e *Engine) followHolds(ctx context.Context) {
	for ctx.Err() == nil {
		err := e.hearOfHolds(ctx)
		if errors.Is(err, holds.ErrClosed) || ctx.Err() != nil {
			return
		}
		e.log.Debug("the holds of other nodes are not heard of for a moment", "error", err)
		pause := time.NewTimer(followAgain)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

func (e *Engine) hearOfHolds(ctx context.Context) error {
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
