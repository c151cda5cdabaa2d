package failover

import (
	"context"
	"errors"
	"time"

	"holdfast/holds"
)

// Claim implements holds.Table.
func (b *Backend) Claim(ctx context.Context, c holds.Claim) (h holds.Hold, err error) {
	late := "" // the id of the hold that the primary created after this process had switched
	replaced := c.Replaces.ID
	err = b.do(ctx, func(live holds.Backend, at where) (err error) {
		if late != "" {
			b.ledger.mayHave(late, c)
		}
		c.Replaces.ID = b.ledger.inner(at, replaced)
		h, err = live.Claim(ctx, c)
		var lost *holds.LostError
		switch {
		case at == inFallback:
		case errors.As(err, &lost):
			b.ledger.mayHave(lost.ID, c)
		case err == nil:
			late = h.ID
		}
		return err
	},
		func(at where) { b.ledger.held(at, &h, max(c.MaxLife, c.TTL)) })
	return only(h, err)
}

// only returns the hold, or the zero Hold if there is an error.
func only(h holds.Hold, err error) (holds.Hold, error) {
	if err != nil {
		return holds.Hold{}, err
	}
	return h, nil
}

// Extend implements holds.Table.
func (b *Backend) Extend(ctx context.Context, id string, owner holds.Owner, ttl time.Duration,
	restart bool) (holds.Hold, error) {
	return b.change(ctx, id, func(live holds.Backend, id string) (holds.Hold, error) {
		return live.Extend(ctx, id, owner, ttl, restart)
	})
}

// Pin implements holds.Table.
func (b *Backend) Pin(ctx context.Context, id string, owner holds.Owner, atLeast time.Duration) (holds.Hold, error) {
	return b.change(ctx, id, func(live holds.Backend, id string) (holds.Hold, error) {
		return live.Pin(ctx, id, owner, atLeast)
	})
}

// Unpin implements holds.Table.
func (b *Backend) Unpin(ctx context.Context, id string, owner holds.Owner, grace time.Duration) (holds.Hold, error) {
	return b.change(ctx, id, func(live holds.Backend, id string) (holds.Hold, error) {
		return live.Unpin(ctx, id, owner, grace)
	})
}

// Transfer implements holds.Table.
func (b *Backend) Transfer(ctx context.Context, id string, owner, to holds.Owner, ttl,
	maxLife time.Duration) (holds.Hold, error) {
	return b.changeFor(ctx, id, max(maxLife, ttl), func(live holds.Backend, id string) (holds.Hold, error) {
		return live.Transfer(ctx, id, owner, to, ttl, maxLife)
	})
}

func (b *Backend) change(ctx context.Context, id string, call func(live holds.Backend,
	id string) (holds.Hold, error)) (holds.Hold, error) {
	return b.changeFor(ctx, id, 0, call)
}

// changeFor is change for a call that can set the maximum lifetime.
func (b *Backend) changeFor(ctx context.Context, id string, life time.Duration,
	call func(live holds.Backend, id string) (holds.Hold, error)) (h holds.Hold, err error) {
	err = b.do(ctx, func(live holds.Backend, at where) (err error) {
		h, err = call(live, b.ledger.inner(at, id))
		return err
	},
		func(at where) { b.ledger.held(at, &h, life) })
	return only(h, err)
}

// Confirm implements holds.Table.
func (b *Backend) Confirm(ctx context.Context, id string, owner holds.Owner) (bool, error) {
	return b.finish(ctx, id, holds.EventConfirm, "", func(live holds.Backend, id string) (bool, error) {
		return live.Confirm(ctx, id, owner)
	})
}

// Release implements holds.Table.
func (b *Backend) Release(ctx context.Context, id string, owner holds.Owner, reason holds.Reason) (bool, error) {
	return b.finish(ctx, id, holds.EventRelease, reason, func(live holds.Backend, id string) (bool, error) {
		return live.Release(ctx, id, owner, reason)
	})
}

// finish ends a hold. If the primary ended it before this process switched, the hold has ended, whether or not the
// response arrived. The fallback may never have had the hold, so its result is ignored.
func (b *Backend) finish(ctx context.Context, id string, kind holds.EventKind, reason holds.Reason,
	call func(live holds.Backend, id string) (bool, error)) (bool, error) {
	tried, done := false, false
	err := b.do(ctx, func(live holds.Backend, at where) error {
		ok, err := call(live, b.ledger.inner(at, id))
		if err != nil {
			tried = true
		} else {
			done = done || ok || tried && b.ledger.isOverBy(id, kind, reason)
		}
		return err
	}, func(at where) {
		if done {
			b.ledger.finished(at, id, kind, reason)
		}
	})
	return done && err == nil, err
}

// Hold implements holds.Table.
func (b *Backend) Hold(ctx context.Context, id string) (h holds.Hold, err error) {
	err = b.do(ctx, func(live holds.Backend, at where) (err error) {
		h, err = live.Hold(ctx, b.ledger.inner(at, id))
		return err
	},
		func(at where) { b.ledger.rename(at, &h) })
	return only(h, err)
}

// List implements holds.Table.
func (b *Backend) List(ctx context.Context, specialistIDs ...string) (list []holds.Hold, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) {
		list, err = live.List(ctx, specialistIDs...)
		return err
	},
		func(at where) {
			for i := range list {
				b.ledger.rename(at, &list[i])
			}
		})
	return list, err
}

// Publish implements holds.Table. Events from the feed go directly to the watchers, whichever backend serves.
func (b *Backend) Publish(ctx context.Context, e holds.Event) error {
	if e.Kind.FromFeed() {
		b.mu.RLock()
		defer b.mu.RUnlock()
		if b.closed {
			return holds.ErrClosed
		}
		if e.At.IsZero() {
			e.At = time.Now().UTC()
		}
		b.log.Publish(&e)
		return nil
	}
	return b.do(ctx, func(live holds.Backend, _ where) error { return live.Publish(ctx, e) }, nil)
}

// Epoch implements holds.Table.
func (b *Backend) Epoch() string { return b.log.Epoch() }

// Watch implements holds.Table. It never waits for the primary.
func (b *Backend) Watch(_ context.Context, specialistIDs ...string) (holds.Watch, error) {
	return b.log.Watch(specialistIDs...)
}
