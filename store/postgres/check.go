package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/store"
)

// Check implements store.Store. PostgreSQL itself ensures the integrity of references and files.
func (s *Store) Check(ctx context.Context) error {
	if err := s.reads.pool.open(ctx); err != nil {
		return err
	}
	var found []error
	violation := func(format string, args ...any) { found = append(found, fmt.Errorf(format, args...)) }
	err := s.server.with(ctx, func(ctx context.Context, c *conn) error {
		known, err := store.ReadMigrations(migrations)
		if err != nil {
			return err
		}
		// It reads everything at one moment, without a time limit.
		if err := c.script(ctx, `SET statement_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`); err != nil {
			return err
		}
		step := func(i int) { store.BeginStep(ctx, "checking the database", store.Of(i, 5)) }
		step(0)
		wrong, err := trustSchema(ctx, c, source(known))
		for _, what := range wrong {
			violation("schema: %s", what)
		}
		if err == nil {
			step(1)
			err = checkGuarantee(ctx, c, violation)
		}
		if err == nil {
			step(2)
			err = checkRows(ctx, c, violation)
		}
		if err == nil {
			step(3)
			err = checkResources(ctx, c, violation)
		}
		if err == nil {
			step(4)
			err = checkChain(ctx, c, violation)
		}
		return err
	})
	if err != nil {
		return translate(err)
	}
	return errors.Join(found...)
}

// busy is a confirmed, non-overbook appointment as the guarantee sees it.
type busy struct {
	id, specialistID, typeID               string
	seat                                   int
	slotStart, slotEnd, busyStart, busyEnd int64
}

// String returns a description of the row for the person who decides which of two appointments to keep.
func (b busy) String() string {
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	return fmt.Sprintf("%s (%s, %s to %s, busy %s to %s, seat %d)", b.id, b.typeID, at(b.slotStart), at(b.slotEnd), at(b.busyStart), at(b.busyEnd), b.seat)
}

// checkGuarantee walks each specialist's appointments in order of their busy start, together with those that have not
// ended. So it compares every pair that could overlap, without the schema's predicate, index or range.
func checkGuarantee(ctx context.Context, c *conn, violation func(string, ...any)) error {
	return checkOverlaps(ctx, c, "specialist", `SELECT id, specialist_id, appointment_type_id, seat, slot_start, slot_end, busy_start, busy_end
		FROM appointments WHERE status = 'confirmed' AND NOT overbook ORDER BY specialist_id, busy_start`, violation)
}

func checkOverlaps(ctx context.Context, c *conn, whose, query string, violation func(string, ...any)) error {
	var open []busy
	_, err := c.exchange(ctx, asks(func(r *row) {
		b := busy{r.Text(), r.Text(), r.Text(), r.Int(), r.Int64(), r.Int64(), r.Int64(), r.Int64()}
		kept := open[:0]
		for _, a := range open {
			if a.specialistID != b.specialistID || a.busyEnd <= b.busyStart {
				continue
			}
			kept = append(kept, a)
			if tooClose(a, b) {
				violation("%w", &store.OverlapError{
					Of: whose, ID: b.specialistID, At: time.UnixMilli(max(a.slotStart, b.slotStart)).UTC(),
					Appointments: [2]string{a.id, b.id}, Words: [2]string{a.String(), b.String()},
				})
			}
		}
		open = append(kept, b)
	}, query))
	return err
}

// tooClose states the guarantee independently of the schema: the gap between two appointments is at least the larger
// of the first's after-buffer and the second's before-buffer, unless they are different seats of one group session.
func tooClose(a, b busy) bool {
	if a.typeID == b.typeID && a.slotStart == b.slotStart && a.slotEnd == b.slotEnd {
		return a.seat == b.seat
	}
	if b.slotStart < a.slotStart {
		a, b = b, a
	}
	gap := b.slotStart - a.slotEnd
	return gap < max(0, a.busyEnd-a.slotEnd, b.slotStart-b.busyStart)
}

func checkRows(ctx context.Context, c *conn, violation func(string, ...any)) error {
	for _, q := range []struct{ words, query string }{
		{"seat: appointment %s has a seat its type never had", `
			SELECT a.id FROM appointments a JOIN appointment_types t ON t.id = a.appointment_type_id
			WHERE a.seat < 0 OR a.seat >= t.largest_capacity`},
		{"reach: appointment %s is outside the reach of its specialist's record", `
			SELECT a.id FROM appointments a JOIN specialists s ON s.id = a.specialist_id
			WHERE a.slot_start - a.busy_start > s.reach_before_ms OR a.busy_end - a.slot_start > s.reach_after_ms`},
		{"interval: appointment %s does not lie within its busy time", `
			SELECT id FROM appointments WHERE slot_end <= slot_start OR busy_start > slot_start OR busy_end < slot_end`},
		{"version: appointment %s has a version below 1", `SELECT id FROM appointments WHERE version < 1`},
		{"interval: block %s does not end after it starts", `SELECT id FROM blocks WHERE end_at <= start_at`},
		{"archived: specialist %s is archived and still assigned", `
			SELECT DISTINCT s.id FROM assignments JOIN specialists s ON s.id = specialist_id WHERE s.archived`},
	} {
		if _, err := c.exchange(ctx, asks(func(r *row) { violation(q.words, r.Text()) }, q.query)); err != nil {
			return err
		}
	}
	return nil
}

// checkResources compares the taken time of resources, which the schema derives from the appointments, with the
// appointments. It then walks that time as checkGuarantee does: no two appointments share a resource.
func checkResources(ctx context.Context, c *conn, violation func(string, ...any)) error {
	err := checkOverlaps(ctx, c, "resource", `SELECT appointment_id, resource_id, '', 0, slot_start, slot_end, busy_start, busy_end
		FROM appointment_resources ORDER BY resource_id, busy_start`, violation)
	if err != nil {
		return err
	}
	for _, q := range []struct{ words, query string }{
		{"resource: appointment %s does not have the time of a resource that it takes", `
			SELECT a.id FROM appointments a, json_array_elements_text(CASE a.resources WHEN '' THEN '[]' ELSE a.resources END::json) AS of(value)
			WHERE a.status = 'confirmed' AND NOT EXISTS (SELECT 1 FROM appointment_resources r WHERE r.resource_id = of.value AND r.appointment_id = a.id
				AND r.slot_start = a.slot_start AND r.slot_end = a.slot_end AND r.busy_start = a.busy_start AND r.busy_end = a.busy_end)`},
		{"resource: appointment %s has the time of a resource that it does not take", `
			SELECT a.id FROM appointment_resources r JOIN appointments a ON a.id = r.appointment_id
			WHERE a.status <> 'confirmed' OR strpos(a.resources, '"' || r.resource_id || '"') = 0`},
		{"resource: appointment %s belongs to a resource, which cannot be booked alone", `
			SELECT a.id FROM appointments a JOIN specialists s ON s.id = a.specialist_id WHERE s.kind <> ''`},
		{"reach: appointment %s is outside the reach of its resource's record", `
			SELECT appointment_id FROM appointment_resources r JOIN specialists s ON s.id = r.resource_id
			WHERE r.slot_start - r.busy_start > s.reach_before_ms OR r.busy_end - r.slot_start > s.reach_after_ms`},
	} {
		if _, err := c.exchange(ctx, asks(func(r *row) { violation(q.words, r.Text()) }, q.query)); err != nil {
			return err
		}
	}
	return nil
}
