package outbound

import (
	"context"
	"errors"
	"strconv"
	"time"

	"holdfast/engine/timed"
	"holdfast/engine/upstream"
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

// Pace takes a turn in a line that all nodes share, Again repeats the last one, and Return gives one back; see upstream.Line.
type Pace struct {
	Reserve func(ctx context.Context, name string, spacing, most time.Duration) (wait time.Duration, turn int64, err error)
	Again   func(ctx context.Context, name string, spacing time.Duration, turn int64) (bool, error)
	Return  func(ctx context.Context, name string, spacing time.Duration, turn int64) error
}

// ShareLine has a pacer take its turns from the line of a name, where the nodes share one.
func (out *Outbound) ShareLine(p *upstream.Pacer, name string) {
	if out.Options.Pace.Reserve == nil {
		return
	}
	p.Share(upstream.Line{
		Reserve: func(ctx context.Context, spacing, most time.Duration) (time.Duration, int64, error) {
			wait, turn, err := out.Options.Pace.Reserve(ctx, name, spacing, most)
			if err == nil && turn == 0 {
				err = &upstream.LineError{Wait: wait}
			}
			return wait, turn, err
		},
		Again: func(ctx context.Context, spacing time.Duration, turn int64) (bool, error) {
			return out.Options.Pace.Again(ctx, name, spacing, turn)
		},
		Return: func(ctx context.Context, spacing time.Duration, turn int64) {
			if err := out.Options.Pace.Return(ctx, name, spacing, turn); err != nil {
				out.log.Debug("turn not given back; it passes unused", "line", name, "error", err)
			}
		},
	})
}

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

// doubted is op with the doubt that an attempt of which nobody knows leaves, such as one of a node that is gone.
func doubted(op *store.Operation, p *upstreamPayload) {
	if op.Unknown && p.Step != "" && !p.Doubt {
		p.Doubt = true
		op.Payload = p.json()
	}
}

// anothers reports whether err says that another node attempts the operation.
func anothers(err error) bool { return errors.Is(err, store.ErrVersion) }
