package sqlite

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// plan returns SQLite's plan for a query, one line per step.
func plan(t *testing.T, c *conn, query string) string {
	t.Helper()
	var steps []string
	err := c.query(context.Background(), func(r *row) {
		r.next()
		r.next()
		r.next()
		steps = append(steps, r.Text())
	}, "EXPLAIN QUERY PLAN "+regexp.MustCompile(`\?\d*`).ReplaceAllString(query, "1"))
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(steps, "\n")
}

// TestGuaranteeSearchesIndexRange checks that the triggers search one range of one index, for any number of
// appointments.
func TestGuaranteeSearchesIndexRange(t *testing.T) {
	b := newTestStore(t, Options{})
	defer mustClose(t, b.Store)
	search := regexp.MustCompile(`(?s)WHERE EXISTS \((.*)\);\s*END`)
	for _, name := range []string{"appointments_guarantee_insert", "appointments_guarantee_update"} {
		sql, err := one(t.Context(), b.reads, (*row).Text, "SELECT sql FROM sqlite_schema WHERE name = ?", name)
		if err != nil {
			t.Fatal(err)
		}
		query := regexp.MustCompile(`NEW\.\w+`).ReplaceAllString(search.FindStringSubmatch(sql)[1], "1")
		got := plan(t, b.writer.conn, query)
		if want := "SEARCH a USING INDEX idx_no_double_book (specialist_id=? AND slot_start>? AND slot_start<?)"; !strings.Contains(got, want) {
			t.Errorf("%s:\n%s\nwant %s", name, got, want)
		}
	}
}

func TestQueriesUseTheirIndex(t *testing.T) {
	b := newTestStore(t, Options{})
	defer mustClose(t, b.Store)
	for name, test := range map[string]struct {
		ask  func(store.Reader) error
		want []string
	}{
		"taken": {func(r store.Reader) error {
			_, err := r.Taken(t.Context(), []string{"specialist-1"}, benchDay, benchDay.Add(time.Hour))
			return err
		},
			[]string{"idx_no_double_book (specialist_id=? AND slot_start>? AND slot_start<?)", "idx_appointments_overbook (specialist_id=? AND slot_start>? AND slot_start<?)"}},
		"latest web booking": {func(r store.Reader) error { r.LatestWebBooking(t.Context(), "c", "checkup", benchDay); return nil },
			[]string{"idx_appointments_client (client_id=?)"}},
		"a day": {func(r store.Reader) error {
			_, _, err := r.Appointments(t.Context(), store.AppointmentFilter{From: benchDay, To: benchDay.AddDate(0, 0, 1)})
			return err
		}, []string{"idx_appointments_time (slot_start>? AND slot_start<?)"}},
		"a client's": {func(r store.Reader) error {
			_, _, err := r.Appointments(t.Context(), store.AppointmentFilter{Owner: "c"})
			return err
		}, []string{"idx_appointments_client (client_id=?)"}},
		"a series": {func(r store.Reader) error {
			_, _, err := r.Appointments(t.Context(), store.AppointmentFilter{SeriesID: "s"})
			return err
		}, []string{"idx_appointments_series (series_id=?)"}},
		"coming recalls": {func(r store.Reader) error {
			_, _, err := r.Appointments(t.Context(), store.AppointmentFilter{RecallAfter: benchDay})
			return err
		}, []string{"idx_appointments_recall (recall_at>?)"}},
		"those upstream refused": {func(r store.Reader) error {
			_, _, err := r.Appointments(t.Context(), store.AppointmentFilter{Upstream: store.UpstreamFailed})
			return err
		}, []string{"idx_appointments_upstream (upstream_state=?)"}},
		"a subject's audit entries": {func(r store.Reader) error {
			_, _, err := r.Audit(t.Context(), store.AuditFilter{Subjects: []string{"appointment:1"}})
			return err
		}, []string{"idx_audit_subject (subject=?)"}},
		"the newest audit entries": {func(r store.Reader) error { _, _, err := r.Audit(t.Context(), store.AuditFilter{}); return err },
			[]string{"SCAN audit_entries USING INDEX sqlite_autoindex_audit_entries_1"}},
		"blocks that ended lately": {func(r store.Reader) error { _, err := r.Schedule(t.Context()); return err }, []string{"idx_blocks_end (end_at>?)"}},
		"sessions of two states": {func(r store.Reader) error {
			_, err := r.Sessions(t.Context(), store.SessionFilter{Statuses: []store.SessionStatus{store.SessionActive, store.SessionRequested}})
			return err
		}, []string{"idx_sessions_status (status=?)"}},
		"loads": {func(r store.Reader) error { _, err := r.Loads(t.Context()); return err }, []string{"idx_sessions_status (status=?)"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := b.Write(t.Context(), func(x store.Tx) error {
				x.(*tx).conn.prepared = map[string]*statement{}
				if err := test.ask(x); err != nil {
					return err
				}
				var plans []string
				for _, query := range slices.Collect(maps.Keys(x.(*tx).conn.prepared)) {
					plans = append(plans, plan(t, x.(*tx).conn, query))
				}
				for _, want := range test.want {
					if got := strings.Join(plans, "\n"); !strings.Contains(got, want) {
						t.Errorf("got\n%s\nwant %s", got, want)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
