package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// otherwise is a store that returns data that differs from what the engine has written.
type otherwise struct {
	store.Store
	taken    func([]store.Taken) []store.Taken
	schedule func(*store.Schedule)
	closures []store.Closure
}

func (o *otherwise) Taken(ctx context.Context, ids []string, from, to time.Time) ([]store.Taken, error) {
	all, err := o.Store.Taken(ctx, ids, from, to)
	if o.taken != nil {
		all = o.taken(all)
	}
	return all, err
}

func (o *otherwise) Schedule(ctx context.Context) (store.Schedule, error) {
	s, err := o.Store.Schedule(ctx)
	if o.schedule != nil {
		o.schedule(&s)
	}
	return s, err
}

func (o *otherwise) Closures(ctx context.Context) ([]store.Closure, error) {
	all, err := o.Store.Closures(ctx)
	return append(all, o.closures...), err
}

func TestCompareFindsMissingAppointment(t *testing.T) {
	// book today and tomorrow, because at any hour at least one of the two is read
	first, specialists := enginetest.BookedClinic(t, 1, 2)
	ctx, queue := t.Context(), enginetest.Queue(t)
	db := &otherwise{Store: first.Store}
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: enginetest.Holds(t, db), Queue: queue})
	if err != nil {
		t.Fatal(err)
	}
	now := record.Now()
	taken, err := e.Booking.TakenTime(ctx, specialists, now, now.AddDate(0, 0, 30))
	if err != nil || len(taken) == 0 {
		t.Fatalf("%d appointments, %v; want some", len(taken), err)
	}
	id := taken[0].AppointmentID
	old := store.Operation{ID: "op-1000000000000-aaaaaa", Kind: store.Email, Status: store.OperationPending,
		MaxAttempts: 1, CreatedAt: now.Add(-time.Hour),
		NextAttemptAt: now, Payload: []byte(`{}`)}
	young := old
	young.ID, young.CreatedAt = "op-1000000000001-aaaaaa", now
	for name, c := range map[string]struct {
		plant func()
		want  []string
	}{
		"nothing": {func() {}, nil},
		"an appointment that is gone": {func() { db.taken = func(all []store.Taken) []store.Taken { return all[1:] } },
			[]string{"memory: appointment " + id + " ", "1 times in memory, and 0 times in the database"}},
		"an appointment that was moved": {func() {
			db.taken = func(all []store.Taken) []store.Taken {
				all = slices.Clone(all)
				all[0].BusyEnd = all[0].BusyEnd.Add(time.Minute)
				return all
			}
		}, []string{"memory: appointment " + id + " ", "not in memory, and 1 times in the database"}},
		"a closure that is not known": {func() {
			db.closures = []store.Closure{{ID: "c1", SpecialistID: "ada", Start: now, End: now.Add(time.Hour)}}
		},
			[]string{"memory: closure c1 of ada"}},
		"another schedule": {func() {
			db.schedule = func(s *store.Schedule) { s.Clinic.Name = "Another" }
		}, []string{"memory: the schedule"}},
		"a promise that is not in the queue": {func() {
			if err := first.Store.Write(ctx, func(tx store.Tx) error {
				if err := tx.Promise(ctx, young); err != nil {
					return err
				}
				return tx.Promise(ctx, old)
			}); err != nil {
				t.Fatal(err)
			}
		}, []string{"queue: operation " + old.ID + " was written to the outbox at", "is not in the queue"}},
	} {
		db.taken, db.schedule, db.closures = nil, nil, nil
		c.plant()
		found, err := e.Differences(ctx)
		said := strings.Join(found, "\n")
		if err != nil || len(c.want) == 0 && strings.Contains(said, "memory") {
			t.Errorf("%s: got %q, %v", name, said, err)
		}
		for _, words := range c.want {
			if !strings.Contains(said, words) {
				t.Errorf("%s: got %q, want %q in it", name, said, words)
			}
		}
		if strings.Contains(said, young.ID) {
			t.Errorf("%s: %s is being delivered, so it is not a difference: %q", name, young.ID, said)
		}
	}
}

// TestComparePassesDuringBookings: a change that is committed during the comparison does not count as a difference.
func TestComparePassesDuringBookings(t *testing.T) {
	e, specialists := enginetest.BookedClinic(t, 2, 0)
	day := record.Now().Truncate(24*time.Hour).AddDate(0, 0, 3)
	ctx, stop := context.WithCancel(t.Context())
	if _, err := e.Booking.TakenTime(ctx, specialists, day, day.AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	for n, id := range specialists {
		others.Go(func() {
			for ctx.Err() == nil {
				a, err := e.Booking.Book(t.Context(), booking.Request{AppointmentTypeID: "checkup",
					SlotStart:    day.Add(time.Duration(16+n) * 30 * time.Minute),
					SpecialistID: id, Source: store.SourceStaff, Actor: "system",
					Patient: store.Patient{Name: fmt.Sprint("P", n)}})
				if err == nil {
					_, err = e.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "system"})
				}
				if err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
			}
		})
	}
	found, err := e.Differences(t.Context())
	stop()
	others.Wait()
	if err != nil || len(found) > 0 {
		t.Errorf("got %q, %v; want none", found, err)
	}
}
