package outbound

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/timed"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Several nodes
//
// Nodes that share a database share its queue. An operation is attempted by the node that took it, which holds a lease on it;
// another one takes it over when that lapses, as an attempt of unknown outcome. Nobody tells a node what another has queued, so it
// looks. The order of the operations of one appointment is that of their ids. InOrder assigns the ids in the transactions that
// write the operations; the database runs these one after another for all nodes, so no node's clock decides the order.

const (
	// watchEvery is how often the lanes look for what other nodes have queued and have not delivered.
	watchEvery = 5 * time.Second
	// lookEvery is how often the outbox is read for what a node promised and never queued, because it died in between; lookAge is
	// how old that is at the least, and lookBack at the most: what is older yet is found by reconcile.
	lookEvery, lookAge, lookBack = 15 * time.Second, 30 * time.Second, 10 * time.Minute
)

// Pace takes a turn in a line that all nodes share, and Again repeats the last one; see upstream.Line.
type Pace struct {
	Reserve func(ctx context.Context, name string, spacing, most time.Duration) (wait time.Duration, turn int64, err error)
	Again   func(ctx context.Context, name string, spacing time.Duration, turn int64) (bool, error)
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

// InOrder gives those of the calls new ids that would sort before an operation of the same appointment. It is called in the
// transaction that writes the calls to the outbox. These transactions run one after another on all nodes, so the order of the ids of
// one appointment is the order of the commits, whatever the clocks of the nodes show. The ids of other appointments do not change: a
// clock that is ahead on one node reaches no other id.
func (out *Outbound) InOrder(ctx context.Context, tx store.Tx, calls []booking.Promise) error {
	last := make(map[string]string) // by appointment
	for i := range calls {
		op := &calls[i].Operation
		if op.AppointmentID == "" {
			continue
		}
		before, ok := last[op.AppointmentID]
		if !ok {
			list, err := tx.Deliveries(ctx, op.AppointmentID)
			if err != nil {
				return err
			}
			if len(list) > 0 {
				before = list[len(list)-1].OperationID
			}
		}
		if op.ID <= before {
			op.ID = idAfter(before)
		}
		last[op.AppointmentID] = op.ID
	}
	return nil
}

// idAfter returns a new id that sorts right after another one.
func idAfter(id string) string {
	instant, tail, _ := strings.Cut(strings.TrimPrefix(id, "op-"), "-")
	ms, err := strconv.ParseInt(instant, 10, 64)
	n, tailErr := strconv.ParseUint(tail, 36, 32)
	if err != nil || tailErr != nil {
		return id + "0" // an id of another form, which only a test has
	}
	o := operationIDs{ms: ms, tail: uint32(n)}
	return o.Next(time.UnixMilli(ms))
}

// Unqueued brings to the queue what was promised to an appointment before op and is not there, and reports whether there was anything
// that op waits for, as waits says. list is what the queue has of the appointment. It happens where a process ended between the commit and
// the queue, and for a moment where two changes were committed together: whoever asked for the second may be the first to hand over.
func (out *Outbound) Unqueued(ctx context.Context, op *store.Operation, list []store.Operation, waits func(*store.Operation) bool) (found bool, err error) {
	queued := make(map[string]bool, len(list))
	for i := range list {
		queued[list[i].ID] = true
	}
	deliveries, err := out.store.Deliveries(ctx, op.AppointmentID)
	for _, d := range deliveries {
		if err != nil || d.OperationID >= op.ID {
			break
		}
		if queued[d.OperationID] || d.Channel != booking.ChannelOf(op.Kind) || d.State != booking.DeliveryQueued {
			continue
		}
		var promise store.Operation
		var promised bool
		if promise, promised, err = out.FindPromise(ctx, d.OperationID); err == nil && promised && waits(&promise) {
			found, err = true, out.Queue.Add(ctx, promise)
		}
	}
	if found {
		out.ringLanes()
	}
	return found, err
}

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
