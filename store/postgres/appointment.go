package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/store"
)

// taken has three parts. Each part reads one range of one index for each specialist. A slot is always within its busy
// time, so comparing the busy time is enough.
const taken = `
	SELECT a.specialist_id, a.id, appointment_type_id, seat, overbook, slot_start, slot_end, busy_start, busy_end
	FROM specialists AS s JOIN appointments AS a ON a.specialist_id = s.id AND a.status = 'confirmed' AND NOT a.overbook
	WHERE s.id IN (SELECT json_array_elements_text($1::json))
	  AND slot_start > $2 - reach_after_ms AND slot_start < $3 + reach_before_ms AND busy_start < $3 AND busy_end > $2
	UNION ALL
	SELECT a.specialist_id, a.id, appointment_type_id, seat, overbook, slot_start, slot_end, busy_start, busy_end
	FROM specialists AS s JOIN appointments AS a ON a.specialist_id = s.id AND a.status = 'confirmed' AND a.overbook
	WHERE s.id IN (SELECT json_array_elements_text($1::json))
	  AND slot_start > $2 - reach_after_ms AND slot_start < $3 + reach_before_ms AND busy_start < $3 AND busy_end > $2
	UNION ALL
	SELECT r.resource_id, a.id, appointment_type_id, seat, overbook, r.slot_start, r.slot_end, r.busy_start, r.busy_end
	FROM specialists AS s JOIN appointment_resources AS r ON r.resource_id = s.id JOIN appointments AS a ON a.id = r.appointment_id
	WHERE s.id IN (SELECT json_array_elements_text($1::json))
	  AND r.slot_start > $2 - reach_after_ms AND r.slot_start < $3 + reach_before_ms AND r.busy_start < $3 AND r.busy_end > $2
	ORDER BY specialist_id, slot_start, seat`

// Taken implements store.AppointmentReader.
func (r reads) Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	if from.UnixMilli() >= to.UnixMilli() || len(specialistIDs) == 0 {
		return nil, nil
	}
	ids, err := json.Marshal(specialistIDs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return list(ctx, r, func(r *row) store.Taken {
		return store.Taken{
			SpecialistID: r.Text(), AppointmentID: r.Text(), AppointmentTypeID: r.Text(), Seat: r.Int(),
			Overbook: r.Bool(), SlotStart: r.Time(), SlotEnd: r.Time(), BusyStart: r.Time(), BusyEnd: r.Time(),
		}
	}, taken, string(ids), from, to)
}
