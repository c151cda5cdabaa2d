package sqlite

import (
	"context"
	"fmt"
	"time"

	"holdfast/store"
)

func (r reads) Deliveries(ctx context.Context, appointmentID string) ([]store.Delivery, error) {
	return list(ctx, r, func(r *row) store.Delivery {
		return store.Delivery{OperationID: r.text(), AppointmentID: r.text(), Channel: r.text(), Notice: r.text(),
			State: r.text(), Detail: r.text(), UpdatedAt: r.time()}
	}, `SELECT operation_id, appointment_id, channel, notice, state, detail, updated_at FROM deliveries
		WHERE appointment_id = ? ORDER BY sequence, operation_id`, appointmentID)
}

func (t *tx) PutDelivery(_ context.Context, d store.Delivery) error {
	return t.run(`
		INSERT INTO deliveries (operation_id, appointment_id, channel, notice, state, detail, updated_at, sequence)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT coalesce(max(sequence), 0) + 1 FROM deliveries WHERE appointment_id = ?2))
		ON CONFLICT (operation_id) DO UPDATE SET appointment_id = excluded.appointment_id, channel = excluded.channel,
			notice = excluded.notice, state = excluded.state, detail = excluded.detail, updated_at = excluded.updated_at`,
		d.OperationID, d.AppointmentID, d.Channel, d.Notice, d.State, d.Detail, d.UpdatedAt)
}

// ForgetDeliveries finds them by the ids of their operations, which begin with the instant in milliseconds.
func (t *tx) ForgetDeliveries(_ context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM deliveries WHERE rowid IN (
		SELECT rowid FROM deliveries WHERE operation_id >= 'op-' AND operation_id < ?1 AND updated_at < ?2
		ORDER BY operation_id LIMIT +?3)`, fmt.Sprintf("op-%d", before.UnixMilli()), before, limit)
	return int(n), err
}
