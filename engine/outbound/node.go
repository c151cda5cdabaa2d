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
// Nodes that share a database share its queue. The node that takes an operation attempts it and holds a lease on it.
// When the lease expires, another node takes over the operation and treats the attempt as having an unknown outcome. A
// node gets no signal when another node queues an operation, so it polls. The operations of an appointment are
// delivered in the order of their changes; see order.go.

const (
	// watchEvery is the interval at which the lanes look for operations that other nodes have queued but not delivered.
	watchEvery = 5 * time.Second
	// lookEvery is the interval at which the relay reads the outbox for operations that a node committed but did not
	// queue because it stopped in between. lookAge is their minimum age and lookBack their maximum age: reconcile finds
	// older ones.
	lookEvery, lookAge, lookBack = 15 * time.Second, 30 * time.Second, 10 * time.Minute
)

// watchQueue checks every watchEvery, until ctx is done, for operations that other nodes have queued. If one is due
// before the next check, it wakes the lanes. It makes one query for all lanes, so that an idle node costs the database
// little.
func (out *Outbound) watchQueue(ctx context.Context) {
	timed.Every(ctx, watchEvery, func(time.Time) {
		due, err := out.Queue.NextDue(ctx)
		if err == nil && due.After(out.Now().Add(watchEvery)) || errors.Is(err, store.ErrNotFound) {
			return
		}
		out.ringLanes() // also after an error: the lanes report it
	})
}

// look adds recent operations that a stopped node committed but did not queue.
func (out *Outbound) look(ctx context.Context) error {
	now := out.Now()
	return out.reconcile(ctx, idsFrom(now.Add(-lookBack)), now.Add(-lookAge))
}

// idsFrom returns a string that sorts before the id of every operation created at or after that instant.
func idsFrom(at time.Time) string { return "op-" + strconv.FormatInt(at.UnixMilli(), 10) }

// tooSlow reports whether a node that took op over from this one has already recorded how op ended. A delivery is
// recorded anyway: this node's call is a duplicate and is cancelled.
func (out *Outbound) tooSlow(ctx context.Context, tx store.Tx, op *store.Operation, how Ending) (bool, error) {
	if !out.Options.Shared || how == Delivered || len(op.ID) == 0 {
		return false, nil
	}
	_, err := tx.Promised(ctx, op.ID)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// anothers reports whether err means that another node is attempting the operation.
func anothers(err error) bool { return errors.Is(err, store.ErrVersion) }
