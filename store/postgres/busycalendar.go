package postgres

import (
	"context"
	"encoding/json"

	"holdfast/store"
)

const busyCalendarColumns = `specialist_id, address, set_at, asked_at, read_at, failure, unread, tag, modified`

func scanBusyCalendar(r *row) store.BusyCalendar {
	return store.BusyCalendar{SpecialistID: r.text(), Address: r.text(), SetAt: r.time(), AskedAt: r.time(), ReadAt: r.time(),
		Failure: r.text(), Unread: r.int(), Tag: r.text(), Modified: r.text()}
}

func (r reads) BusyCalendars(ctx context.Context) ([]store.BusyCalendar, error) {
	return list(ctx, r, scanBusyCalendar, `SELECT `+busyCalendarColumns+` FROM busy_calendars ORDER BY specialist_id`)
}

func (t *tx) PutBusyCalendar(ctx context.Context, b store.BusyCalendar) error {
	if err := t.specialist(ctx, b.SpecialistID); err != nil {
		return err
	}
	return t.run(`
		INSERT INTO busy_calendars (`+busyCalendarColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (specialist_id) DO UPDATE SET address = excluded.address, set_at = excluded.set_at, asked_at = excluded.asked_at,
			read_at = excluded.read_at, failure = excluded.failure, unread = excluded.unread, tag = excluded.tag, modified = excluded.modified`,
		b.SpecialistID, b.Address, b.SetAt, orNull(b.AskedAt), orNull(b.ReadAt), b.Failure, b.Unread, b.Tag, b.Modified)
}

func (t *tx) DeleteBusyCalendar(_ context.Context, specialistID string) error {
	return t.run(`DELETE FROM busy_calendars WHERE specialist_id = $1`, specialistID)
}

func (t *tx) PutBusyBlocks(ctx context.Context, specialistID string, blocks []store.Block) (changed bool, err error) {
	if err := t.specialist(ctx, specialistID); err != nil {
		return false, err
	}
	there, err := list(ctx, t.reads, scanBlock, `SELECT `+blockColumns+` FROM blocks WHERE specialist_id = $1 AND source = 'calendar'`, specialistID)
	if err != nil {
		return false, err
	}
	gone, come := store.CompareBlocks(there, blocks)
	if len(gone)+len(come) == 0 {
		return false, nil
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: specialistID})
	if err := t.deleteBlocks(gone); err != nil {
		return false, err
	}
	return true, t.putBusyBlocks(specialistID, come)
}

// deleteBlocks deletes them with one statement: who writes waits for all of them.
func (t *tx) deleteBlocks(blocks []store.Block) error {
	if len(blocks) == 0 {
		return nil
	}
	ids := make([]string, len(blocks))
	for i := range blocks {
		ids[i] = blocks[i].ID
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return t.run(`DELETE FROM blocks WHERE id IN (SELECT json_array_elements_text($1::json))`, string(list))
}

// putBusyBlocks adds them with one statement, as deleteBlocks. It is known that the specialist is there.
func (t *tx) putBusyBlocks(specialistID string, blocks []store.Block) error {
	if len(blocks) == 0 {
		return nil
	}
	type row struct {
		ID    string `json:"id"`
		Start int64  `json:"start_at"`
		End   int64  `json:"end_at"`
	}
	rows := make([]row, len(blocks))
	for i, b := range blocks {
		rows[i] = row{b.ID, b.Start.UnixMilli(), b.End.UnixMilli()}
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return t.run(`
		INSERT INTO blocks (id, specialist_id, start_at, end_at, reason, set_id, source)
		SELECT id, $2, start_at, end_at, '', '', $3 FROM json_to_recordset($1::json) AS b(id text, start_at bigint, end_at bigint)
		ON CONFLICT (id) DO UPDATE SET specialist_id = excluded.specialist_id, start_at = excluded.start_at,
			end_at = excluded.end_at, reason = excluded.reason, set_id = excluded.set_id, source = excluded.source`,
		string(list), specialistID, string(store.BlockCalendar))
}
