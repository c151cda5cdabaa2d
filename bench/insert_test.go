package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/sqlite"
)

// schema creates a table with the same guarantee in PostgreSQL. A trigger checks for overlaps while it holds an
// advisory lock on the specialist.
const schema = `
CREATE TABLE appointments (
  id text PRIMARY KEY, appointment_type_id text NOT NULL, specialist_id text NOT NULL, client_id text NOT NULL, seat int NOT NULL,
  overbook bool NOT NULL, status text NOT NULL, attendance text NOT NULL, slot_start bigint NOT NULL, slot_end bigint NOT NULL,
  busy_start bigint NOT NULL, busy_end bigint NOT NULL, patient_name text, patient_email text, patient_phone text,
  patient_birth_date text, notes text, source text, upstream_state text, upstream_id text, created_at bigint, updated_at bigint,
  cancelled_at bigint, version bigint);
CREATE UNIQUE INDEX idx_no_double_book ON appointments (specialist_id, slot_start, seat) WHERE status = 'confirmed' AND NOT overbook;
CREATE INDEX appointments_busy ON appointments (specialist_id, busy_start) WHERE status = 'confirmed' AND NOT overbook;
CREATE FUNCTION no_overlap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.status = 'confirmed' AND NOT NEW.overbook THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.specialist_id, 0));
    IF EXISTS (SELECT 1 FROM appointments a WHERE a.specialist_id=NEW.specialist_id AND a.status='confirmed' AND NOT a.overbook AND a.id<>NEW.id
      AND a.busy_start < NEW.slot_end + 86400000 AND a.busy_start > NEW.slot_start - 172800000
      AND ((a.busy_start<NEW.slot_end AND NEW.slot_start<a.busy_end) OR (a.slot_start<NEW.busy_end AND NEW.busy_start<a.slot_end))
      AND NOT (a.appointment_type_id=NEW.appointment_type_id AND a.slot_start=NEW.slot_start AND a.slot_end=NEW.slot_end AND a.seat<>NEW.seat))
    THEN RAISE EXCEPTION 'slot_taken' USING ERRCODE = '23P01'; END IF;
  END IF; RETURN NEW; END $$;
CREATE TRIGGER no_overlap BEFORE INSERT OR UPDATE ON appointments FOR EACH ROW EXECUTE FUNCTION no_overlap();`

const insertPostgres = `INSERT INTO appointments (id, appointment_type_id, specialist_id, client_id, seat, overbook, status, attendance,
  slot_start, slot_end, busy_start, busy_end, patient_name, patient_email, patient_phone, patient_birth_date, notes, source,
  upstream_state, upstream_id, created_at, updated_at, version)
  VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23)`

const specialists = 50

// BenchmarkInsert writes durable appointments with the guarantee against double booking, from 32 and from 256 callers.
// Holdfast's SQLite takes turns with PostgreSQL, which uses its best pool size. The benchmark reports the ratio of
// their times.
func BenchmarkInsert(b *testing.B) {
	connect := postgresServer(b)
	ctx := context.Background()
	if _, err := connect(4).Exec(ctx, schema); err != nil {
		b.Fatal(err)
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(b.TempDir(), "holdfast.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	seed(b, db)
	used := 0
	for _, x := range []struct{ callers, pool int }{{32, 32}, {256, 128}} {
		b.Run(fmt.Sprintf("callers=%d", x.callers), func(b *testing.B) {
			pool := connect(x.pool)
			n := max(b.N*200, 2000)
			for b.Loop() {
				var ours, theirs time.Duration
				for range 3 { // in turns, so that a noisy neighbour affects both
					first := used
					used += n
					theirs += together(x.callers, n, func(i int) {
						a := appointment(first + i)
						_, err := pool.Exec(ctx, insertPostgres, a.ID, a.AppointmentTypeID, a.SpecialistID, a.Owner,
							a.Seat, a.Overbook, a.Status, a.Attendance,
							a.SlotStart.UnixMilli(), a.SlotEnd.UnixMilli(), a.BusyStart.UnixMilli(),
							a.BusyEnd.UnixMilli(), a.Patient.Name, a.Patient.Email, a.Patient.Phone,
							a.Patient.BirthDate, a.Patient.Notes, a.Source, a.UpstreamState, a.UpstreamID,
							a.CreatedAt.UnixMilli(),
							a.UpdatedAt.UnixMilli(), a.Version)
						if err != nil {
							b.Error(err)
						}
					})
					ours += together(x.callers, n, func(i int) {
						a := appointment(first + i)
						if err := db.Write(ctx, func(tx store.Tx) error {
							return tx.InsertAppointment(ctx, a)
						}); err != nil {
							b.Error(err)
						}
					})
				}
				b.ReportMetric(float64(3*n)/ours.Seconds(), "holdfast/s")
				b.ReportMetric(float64(3*n)/theirs.Seconds(), "postgres/s")
				b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// appointment returns the nth appointment of a full calendar. Appointments take half an hour each, follow one another,
// and are distributed over the specialists.
func appointment(n int) store.Appointment {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n/specialists) * 30 * time.Minute)
	end := start.Add(30 * time.Minute)
	now := time.Now().UTC().Truncate(time.Millisecond)
	return store.Appointment{
		ID: fmt.Sprintf("01900000-0000-7000-8000-%012x", n), AppointmentTypeID: "checkup",
		SpecialistID: fmt.Sprintf("s%02d", n%specialists), Owner: "0123456789abcdef0123456789abcdef",
		Status: store.Confirmed, Attendance: store.Expected, SlotStart: start, SlotEnd: end,
		BusyStart: start, BusyEnd: end, Patient: store.Patient{Name: "Lena Vogt",
			Email: "lena@example.org", Phone: "030 1234567"},
		Source: store.SourceWeb, UpstreamState: store.UpstreamNone, CreatedAt: now, UpdatedAt: now, Version: 1,
	}
}

func seed(b *testing.B, db *sqlite.Store) {
	b.Helper()
	ctx := context.Background()
	err := db.Write(ctx, func(tx store.Tx) error {
		t := store.AppointmentType{ID: "checkup", Name: "Check-up", DurationMinutes: 30, SlotStepMinutes: 30,
			HorizonDays: 60, Capacity: 1,
			HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 3, Active: true}
		for i := range specialists {
			p := store.Specialist{ID: fmt.Sprintf("s%02d", i), Name: "Dr", Timezone: "UTC", Active: true}
			if err := tx.PutSpecialist(ctx, p); err != nil {
				return err
			}
			t.Specialists = append(t.Specialists, store.Assignment{SpecialistID: p.ID})
		}
		return tx.PutAppointmentType(ctx, t)
	})
	if err != nil {
		b.Fatal(err)
	}
}
