package table

import (
	"context"
	"time"

	"holdfast/store"
)

// AppointmentCounts implements store.ReportReader.
func (r Reads) AppointmentCounts(ctx context.Context,
	from, to, now time.Time) (all []store.AppointmentCount, err error) {
	err = r.source.Query(ctx, func(r Row) {
		all = append(all, store.AppointmentCount{
			Source: store.Source(r.Text()), Status: store.Status(r.Text()), Attendance: store.Attendance(r.Text()),
			N: r.Int(), Started: r.Int(), Lead: time.Duration(r.Int64()) * time.Millisecond,
		})
	}, `SELECT source, status, attendance, count(*),
			CAST(sum(CASE WHEN slot_start < ?3 THEN 1 ELSE 0 END) AS BIGINT), CAST(sum(slot_start - created_at) AS BIGINT)
		FROM appointments WHERE slot_start >= ?1 AND slot_start < ?2
		GROUP BY source, status, attendance ORDER BY source, status, attendance`, from, to, now)
	return all, err
}

// BookedTime implements store.ReportReader.
func (r Reads) BookedTime(ctx context.Context, from, to time.Time) (map[string]time.Duration, error) {
	booked := map[string]time.Duration{}
	err := r.source.Query(ctx, func(r Row) { booked[r.Text()] = time.Duration(r.Int64()) * time.Millisecond }, `
		SELECT specialist_id, CAST(sum(slot_end - slot_start) AS BIGINT) FROM (
			SELECT DISTINCT specialist_id, slot_start, slot_end FROM appointments
			WHERE slot_start >= ? AND slot_start < ? AND status = 'confirmed') AS slots
		GROUP BY specialist_id`, from, to)
	return booked, err
}

// ActionCounts implements store.ReportReader.
func (r Reads) ActionCounts(ctx context.Context, from, to time.Time, actions []string) (map[string]int, error) {
	names, err := jsonOf(actions)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	err = r.source.Query(ctx, func(r Row) { counts[r.Text()] = r.Int() },
		`SELECT action, count(*) FROM audit_entries WHERE at >= ? AND at < ? AND action IN ({each}(?)) GROUP BY action`,
		from, to, names)
	return counts, err
}
