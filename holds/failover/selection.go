package failover

import (
	"context"
	"time"

	"holdfast/holds"
)

// Select implements holds.Selections.
func (b *Backend) Select(ctx context.Context, owner holds.Owner, s holds.Span) (x holds.Selection, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) { x, err = live.Select(ctx, owner, s); return err },
		func(where) { b.ledger.looked(x) })
	return x, err
}

// Deselect implements holds.Selections.
func (b *Backend) Deselect(ctx context.Context, owner holds.Owner) (ok bool, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) { ok, err = live.Deselect(ctx, owner); return err },
		func(at where) { b.ledger.lookedAway(at, owner) })
	return ok, err
}

// Renew implements holds.Selections.
func (b *Backend) Renew(ctx context.Context, owner holds.Owner) (ok bool, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) {
		ok, err = live.Renew(ctx, owner)
		return err
	}, func(where) {
		if ok {
			b.ledger.renewed(owner)
		}
	})
	return ok, err
}

// Selected implements holds.Selections.
func (b *Backend) Selected(ctx context.Context, from, to time.Time,
	specialistIDs ...string) (list []holds.Selection, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) {
		list, err = live.Selected(ctx, from, to, specialistIDs...)
		return err
	}, nil)
	return list, err
}
