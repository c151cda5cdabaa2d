package outbound

import (
	"context"

	"holdfast/engine/booking"
	"holdfast/store"
)

// # The order of an appointment's operations
//
// An appointment's deliveries are rows that the database numbers in the transactions that add the operations to the
// outbox. Across all nodes, these transactions run one after another, so the numbers follow the order of the commits.
// An operation's id begins with the clock time of the node that created it, so ids do not determine the order.

// order maps the id of each of an appointment's operations to its position: 1 is the first that was added to the
// outbox.
type order map[string]int

func orderOf(list []store.Delivery) order {
	places := make(order, len(list))
	for i := range list {
		places[list[i].OperationID] = i + 1
	}
	return places
}

// before reports whether operation a was added to the outbox before b. An operation without a row comes before the
// operations that have a row, because its row was deleted due to its age (Record.ForgetDeliveries).
func (o order) before(a, b string) bool {
	if o[a] == o[b] {
		return a < b
	}
	return o[a] < o[b]
}

// Earlier lists the queued operations of the same appointment that come before op and block it, as determined by
// blocks. It reports pending if other operations are on their way to the queue, or if an agent's call is attempting one
// outside the queue: call Earlier again in a second. Earlier also queues operations that were committed but never
// queued because a process ended in between.
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
