package booking

import (
	"context"
	"time"

	"holdfast/store"
)

// Promise is one operation that a change promises, and what its delivery is called beside the appointment.
type Promise struct {
	store.Operation
	Notice string // such as "book", "confirmation", "appointment.created"
}

// DeliveryQueued is the state of a store.Delivery that is on its way.
const DeliveryQueued = "queued"

// WritePromises writes operations to the outbox, and beside the appointment that they are on their way.
func WritePromises(ctx context.Context, tx store.Tx, at time.Time, calls ...Promise) error {
	for _, c := range calls {
		if err := tx.Promise(ctx, c.Operation); err != nil {
			return err
		}
		if c.AppointmentID == "" {
			continue
		}
		err := tx.PutDelivery(ctx, store.Delivery{
			OperationID: c.ID, AppointmentID: c.AppointmentID, Channel: ChannelOf(c.Kind), Notice: c.Notice, State: DeliveryQueued, UpdatedAt: at,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ChannelOf is how a kind of operation is called in the delivery log.
func ChannelOf(k store.OperationKind) string {
	switch k {
	case store.Webhook, store.Email:
		return string(k)
	}
	return "upstream"
}
