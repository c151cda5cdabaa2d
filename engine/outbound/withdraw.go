package outbound

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/store"
)

// Withdraw withdraws the operations required by the change that was made to an appointment at an instant. It removes
// them from the outbox, and a lane that finds one of them in the queue completes it. It returns false if one of them is
// no longer queued. If unsent is true, it also returns false unless the outbox still contains an operation that reports
// the appointment's earlier state to the upstream. If Withdraw returns false, roll the transaction back.
func (out *Outbound) Withdraw(ctx context.Context, tx store.Tx, appointmentID string, at time.Time,
	unsent bool) (bool, error) {
	if out.Queue == nil {
		return true, nil
	}
	told, err := tx.Deliveries(ctx, appointmentID)
	if err != nil {
		return false, err
	}
	first := slices.IndexFunc(told, func(d store.Delivery) bool {
		return strings.HasPrefix(d.OperationID, idsFrom(at)+"-")
	})
	if first < 0 {
		first = len(told) // the change required no operation
	}
	for _, d := range told[first:] {
		if d.State != booking.DeliveryQueued || !d.UpdatedAt.Equal(at) {
			return false, nil
		}
		if err := tx.Fulfil(ctx, d.OperationID); err != nil {
			return false, err
		}
		d.State, d.Detail = DeliveryNotNeeded, "withdrawn"
		if err := tx.PutDelivery(ctx, d); err != nil {
			return false, err
		}
	}
	if !unsent {
		return true, nil
	}
	for _, d := range told[:first] {
		if d.Channel != "upstream" {
			continue
		}
		if op, err := tx.Promised(ctx, d.OperationID); err == nil && !op.Status.Final() {
			return true, nil
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}
