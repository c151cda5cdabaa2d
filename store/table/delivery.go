package table

import (
	"context"
	"fmt"
	"time"

	"holdfast/store"
)

var deliveries = nounOf[store.Delivery]("deliveries", "operation_id")

// Deliveries implements store.DeliveryReader.
func (r Reads) Deliveries(ctx context.Context, appointmentID string) ([]store.Delivery, error) {
	return deliveries.few(ctx, r.source, `WHERE appointment_id = ? ORDER BY sequence, operation_id`, appointmentID)
}

// PutDelivery implements store.DeliveryWriter. A new row gets the appointment's next sequence number. An update does
// not change the number.
func (t *Tx) PutDelivery(_ context.Context, d store.Delivery) error {
	return t.to.Later(`
		INSERT INTO deliveries (operation_id, appointment_id, channel, notice, state, detail, updated_at, sequence)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
			(SELECT COALESCE(max(sequence), 0) + 1 FROM deliveries WHERE appointment_id = ?2))
		ON CONFLICT (operation_id) DO UPDATE SET appointment_id = excluded.appointment_id, channel = excluded.channel,
			notice = CASE excluded.notice WHEN '' THEN deliveries.notice ELSE excluded.notice END,
			state = excluded.state, detail = excluded.detail, updated_at = excluded.updated_at`,
		deliveries.values(&d)...)
}

// ForgetDeliveries implements store.DeliveryWriter. It searches by the ids of the operations, which begin with the
// instant in milliseconds.
func (t *Tx) ForgetDeliveries(_ context.Context, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM deliveries WHERE operation_id IN (
		SELECT operation_id FROM deliveries WHERE operation_id >= 'op-' AND operation_id < ? AND updated_at < ?
			AND state <> 'queued' ORDER BY operation_id LIMIT +?)`,
		fmt.Sprintf("op-%d", before.UnixMilli()), before, limit)
}
