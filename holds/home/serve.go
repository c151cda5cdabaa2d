package home

import (
	"context"
	"errors"
	"time"

	"holdfast/holds"
)

// began is the zero point of the monotonic lease clock.
var began = time.Now()

func monotonic() int64 { return int64(time.Since(began)) }

// do runs a call on the current home. If the home changes before the call is completed and confirmed, do runs it again
// on the new home.
func (b *Backend) do(ctx context.Context, call func(at holds.Homely) error) error {
	limit := time.Now().Add(2 * b.waitTime())
	for {
		t, err := b.begin(ctx)
		if err != nil {
			return err
		}
		err = call(t.home)
		confirmed := !t.primary || monotonic() < t.until.Load()
		t.calls.Done()
		switch {
		case errors.Is(err, holds.ErrMoved):
			b.refused(ctx, t)
		case errors.Is(err, holds.ErrUnavailable) && t.primary && ctx.Err() == nil:
			b.look(t)
		case confirmed || err != nil:
			return err
		default:
			b.ask() // the lease ended during the call: another home, which has no record of the call, may be open
		}
		if ctx.Err() != nil || time.Now().After(limit) {
			if err == nil || errors.Is(err, holds.ErrMoved) {
				err = errUnsettled
			}
			return err
		}
	}
}

// begin waits until this node is allowed to serve, and adds the call to its term. The caller calls Done on calls.
func (b *Backend) begin(ctx context.Context) (*term, error) {
	var timer <-chan time.Time
	for {
		b.mu.Lock()
		t, changed := b.term, b.changed
		switch {
		case b.closed:
			b.mu.Unlock()
			return nil, holds.ErrClosed
		case b.mayServe():
			t.calls.Add(1)
			b.mu.Unlock()
			return t, nil
		}
		b.mu.Unlock()
		if timer == nil {
			limit := time.NewTimer(b.waitTime())
			defer limit.Stop()
			timer = limit.C
			b.ask()
		}
		select {
		case <-changed:
		case <-timer:
			return nil, errUnsettled
		case <-ctx.Done():
			return nil, errors.Join(errUnsettled, ctx.Err())
		}
	}
}

// refused finds out why a home refused a change. If the nodes have made no new decision, the home has lost its state.
func (b *Backend) refused(ctx context.Context, t *term) {
	if err := b.lease(ctx); err != nil {
		b.pause(helpEvery)
		return
	}
	b.mu.Lock()
	same := b.decision.Epoch == t.epoch && b.decision.Open
	b.mu.Unlock()
	if same {
		b.lost(ctx, t)
	}
}

// replaced is the reason for leaving a home that has lost its state.
func replaced(home holds.Homely) error { return errors.New(home.Mode() + " was emptied or replaced") }

// lost checks whether a home has lost its state. If so, it moves the nodes to PostgreSQL, where they restore the state
// that they remember.
func (b *Backend) lost(ctx context.Context, t *term) {
	whole, err := t.home.Whole(ctx, t.epoch)
	switch {
	case err == nil && !whole:
		b.move(ctx, t.epoch, b.database.Mode(), replaced(t.home))
	case err != nil && t.primary:
		b.look(t)
	}
}

// Claim implements holds.Table.
func (b *Backend) Claim(ctx context.Context, c holds.Claim) (holds.Hold, error) {
	return b.held(ctx, max(c.MaxLife, c.TTL), func(at holds.Homely) (holds.Hold, error) { return at.Claim(ctx, c) })
}

// Extend implements holds.Table.
func (b *Backend) Extend(ctx context.Context, id string, owner holds.Owner, ttl time.Duration,
	restart bool) (holds.Hold, error) {
	return b.held(ctx, 0, func(at holds.Homely) (holds.Hold, error) { return at.Extend(ctx, id, owner, ttl, restart) })
}

// Pin implements holds.Table.
func (b *Backend) Pin(ctx context.Context, id string, owner holds.Owner, atLeast time.Duration) (holds.Hold, error) {
	return b.held(ctx, 0, func(at holds.Homely) (holds.Hold, error) { return at.Pin(ctx, id, owner, atLeast) })
}

// Unpin implements holds.Table.
func (b *Backend) Unpin(ctx context.Context, id string, owner holds.Owner, grace time.Duration) (holds.Hold, error) {
	return b.held(ctx, 0, func(at holds.Homely) (holds.Hold, error) { return at.Unpin(ctx, id, owner, grace) })
}

// Transfer implements holds.Table.
func (b *Backend) Transfer(ctx context.Context, id string, owner, to holds.Owner, ttl,
	maxLife time.Duration) (holds.Hold, error) {
	return b.held(ctx, max(maxLife, ttl), func(at holds.Homely) (holds.Hold, error) {
		h, err := at.Transfer(ctx, id, owner, to, ttl, maxLife)
		if errors.Is(err, holds.ErrNotOwner) { // the transfer may have succeeded even though its response was lost
			if now, look := at.Hold(ctx, id); look == nil && now.Owner.Is(to) {
				return now, nil
			}
		}
		return h, err
	})
}

// held runs a call that returns a hold, and remembers the hold. life is the maximum lifetime of the hold, or 0 if the
// call does not set it.
func (b *Backend) held(ctx context.Context, life time.Duration,
	call func(at holds.Homely) (holds.Hold, error)) (h holds.Hold, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) {
		if h, err = call(at); err == nil {
			b.ledger.held(&h, life)
		}
		return err
	})
	if err != nil {
		return holds.Hold{}, err
	}
	return h, nil
}

// Confirm implements holds.Table.
func (b *Backend) Confirm(ctx context.Context, id string, owner holds.Owner) (bool, error) {
	return b.ended(ctx, id, holds.EventConfirm, "", func(at holds.Homely) (bool, error) {
		return at.Confirm(ctx, id, owner)
	})
}

// Release implements holds.Table.
func (b *Backend) Release(ctx context.Context, id string, owner holds.Owner, reason holds.Reason) (bool, error) {
	return b.ended(ctx, id, holds.EventRelease, reason, func(at holds.Homely) (bool, error) {
		return at.Release(ctx, id, owner, reason)
	})
}

// ended runs call, which ends the hold with this id. If a home ended the hold but its response was lost, the event shows
// that the hold ended, and the next home does not have the hold.
func (b *Backend) ended(ctx context.Context, id string, kind holds.EventKind, reason holds.Reason,
	call func(at holds.Homely) (bool, error)) (bool, error) {
	tried, done := false, false
	err := b.do(ctx, func(at holds.Homely) error {
		ok, err := call(at)
		if err != nil {
			tried = true
			return err
		}
		if done = done || ok || tried && b.ledger.isOver(id, kind, reason); done {
			b.ledger.ended(id, kind, reason)
		}
		return nil
	})
	return done && err == nil, err
}

// Hold implements holds.Table.
func (b *Backend) Hold(ctx context.Context, id string) (h holds.Hold, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { h, err = at.Hold(ctx, id); return err })
	return h, err
}

// List implements holds.Table.
func (b *Backend) List(ctx context.Context, specialistIDs ...string) (list []holds.Hold, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { list, err = at.List(ctx, specialistIDs...); return err })
	return list, err
}

// Publish implements holds.Table. Every node receives the feed itself, so a feed event goes only to the watchers of
// this node, whichever home applies.
func (b *Backend) Publish(ctx context.Context, e holds.Event) error {
	if !e.Kind.FromFeed() {
		return b.do(ctx, func(at holds.Homely) error { return at.Publish(ctx, e) })
	}
	if b.isClosed() {
		return holds.ErrClosed
	}
	if e.At.IsZero() {
		e.At = time.Now().UTC()
	}
	b.log.Publish(&e)
	return nil
}

func (b *Backend) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// Epoch implements holds.Table.
func (b *Backend) Epoch() string { return b.log.Epoch() }

// Watch implements holds.Table. It never waits.
func (b *Backend) Watch(_ context.Context, specialistIDs ...string) (holds.Watch, error) {
	return b.log.Watch(specialistIDs...)
}

// Select implements holds.Selections.
func (b *Backend) Select(ctx context.Context, owner holds.Owner, s holds.Span) (x holds.Selection, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { x, err = at.Select(ctx, owner, s); return err })
	return x, err
}

// Deselect implements holds.Selections.
func (b *Backend) Deselect(ctx context.Context, owner holds.Owner) (ok bool, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { ok, err = at.Deselect(ctx, owner); return err })
	return ok, err
}

// Renew implements holds.Selections.
func (b *Backend) Renew(ctx context.Context, owner holds.Owner) (ok bool, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) {
		if ok, err = at.Renew(ctx, owner); ok && err == nil {
			b.ledger.renewed(owner)
		}
		return err
	})
	return ok, err
}

// Selected implements holds.Selections.
func (b *Backend) Selected(ctx context.Context, from, to time.Time,
	specialistIDs ...string) (list []holds.Selection, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) {
		list, err = at.Selected(ctx, from, to, specialistIDs...)
		return err
	})
	return list, err
}

// FollowBusy implements holds.Busy. Both homes receive every change, whichever one is current. Neither call waits for
// the network.
func (b *Backend) FollowBusy(ctx context.Context, change int64, freed, taken holds.Booked) error {
	return errors.Join(b.database.FollowBusy(ctx, change, freed, taken),
		b.primary.FollowBusy(ctx, change, freed, taken))
}

// ClearBusy implements holds.Busy.
func (b *Backend) ClearBusy(ctx context.Context, specialistID string, from, to time.Time) error {
	return errors.Join(b.database.ClearBusy(ctx, specialistID, from, to),
		b.primary.ClearBusy(ctx, specialistID, from, to))
}
