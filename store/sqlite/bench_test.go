package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
)

const benchSpecialists = 20

var benchDay = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// benchAppointment is the n-th of a full calendar: twenty specialists, a quarter of an hour each, ids that sort by time.
func benchAppointment(n int64) store.Appointment {
	from := benchDay.Add(time.Duration(n/benchSpecialists) * 15 * time.Minute)
	to := from.Add(15 * time.Minute)
	return store.Appointment{
		ID:                fmt.Sprintf("019abcde-%04x-7%03x-8000-%012x", n>>16&0xffff, n>>4&0xfff, n),
		AppointmentTypeID: "checkup", SpecialistID: benchSpecialist(n), ClientID: fmt.Sprintf("%032x", uint64(n)*0x9e3779b97f4a7c15),
		Status: store.Confirmed, Attendance: store.Expected, SlotStart: from, SlotEnd: to, BusyStart: from, BusyEnd: to,
		Patient: store.Patient{Name: "Jo Doe", Email: "jo.doe@example.org", Phone: "+49 30 1234567"},
		Source:  store.SourceWeb, UpstreamState: store.UpstreamNone, CreatedAt: benchDay, UpdatedAt: benchDay, Version: 1,
	}
}

func benchSpecialist(n int64) string { return fmt.Sprintf("specialist-%d", n%benchSpecialists) }

func benchStore(tb testing.TB) *Store {
	tb.Helper()
	s, err := Open(context.Background(), Options{Path: filepath.Join(tb.TempDir(), "holdfast.db")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	ctx := context.Background()
	err = s.Write(ctx, func(tx store.Tx) error {
		for n := range int64(benchSpecialists) {
			if err := tx.PutSpecialist(ctx, store.Specialist{ID: benchSpecialist(n), Name: "Dr", Timezone: "Europe/Berlin", Active: true}); err != nil {
				return err
			}
		}
		return tx.PutAppointmentType(ctx, store.AppointmentType{ID: "checkup", Name: "Check-up", DurationMinutes: 15, SlotStepMinutes: 15, Capacity: 1, Active: true})
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// fill writes the appointments [from, to) as fast as it can.
func fill(tb testing.TB, s *Store, from, to int64) {
	tb.Helper()
	ctx := context.Background()
	for at := from; at < to; at += 5000 {
		err := s.Write(ctx, func(tx store.Tx) error {
			for n := at; n < min(at+5000, to); n++ {
				if err := tx.InsertAppointment(ctx, benchAppointment(n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkInsert is one durable appointment per operation, by so many callers at once.
func BenchmarkInsert(b *testing.B) {
	for _, callers := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := benchStore(b)
			warm(b, s)
			next := atomic.Int64{}
			next.Store(warmRows)
			last := int64(warmRows + b.N)
			ctx := context.Background()
			var wg sync.WaitGroup
			b.ResetTimer()
			for range callers {
				wg.Go(func() {
					for n := next.Add(1) - 1; n < last; n = next.Add(1) - 1 {
						a := benchAppointment(n)
						if err := s.Write(ctx, func(tx store.Tx) error { return tx.InsertAppointment(ctx, a) }); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkCeiling is what group commit could reach at best: the same statements in transactions of 256 rows, back to
// back, with nobody to wait for or to answer.
func BenchmarkCeiling(b *testing.B) {
	s := benchStore(b)
	warm(b, s)
	s.writer.close() // its connection is ours now; closing again is harmless
	c := s.writer.conn
	ctx := context.Background()
	b.ResetTimer()
	for row := 0; row < b.N; {
		if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
			b.Fatal(err)
		}
		for range min(256, b.N-row) {
			if err := newTx(c).InsertAppointment(ctx, benchAppointment(int64(warmRows+row))); err != nil {
				b.Fatal(err)
			}
			row++
		}
		if _, err := c.exec("COMMIT"); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// warm brings the log to its usual length, so that no benchmark pays for growing the file.
const warmRows = 4000

func warm(b *testing.B, s *Store) {
	b.Helper()
	fill(b, s, 0, warmRows)
	if _, err := passive(s.writer.conn); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTaken is the read behind a month of time slots, pooled over twenty full calendars.
func BenchmarkTaken(b *testing.B) {
	s := benchStore(b)
	fill(b, s, 0, benchSpecialists*32*22) // eight hours a day, 22 days
	ids := make([]string, benchSpecialists)
	for n := range ids {
		ids[n] = benchSpecialist(int64(n))
	}
	rows := 0
	b.ResetTimer()
	for range b.N {
		taken, err := s.Taken(context.Background(), ids, benchDay, benchDay.AddDate(0, 0, 30))
		if err != nil {
			b.Fatal(err)
		}
		rows = len(taken)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}
