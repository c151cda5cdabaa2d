package table

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast/store"
)

var busyCalendars = nounOf[store.BusyCalendar]("busy_calendars", "specialist_id")

// BusyCalendars implements store.BusyCalendarReader.
func (r Reads) BusyCalendars(ctx context.Context) ([]store.BusyCalendar, error) {
	return busyCalendars.list(ctx, r.source, `ORDER BY specialist_id`)
}

// PutBusyCalendar implements store.BusyCalendarWriter.
func (t *Tx) PutBusyCalendar(ctx context.Context, b store.BusyCalendar) error {
	if err := t.specialist(ctx, b.SpecialistID); err != nil {
		return err
	}
	return t.run(busyCalendars.put, busyCalendars.values(&b)...)
}

// DeleteBusyCalendar implements store.BusyCalendarWriter.
func (t *Tx) DeleteBusyCalendar(_ context.Context, specialistID string) error {
	return t.run(`DELETE FROM busy_calendars WHERE specialist_id = ?`, specialistID)
}

// PutBusyBlocks implements store.BusyCalendarWriter. It changes any number of blocks with two statements, because every
// other writer waits for them.
func (t *Tx) PutBusyBlocks(ctx context.Context, specialistID string, wanted []store.Block) (changed bool, err error) {
	if err := t.specialist(ctx, specialistID); err != nil {
		return false, err
	}
	there, err := blocks.list(ctx, t.source, `WHERE specialist_id = ? AND source = 'calendar'`, specialistID)
	if err != nil {
		return false, err
	}
	gone, come := store.CompareBlocks(there, wanted)
	if len(gone)+len(come) == 0 {
		return false, nil
	}
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: specialistID})
	if len(gone) > 0 {
		ids := make([]string, len(gone))
		for i := range gone {
			ids[i] = gone[i].ID
		}
		list, err := jsonOf(ids)
		if err != nil {
			return false, err
		}
		if err := t.run(`DELETE FROM blocks WHERE id IN ({each}(?))`, list); err != nil {
			return false, err
		}
	}
	return true, t.insertBusyBlocks(specialistID, come)
}

// insertBusyBlocks inserts blocks from a specialist's external calendar. The specialist must exist.
func (t *Tx) insertBusyBlocks(specialistID string, come []store.Block) error {
	if len(come) == 0 {
		return nil
	}
	type row struct {
		ID    string `json:"id"`
		Start int64  `json:"start_at"`
		End   int64  `json:"end_at"`
	}
	rows := make([]row, len(come))
	for i, b := range come {
		rows[i] = row{b.ID, b.Start.UnixMilli(), b.End.UnixMilli()}
	}
	list, err := jsonOf(rows)
	if err != nil {
		return err
	}
	return t.run(`
		INSERT INTO blocks (id, specialist_id, start_at, end_at, reason, set_id, source)
		SELECT b.value ->> 'id', ?, CAST(b.value ->> 'start_at' AS BIGINT), CAST(b.value ->> 'end_at' AS BIGINT), '', '', ?
		FROM {items}(?) AS b WHERE {true}
		ON CONFLICT (id) DO UPDATE SET specialist_id = excluded.specialist_id, start_at = excluded.start_at,
			end_at = excluded.end_at, reason = excluded.reason, set_id = excluded.set_id, source = excluded.source`, specialistID, string(store.BlockCalendar), list)
}

// jsonOf encodes a list or a map as a JSON argument.
func jsonOf(v any) (string, error) {
	list, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return string(list), nil
}
