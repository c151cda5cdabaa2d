package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
)

const benchSpecialists = 20

// benchSlots is the number of 15-minute slots of all specialists in a year and a half. It is a prime, so that multiples
// of another number modulo benchSlots visit every slot once, in a practically random order. This resembles real use:
// people do not book slots in sequence.
const benchSlots = 1_000_003

// scattered returns the n-th appointment of a calendar that fills in random order.
func scattered(n int64) store.Appointment {
	a := benchAppointment(n * 386_231 % benchSlots)
	a.ID = benchAppointment(n).ID // ids sort by the time of booking
	return a
}

var benchDay = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// benchAppointment returns the n-th appointment of the full calendars of twenty specialists. Each appointment takes 15
// minutes, and the ids sort by time.
func benchAppointment(n int64) store.Appointment {
	from := benchDay.Add(time.Duration(n/benchSpecialists) * 15 * time.Minute)
	to := from.Add(15 * time.Minute)
	return store.Appointment{
		ID:                fmt.Sprintf("019abcde-%04x-7%03x-8000-%012x", n>>16&0xffff, n>>4&0xfff, n),
		AppointmentTypeID: "checkup", SpecialistID: benchSpecialist(n), Owner: fmt.Sprintf("%032x", uint64(n)*0x9e3779b97f4a7c15),
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
	if err := s.Write(ctx, func(tx store.Tx) error { return benchClinic(ctx, tx) }); err != nil {
		tb.Fatal(err)
	}
	return s
}

func benchClinic(ctx context.Context, tx store.Tx) error {
	for n := range int64(benchSpecialists) {
		if err := tx.PutSpecialist(ctx, store.Specialist{ID: benchSpecialist(n), Name: "Dr", Timezone: "Europe/Berlin", Active: true}); err != nil {
			return err
		}
	}
	return tx.PutAppointmentType(ctx, store.AppointmentType{ID: "checkup", Name: "Check-up", DurationMinutes: 15, SlotStepMinutes: 15, Capacity: 1, Active: true})
}

// fill writes the appointments [from, to) as fast as it can.
func fill(tb testing.TB, s *Store, from, to int64, which func(int64) store.Appointment) {
	tb.Helper()
	ctx := context.Background()
	for at := from; at < to; at += 5000 {
		err := s.Write(ctx, func(tx store.Tx) error {
			for n := at; n < min(at+5000, to); n++ {
				if err := tx.InsertAppointment(ctx, which(n)); err != nil {
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

// together writes the appointments [from, to) with several concurrent callers, one durable Write for each appointment.
func together(b *testing.B, s *Store, callers int, from, to int64) {
	ctx := context.Background()
	next := atomic.Int64{}
	next.Store(from)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < to; n = next.Add(1) - 1 {
				a := scattered(n)
				if err := s.Write(ctx, func(tx store.Tx) error { return tx.InsertAppointment(ctx, a) }); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// backToBack writes the appointments [from, to) with the same statements in transactions of 256 rows. There are no
// callers to wait for or respond to.
func backToBack(b *testing.B, c *conn, from, to int64) {
	ctx := context.Background()
	for n := from; n < to; {
		if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
			b.Fatal(err)
		}
		for end := min(n+256, to); n < end; n++ {
			if err := newTx(c, new(chainEnd)).InsertAppointment(ctx, scattered(n)); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := c.exec("COMMIT"); err != nil {
			b.Fatal(err)
		}
	}
}

// ownConn stops the writer and returns its connection. The store can still be closed later.
func ownConn(s *Store) *conn {
	s.writer.close()
	return s.writer.conn
}

// warm brings the log to its usual length, so that no benchmark includes the growth of the file.
const warmRows = 20_000

func warm(b *testing.B, s *Store) {
	b.Helper()
	fill(b, s, 0, warmRows, scattered)
	if _, err := passive(s.writer.conn); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkInsert measures one durable appointment per operation, with n concurrent callers.
func BenchmarkInsert(b *testing.B) {
	for _, callers := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := benchStore(b)
			warm(b, s)
			b.ResetTimer()
			together(b, s, callers, warmRows, warmRows+int64(b.N))
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkCeiling measures the best result that group commit could have.
func BenchmarkCeiling(b *testing.B) {
	s := benchStore(b)
	warm(b, s)
	c := ownConn(s)
	b.ResetTimer()
	backToBack(b, c, warmRows, warmRows+int64(b.N))
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkGroupCommit compares 256 callers with the ceiling, in turns, so that noise on the machine affects both. One
// operation is one turn of each. "ratio" is the ratio of their best turns, and "median" the median of the ratios of all
// turns.
func BenchmarkGroupCommit(b *testing.B) {
	const rows = 4096
	group, alone := benchStore(b), benchStore(b)
	warm(b, group)
	warm(b, alone)
	c := ownConn(alone)
	at := int64(warmRows)
	turns(b, func() {
		together(b, group, 256, at, at+rows)
	}, func() {
		backToBack(b, c, at, at+rows)
	}, func() {
		at += rows
		if _, err := passive(c); err != nil { // the other variant makes its checkpoints during its turn
			b.Fatal(err)
		}
	})
}

// turns runs ours and peer in turns and reports the rate of ours relative to that of peer.
func turns(b *testing.B, ours, peer, between func()) {
	var best [2]time.Duration
	var ratios []float64
	b.ResetTimer()
	for range b.N {
		var took [2]time.Duration
		for i, run := range []func(){ours, peer} {
			start := time.Now()
			run()
			took[i] = time.Since(start)
			if best[i] == 0 || took[i] < best[i] {
				best[i] = took[i]
			}
		}
		ratios = append(ratios, float64(took[1])/float64(took[0]))
		between()
	}
	slices.Sort(ratios)
	b.ReportMetric(float64(best[1])/float64(best[0]), "ratio")
	b.ReportMetric(ratios[len(ratios)/2], "median")
}

// BenchmarkTaken measures the read for a month of time slots, pooled over twenty full calendars.
func BenchmarkTaken(b *testing.B) {
	s := benchStore(b)
	fill(b, s, 0, benchSpecialists*32*22, benchAppointment) // eight hours a day, 22 days
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

// BenchmarkPromised reads one row of the outbox, with a context that can end, as before each attempt to send an email.
// Compare the processor time of the whole run.
//
//	time go test ./store/sqlite -run '^$' -bench Promised -benchtime 30000x
func BenchmarkPromised(b *testing.B) {
	s, ctx := benchStore(b), b.Context()
	op := store.Operation{ID: "op-1", Kind: store.Email, AppointmentID: "a", Status: store.OperationPending,
		MaxAttempts: 10, CreatedAt: benchDay, NextAttemptAt: benchDay, Payload: []byte(`{"notice":"confirmation"}`)}
	if err := s.Write(ctx, func(tx store.Tx) error { return tx.Promise(ctx, op) }); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Promised(ctx, op.ID); err != nil {
			b.Fatal(err)
		}
	}
}
