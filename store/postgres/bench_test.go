package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast/store"
	"holdfast/store/postgres/postgrestest"
	"holdfast/store/table"
)

const benchSpecialists = 20

// benchBooking returns the n-th booking of a calendar that fills in a practically random order. The number of 15-minute
// slots is a prime, so every slot is booked once.
func benchBooking(n int64) store.Appointment {
	slot := n * 386_231 % 1_000_003
	a := booking(fmt.Sprintf("s%d", slot%benchSpecialists), int(slot/benchSpecialists)*15, int(slot/benchSpecialists)*15+15)
	a.ID = fmt.Sprintf("019abcde-0000-7000-8000-%012x", n)
	a.Owner = fmt.Sprintf("%032x", uint64(n)*0x9e3779b97f4a7c15)
	a.Patient = store.Patient{Name: "Jo Doe", Email: "jo.doe@example.org", Phone: "+49 30 1234567"}
	return a
}

func benchClinic(tx store.Tx) error {
	ctx := context.Background()
	for i := range benchSpecialists {
		if err := tx.PutSpecialist(ctx, store.Specialist{ID: fmt.Sprintf("s%d", i), Name: "Dr", Timezone: "UTC", Active: true}); err != nil {
			return err
		}
	}
	return tx.PutAppointmentType(ctx, store.AppointmentType{ID: "checkup", Name: "Check-up", DurationMinutes: 15, SlotStepMinutes: 15,
		Capacity: 1, Active: true})
}

var (
	benchAudit   = json.RawMessage(`{"status":"confirmed","slotStart":"2026-11-23T09:00:00Z","specialistId":"s1"}`)
	benchPayload = json.RawMessage(`{"notice":"confirmation","to":"jo.doe@example.org"}`)
)

// book makes the calls of a booking in one Write: it looks up the owner's latest booking, and adds the appointment, its
// outbox rows and the audit entry.
func book(s *Store, n int64) error {
	ctx := context.Background()
	a := benchBooking(n)
	return s.Write(ctx, func(tx store.Tx) error {
		if _, err := tx.LatestWebBooking(ctx, a.Owner, a.AppointmentTypeID, monday); err == nil {
			return store.ErrDuplicate
		}
		if err := tx.InsertAppointment(ctx, a); err != nil {
			return err
		}
		op := store.Operation{ID: "op-" + a.ID, Kind: store.Email, AppointmentID: a.ID, Status: store.OperationPending, MaxAttempts: 10,
			CreatedAt: monday, NextAttemptAt: monday, StartTime: a.SlotStart, Payload: benchPayload}
		if err := tx.Promise(ctx, op); err != nil {
			return err
		}
		return tx.AppendAudit(ctx, store.AuditEntry{ID: a.ID, At: monday, Actor: "client", Action: "appointment.created",
			Subject: "appointment:" + a.ID, After: benchAudit})
	})
}

// bare runs the same statements in separate transactions on a pool of pgx, as a program would usually do. It has no
// order of writes and no feed.
type bare struct {
	pool *pgxpool.Pool
}

const bareInsert = `INSERT INTO appointments (id, appointment_type_id, specialist_id, client_id, seat, overbook, overbook_reason,
	status, attendance, slot_start, slot_end, busy_start, busy_end,
	patient_name, patient_email, patient_phone, patient_birth_date, notes,
	source, upstream_state, upstream_id, upstream_patient_id, manage_epoch,
	created_at, updated_at, cancelled_at, cancel_reason, version, locale, arrived_at, series_id, place, intake, resources, visit_id, patient_search)
	VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27,$28,$29,$30,$31,$32,$33,$34,$35,$36)`

func (p bare) book(n int64) error {
	ctx := context.Background()
	a := benchBooking(n)
	ms := func(t time.Time) int64 { return t.UnixMilli() }
	text, err := encodeChanges([]store.Change{store.ChangeOf(nil, &a)})
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		var id string
		var start, created int64
		err := tx.QueryRow(ctx, `SELECT id, slot_start, created_at FROM appointments
			WHERE client_id = $1 AND client_id <> '' AND appointment_type_id = $2 AND status = 'confirmed' AND source = 'web'
			  AND created_at >= $3 ORDER BY created_at DESC, id DESC LIMIT 1`, a.Owner, a.AppointmentTypeID, ms(monday)).Scan(&id, &start, &created)
		if err != pgx.ErrNoRows {
			return fmt.Errorf("booked before: %w", err)
		}
		_, err = tx.Exec(ctx, bareInsert, a.ID, a.AppointmentTypeID, a.SpecialistID, a.Owner, a.Seat, a.Overbook, a.OverbookReason,
			string(a.Status), string(a.Attendance), ms(a.SlotStart), ms(a.SlotEnd), ms(a.BusyStart), ms(a.BusyEnd), a.Patient.Name, a.Patient.Email,
			a.Patient.Phone, a.Patient.BirthDate, a.Patient.Notes, string(a.Source), string(a.UpstreamState), a.UpstreamID, a.UpstreamPatientID,
			a.ManageEpoch, ms(a.CreatedAt), ms(a.UpdatedAt), nil, a.CancelReason, a.Version, a.Locale, nil, a.SeriesID, a.Place, a.Intake.Packed(), "", a.VisitID, store.SearchText(a.Patient))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO outbox (`+table.OperationColumns+`) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18)`,
			"op-"+a.ID, "email", a.ID, "pending", false, false, 0, 0, 10, ms(monday), ms(monday), nil, nil, nil, ms(a.SlotStart), "", "", string(benchPayload))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO audit_entries (id, at, actor, action, subject, reason, before, after) VALUES ($1,$2,$3,$4,$5,$6,$7,$8)`,
			a.ID, ms(monday), "client", "appointment.created", "appointment:"+a.ID, "", nil, string(benchAudit))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, appendChanges, text)
		return err
	})
}

// together books [from, to) with the given number of concurrent callers, and returns how long that
// took.
func together(b *testing.B, callers int, from, to int64, book func(caller int, n int64) error) time.Duration {
	b.Helper()
	next := atomic.Int64{}
	next.Store(from)
	began := time.Now()
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < to; n = next.Add(1) - 1 {
				if err := book(caller, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// BenchmarkBook measures durable bookings of 32 callers, with all their writes. In turns, it books through one node,
// through two nodes on one database, and through a bare pool of 32 connections. share is the rate of one node relative
// to that of the pool. two is the rate of two nodes relative to that of one.
func BenchmarkBook(b *testing.B) {
	durable, err := postgrestest.Start("fsync=on", "full_page_writes=on", "max_wal_size=1GB")
	if err != nil {
		b.Skip("SKIPPED:", err)
	}
	b.Cleanup(durable.Stop)
	ctx := context.Background()
	open := func(url string) *Store {
		s := mustOpen(b, Options{URL: url})
		b.Cleanup(func() { s.Close() })
		return s
	}
	oneURL, twoURL, bareURL := durable.Create(b), durable.Create(b), durable.Create(b)
	one, two := open(oneURL), []*Store{open(twoURL), open(twoURL)}
	for _, s := range []*Store{one, two[0], open(bareURL)} {
		mustWrite(b, s, benchClinic)
	}
	config, err := pgxpool.ParseConfig(bareURL)
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = 32
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	peer := bare{pool}

	const callers = 32
	n := int64(max(b.N*500, 2000))
	var first int64
	var ours, both, theirs time.Duration
	var turns int64
	for b.Loop() {
		for range 3 {
			theirs += together(b, callers, first, first+n, func(_ int, n int64) error { return peer.book(n) })
			ours += together(b, callers, first, first+n, func(_ int, n int64) error { return book(one, n) })
			both += together(b, callers, first, first+n, func(caller int, n int64) error { return book(two[caller%2], n) })
			first += n
			turns++
		}
	}
	rate := func(d time.Duration) float64 { return float64(turns*n) / d.Seconds() }
	b.ReportMetric(rate(ours), "node/s")
	b.ReportMetric(rate(both), "two-nodes/s")
	b.ReportMetric(rate(theirs), "pool/s")
	b.ReportMetric(rate(ours)/rate(theirs), "share")
	b.ReportMetric(rate(both)/rate(ours), "two")
	b.ReportMetric(0, "ns/op")
}
