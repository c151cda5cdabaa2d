package sqlite

import (
	"context"
	"slices"
	"time"

	"holdfast/store"
)

// taken has three parts. Each part reads one range of one index. A slot is always within its busy time, so comparing
// the busy time is enough.
const taken = `
	SELECT id, appointment_type_id, seat, overbook, slot_start, slot_end, busy_start, busy_end
	FROM appointments
	WHERE specialist_id = ?1 AND status = 'confirmed' AND overbook = 0
	  AND slot_start > ?2 - (SELECT reach_after_ms FROM specialists WHERE id = ?1)
	  AND slot_start < ?3 + (SELECT reach_before_ms FROM specialists WHERE id = ?1)
	  AND busy_start < ?3 AND busy_end > ?2
	UNION ALL
	SELECT id, appointment_type_id, seat, overbook, slot_start, slot_end, busy_start, busy_end
	FROM appointments
	WHERE specialist_id = ?1 AND status = 'confirmed' AND overbook = 1
	  AND slot_start > ?2 - (SELECT reach_after_ms FROM specialists WHERE id = ?1)
	  AND slot_start < ?3 + (SELECT reach_before_ms FROM specialists WHERE id = ?1)
	  AND busy_start < ?3 AND busy_end > ?2
	UNION ALL
	SELECT id, appointment_type_id, seat, overbook, r.slot_start, r.slot_end, r.busy_start, r.busy_end
	FROM appointment_resources AS r JOIN appointments AS a ON a.id = r.appointment_id
	WHERE r.resource_id = ?1
	  AND r.slot_start > ?2 - (SELECT reach_after_ms FROM specialists WHERE id = ?1)
	  AND r.slot_start < ?3 + (SELECT reach_before_ms FROM specialists WHERE id = ?1)
	  AND r.busy_start < ?3 AND r.busy_end > ?2
	ORDER BY slot_start, seat`

// Taken implements store.AppointmentReader.
func (r reads) Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	if from.UnixMilli() >= to.UnixMilli() {
		return nil, nil
	}
	var all []store.Taken
	err := r.snapshot(ctx, func(ctx context.Context, c *conn) error {
		for _, id := range slices.Compact(slices.Sorted(slices.Values(specialistIDs))) {
			err := c.query(ctx, func(r *row) {
				all = append(all, store.Taken{
					SpecialistID: id, AppointmentID: r.Text(), AppointmentTypeID: r.Text(), Seat: r.Int(),
					Overbook: r.Bool(), SlotStart: r.Time(), SlotEnd: r.Time(), BusyStart: r.Time(), BusyEnd: r.Time(),
				})
			}, taken, id, from, to)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
