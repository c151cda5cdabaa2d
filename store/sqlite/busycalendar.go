package sqlite

import (
	"context"

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
		INSERT INTO busy_calendars (`+busyCalendarColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (specialist_id) DO UPDATE SET address = excluded.address, set_at = excluded.set_at, asked_at = excluded.asked_at,
			read_at = excluded.read_at, failure = excluded.failure, unread = excluded.unread, tag = excluded.tag, modified = excluded.modified`,
		b.SpecialistID, b.Address, b.SetAt, orNull(b.AskedAt), orNull(b.ReadAt), b.Failure, b.Unread, b.Tag, b.Modified)
}

func (t *tx) DeleteBusyCalendar(_ context.Context, specialistID string) error {
	return t.run(`DELETE FROM busy_calendars WHERE specialist_id = ?`, specialistID)
}

func (t *tx) PutBusyBlocks(ctx context.Context, specialistID string, blocks []store.Block) (changed bool, err error) {
	if err := t.specialist(ctx, specialistID); err != nil {
		return false, err
	}
	there, err := list(ctx, t.reads, scanBlock, `SELECT `+blockColumns+` FROM blocks WHERE specialist_id = ? AND source = 'calendar'`, specialistID)
	if err != nil {
		return false, err
	}
	gone, come := store.CompareBlocks(there, blocks)
	if len(gone)+len(come) == 0 {
		return false, nil
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: specialistID})
	for _, b := range gone {
		if err := t.run(`DELETE FROM blocks WHERE id = ?`, b.ID); err != nil {
			return false, err
		}
	}
	for _, b := range come {
		if err := t.putBlock(store.Block{ID: b.ID, SpecialistID: specialistID, Start: b.Start, End: b.End, Source: store.BlockCalendar}); err != nil {
			return false, err
		}
	}
	return true, nil
}
