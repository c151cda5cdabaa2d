package postgres

import (
	"context"
	"strings"
	"testing"

	"holdfast/store"
)

// TestGuaranteeUsesItsIndex checks that the trigger's search reads only one range of idx_no_double_book, both in a new
// table without statistics and in a full one. A plan that reads every appointment would stay in use for as long as the
// writer's connection is open.
func TestGuaranteeUsesItsIndex(t *testing.T) {
	t.Parallel()
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	_, search, _ := strings.Cut(source(known), "NOT NEW.overbook AND EXISTS (")
	search, _, found := strings.Cut(search, ")\n    THEN")
	if !found {
		t.Fatal("the trigger's query is not in the migrations")
	}
	search = strings.NewReplacer("NEW.specialist_id", "$1", "NEW.id", "$2", "NEW.appointment_type_id", "$3", "NEW.seat", "$4",
		"NEW.slot_start", "$5", "NEW.slot_end", "$6", "NEW.busy_start", "$7", "NEW.busy_end", "$8", "reach_after", "$9", "reach_before", "$10").Replace(search)
	s := nodes(t, 1, Options{})[0]
	explain := func(when string) {
		t.Helper()
		var plan []string
		err := s.server.with(t.Context(), func(ctx context.Context, c *conn) error {
			err := c.script(ctx, `SET plan_cache_mode = force_generic_plan;
				PREPARE search (text, text, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint) AS `+search)
			if err != nil {
				return err
			}
			_, err = c.exchange(ctx, asks(func(r *row) { plan = append(plan, r.Text()) }, `EXPLAIN EXECUTE search ('s0', 'x', 't', 0, 1, 2, 1, 2, 0, 0)`))
			return err
		})
		if all := strings.Join(plan, "\n"); err != nil || !strings.Contains(all, "idx_no_double_book") || !strings.Contains(all, "slot_start >") {
			t.Errorf("%s: %v\n%s", when, err, all)
		}
	}
	explain("in a new table")
	for i := range 60 {
		if err := insert(s, booking("s0", i*30, i*30+30)); err != nil {
			t.Fatal(err)
		}
	}
	explain("with some appointments")
	const fill = `INSERT INTO appointments SELECT ($1 || n)::text, appointment_type_id, 's' || n % 4, client_id, seat, overbook, overbook_reason, status,
		attendance, $2::bigint + n / 4 * 900000, $2::bigint + n / 4 * 900000 + 900000, $2::bigint + n / 4 * 900000, $2::bigint + n / 4 * 900000 + 900000,
		patient_name, patient_email, patient_phone, patient_birth_date, notes, patient_search, source, upstream_state, upstream_id,
		upstream_patient_id, manage_epoch, created_at, updated_at, cancelled_at, cancel_reason, version
		FROM (SELECT * FROM appointments LIMIT 1) AS one, generate_series(1, 4000) AS n`
	if err := raw(t, s, fill, "f", monday.AddDate(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	explain("with many, without statistics")
	if err := raw(t, s, `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	explain("analyzed")
}
