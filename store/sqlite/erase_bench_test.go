package sqlite

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/store"
)

// BenchmarkWriteDuringAnErasure reports the longest wait of a series of writes while a person is erased from a
// database of 20,000 appointments and as many audit entries.
func BenchmarkWriteDuringAnErasure(b *testing.B) {
	s, err := Open(b.Context(), Options{Path: b.TempDir() + "/holdfast.db"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	write := func(fn func(tx store.Tx) error) {
		if err := s.Write(ctx, fn); err != nil {
			b.Error(err)
		}
	}
	put := func(tx store.Tx, n int64) error {
		a := benchAppointment(n)
		if err := tx.InsertAppointment(ctx, a); err != nil {
			return err
		}
		return tx.AppendAudit(ctx, store.AuditEntry{ID: fmt.Sprint(n), At: benchDay, Actor: "client", Action: "appointment.created", Subject: "appointment:" + a.ID,
			After: []byte(`{"appointmentTypeId":"checkup","specialistId":"s","slotStartDate":"2026-11-21T08:00:00Z","status":"confirmed"}`)})
	}
	write(func(tx store.Tx) error {
		for n := range int64(benchSpecialists) {
			if err := tx.PutSpecialist(ctx, store.Specialist{ID: benchSpecialist(n)}); err != nil {
				return err
			}
		}
		return tx.PutAppointmentType(ctx, store.AppointmentType{ID: "checkup", DurationMinutes: 15, SlotStepMinutes: 15, Capacity: 1})
	})
	next := int64(0)
	for next < 20_000 {
		write(func(tx store.Tx) error {
			for end := next + 1000; next < end; next++ {
				if err := put(tx, next); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var slowest, erasing time.Duration
	for b.Loop() {
		done := make(chan struct{})
		var erasure sync.WaitGroup
		erasure.Go(func() {
			defer close(done)
			begun := time.Now()
			_, err := s.Erase(ctx, store.Person{Owner: benchAppointment(next / 2).Owner}, benchDay, func(store.Tx, store.Erased) error { return nil })
			if err != nil {
				b.Error(err)
			}
			erasing += time.Since(begun)
		})
		for erased := false; !erased; {
			select {
			case <-done:
				erased = true
			default:
				begun := time.Now()
				write(func(tx store.Tx) error { return put(tx, next) })
				slowest = max(slowest, time.Since(begun))
				next++
			}
		}
		erasure.Wait()
	}
	b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
	b.ReportMetric(float64(erasing.Milliseconds())/float64(b.N), "erasing-ms")
}
