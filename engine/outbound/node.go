package outbound

import (
	"context"
	"errors"
	"strconv"
	"time"

	"holdfast/engine/timed"
	"holdfast/store"
)

// # Several nodes
//
// Nodes that share a database share its queue. An operation is attempted by the node that took it, which holds a lease on it;
// another one takes it over when that lapses, as an attempt of unknown outcome. Nobody tells a node what another has queued, so it
// looks. What was decided first about an appointment is delivered first; see order.go.

const (
	// watchEvery is how often the lanes look for what other nodes have queued and have not delivered.
	watchEvery = 5 * time.Second
	// lookEvery is how often the outbox is read for what a node promised and never queued, because it died in between; lookAge is
	// how old that is at the least, and lookBack at the most: what is older yet is found by reconcile.
	lookEvery, lookAge, lookBack = 15 * time.Second, 30 * time.Second, 10 * time.Minute
)

// watchQueue has the lanes look for what other nodes have queued, until ctx ends.
func (out *Outbound) watchQueue(ctx context.Context) {
	timed.Every(ctx, watchEvery, func(time.Time) { out.ringLanes() })
}

// look brings to the queue what a node that is gone promised lately.
func (out *Outbound) look(ctx context.Context) error {
	now := out.Now()
	return out.reconcile(ctx, idsFrom(now.Add(-lookBack)), now.Add(-lookAge), false)
}

// idsFrom is before every id of an operation that is promised from an instant on.
func idsFrom(at time.Time) string { return "op-" + strconv.FormatInt(at.UnixMilli(), 10) }

// tooSlow reports whether the end of op was recorded before, by a node that took it over from this one. What did take effect is
// recorded all the same: it is one too many, and is cancelled.
func (out *Outbound) tooSlow(ctx context.Context, tx store.Tx, op *store.Operation, how Ending) (bool, error) {
	if !out.Options.Shared || how == Delivered || len(op.ID) == 0 {
		return false, nil
	}
	list, err := tx.Outbox(ctx, op.ID[:len(op.ID)-1], 64)
	for i := range list {
		if list[i].ID == op.ID {
			return false, err
		}
	}
	return err == nil, err
}

// anothers reports whether err says that another node attempts the operation.
func anothers(err error) bool { return errors.Is(err, store.ErrVersion) }
