package outbound

import (
	"context"

	"holdfast/engine/booking"
	"holdfast/store"
)

// # The order of an appointment's operations
//
// The deliveries of an appointment are rows that the database numbers in the transactions that add the operations to
// the outbox. These transactions run one after another on all nodes, so the numbers are the order of the commits. The
// id of an operation begins with the clock of the node that created it, so it does not determine the order.

// order has the place of each operation of one appointment, by its id: 1 is the first that was added to the outbox.
type order map[string]int

func orderOf(list []store.Delivery) order {
	places := make(order, len(list))
	for i := range list {
		places[list[i].OperationID] = i + 1
	}
	return places
}

// before reports whether operation a was added to the outbox before b. An operation without a row comes before those
// that have one: its row was deleted because of its age (Record.ForgetDeliveries).
func (o order) before(a, b string) bool {
	if o[a] == o[b] {
		return a < b
	}
	return o[a] < o[b]
}

// Earlier lists the queued operations of the same appointment that come before op and block it, as blocks decides. It
// reports pending if others are on their way to the queue, or if an agent's call attempts one outside the queue: ask
// again in a second. Earlier adds to the queue the operations that were committed and never queued, because a process
// ended in between.
func (out *Outbound) Earlier(ctx context.Context, op *store.Operation,
	blocks func(*store.Operation) bool) (list []store.Operation, pending bool, err error) {
	deliveries, err := out.store.Deliveries(ctx, op.AppointmentID)
	if err != nil {
		return nil, false, err
	}
	places := orderOf(deliveries)
	for id := range places {
		if out.Outbox.Claimed(id) && places.before(id, op.ID) {
			return nil, true, nil
		}
	}
	all, err := out.Queue.Operations(ctx, store.OperationFilter{AppointmentID: op.AppointmentID, Limit: 500})
	if err != nil {
		return nil, false, err
	}
	queued := make(map[string]bool, len(all))
	for i := range all {
		o := &all[i]
		queued[o.ID] = true
		if places.before(o.ID, op.ID) && blocks(o) {
			list = append(list, *o)
		}
	}
	for _, d := range deliveries {
		if queued[d.OperationID] || !places.before(d.OperationID, op.ID) ||
			d.Channel != booking.ChannelOf(op.Kind) || d.State != booking.DeliveryQueued {
			continue
		}
		promise, promised, err := out.FindPromise(ctx, d.OperationID)
		if err != nil {
			return nil, false, err
		}
		if promised && blocks(&promise) {
			if err := out.Queue.Add(ctx, promise); err != nil {
				return nil, false, err
			}
			pending = true
		}
	}
	if pending {
		out.ringLanes()
	}
	return list, pending, nil
}
