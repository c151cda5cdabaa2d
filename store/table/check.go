package table

import (
	"context"
	"fmt"
	"time"

	"holdfast/store"
)

// Check reads the rows of a database and verifies the invariants that the schema enforces. It does not use the schema's
// predicates, indexes and triggers.
type Check struct {
	// Query runs a SELECT and calls each for every row. All queries must see the same snapshot of the database.
	Query func(ctx context.Context, each func(Row), text string) error
	// Violation receives each violation as readable text.
	Violation func(format string, args ...any)
}

// Rows verifies the guarantee for the specialists and the rules for single rows.
func (c Check) Rows(ctx context.Context) error {
	err := c.overlaps(ctx, "specialist", `
		SELECT id, specialist_id, appointment_type_id, seat, slot_start, slot_end, busy_start, busy_end
		FROM appointments {scan} WHERE status = 'confirmed' AND overbook = {false} ORDER BY specialist_id, busy_start`)
	if err != nil {
		return err
	}
	return c.none(ctx, []rule{
		{"seat: appointment %s has a seat that its type never had", `
			SELECT a.id FROM appointments a JOIN appointment_types t ON t.id = a.appointment_type_id
			WHERE a.seat < 0 OR a.seat >= t.largest_capacity`},
		{"reach: appointment %s is outside the reach of its specialist's record", `
			SELECT a.id FROM appointments a JOIN specialists s ON s.id = a.specialist_id
			WHERE a.slot_start - a.busy_start > s.reach_before_ms OR a.busy_end - a.slot_start > s.reach_after_ms`},
		{"interval: appointment %s is not within its busy time", `
			SELECT id FROM appointments WHERE slot_end <= slot_start OR busy_start > slot_start OR busy_end < slot_end`},
		{"version: appointment %s has a version below 1", `SELECT id FROM appointments WHERE version < 1`},
		{"interval: block %s does not end after it starts", `SELECT id FROM blocks WHERE end_at <= start_at`},
		{"archived: specialist %s is archived and still assigned", `
			SELECT DISTINCT s.id FROM assignments JOIN specialists s ON s.id = specialist_id WHERE s.archived = {true}`},
	})
}

// Resources compares the taken time of resources, which the schema derives from the appointments, with the
// appointments. It also verifies that no two appointments share a resource.
func (c Check) Resources(ctx context.Context) error {
	err := c.overlaps(ctx, "resource", `
		SELECT appointment_id, resource_id, '', 0, slot_start, slot_end, busy_start, busy_end
		FROM appointment_resources {scan} ORDER BY resource_id, busy_start`)
	if err != nil {
		return err
	}
	return c.none(ctx, []rule{
		{"resource: appointment %s does not have the time of a resource that it takes", `
			SELECT a.id FROM appointments a, {texts}(CASE a.resources WHEN '' THEN '[]' ELSE a.resources END{json}) AS of
			WHERE a.status = 'confirmed' AND NOT EXISTS (
				SELECT 1 FROM appointment_resources r WHERE r.resource_id = of.value AND r.appointment_id = a.id
				AND r.slot_start = a.slot_start AND r.slot_end = a.slot_end
				AND r.busy_start = a.busy_start AND r.busy_end = a.busy_end)`},
		{"resource: appointment %s has the time of a resource that it does not take", `
			SELECT a.id FROM appointment_resources r JOIN appointments a ON a.id = r.appointment_id
			WHERE a.status <> 'confirmed' OR {instr}(a.resources, '"' || r.resource_id || '"') = 0`},
		{"resource: appointment %s belongs to a resource, which cannot be booked alone", `
			SELECT a.id FROM appointments a JOIN specialists s ON s.id = a.specialist_id WHERE s.kind <> ''`},
		{"reach: appointment %s is outside the reach of its resource's record", `
			SELECT appointment_id FROM appointment_resources r JOIN specialists s ON s.id = r.resource_id
			WHERE r.slot_start - r.busy_start > s.reach_before_ms OR r.busy_end - r.slot_start > s.reach_after_ms`},
	})
}

// HeadOfChain selects the head of the audit chain.
const HeadOfChain = `SELECT position, hash FROM audit_head`

// ScanHead reads a row of HeadOfChain, or of any other SELECT of a position and a hash.
func ScanHead[R Row](r R) store.ChainHead {
	return store.ChainHead{Position: r.Int64(), Hash: r.Hash()}
}

// Chain verifies the audit chain link by link.
func (c Check) Chain(ctx context.Context) error {
	var chain store.ChainCheck
	var heads []store.ChainHead
	for _, q := range []Question{
		{func(r Row) {
			chain.Erasure(store.ChainErasure{Position: r.Int64(), Entry: r.Int64(), Hash: r.Bytes()})
		}, `SELECT position, entry, hash FROM audit_erasures`, nil},
		{func(r Row) {
			chain.Entry(&store.ChainedEntry{
				AuditEntry: ScanAudit(r), Position: r.Int64(), Salt: r.Bytes(), Digest: r.Bytes(), Hash: r.Bytes(),
			})
		}, `SELECT ` + AuditColumns + `, position, salt, digest, hash FROM audit_entries ORDER BY position`, nil},
		{func(r Row) { heads = append(heads, ScanHead(r)) }, HeadOfChain, nil},
	} {
		if err := c.Query(ctx, q.Each, q.Text); err != nil {
			return err
		}
	}
	if len(heads) == 0 {
		c.Violation("audit: the head of the chain is missing")
		return nil
	}
	if err := chain.End(heads[0]); err != nil {
		c.Violation("%w", err)
	}
	return nil
}

// rule holds the text of a violation and the SELECT that finds the rows with that violation.
type rule struct{ words, text string }

// none reports a violation for every row that a rule finds.
func (c Check) none(ctx context.Context, rules []rule) error {
	for _, q := range rules {
		if err := c.Query(ctx, func(r Row) { c.Violation(q.words, r.Text()) }, q.text); err != nil {
			return err
		}
	}
	return nil
}

// busy holds the fields on which the guarantee depends, of a confirmed appointment that is not overbooked.
type busy struct {
	id, specialistID, typeID               string
	seat                                   int
	slotStart, slotEnd, busyStart, busyEnd int64
}

// String returns a description of the row for the person who decides which of two appointments to keep.
func (b busy) String() string {
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	return fmt.Sprintf("%s (%s, %s to %s, busy %s to %s, seat %d)",
		b.id, b.typeID, at(b.slotStart), at(b.slotEnd), at(b.busyStart), at(b.busyEnd), b.seat)
}

// overlaps reads the appointments of each specialist or resource in the order of their busy start. It compares each
// with the earlier ones whose busy time has not ended, so it compares every pair that could overlap.
func (c Check) overlaps(ctx context.Context, whose, text string) error {
	var open []busy
	return c.Query(ctx, func(r Row) {
		b := busy{r.Text(), r.Text(), r.Text(), r.Int(), r.Int64(), r.Int64(), r.Int64(), r.Int64()}
		kept := open[:0]
		for _, a := range open {
			if a.specialistID != b.specialistID || a.busyEnd <= b.busyStart {
				continue
			}
			kept = append(kept, a)
			if tooClose(a, b) {
				c.Violation("%w", &store.OverlapError{
					Of: whose, ID: b.specialistID, At: time.UnixMilli(max(a.slotStart, b.slotStart)).UTC(),
					Appointments: [2]string{a.id, b.id}, Words: [2]string{a.String(), b.String()},
				})
			}
		}
		open = append(kept, b)
	}, text)
}

// tooClose reports whether two appointments break the guarantee. It does not use the schema's predicate. The gap
// between two appointments must be at least the larger of the first one's buffer after it and the second one's buffer
// before it, unless they are different seats of one group session.
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
