package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/store"
)

// A transaction asks the database itself, so it says what the remembered days must say.
func TestRememberedDaysAgreeWithTheDatabase(t *testing.T) {
	b := newBench(t, Options{})
	defer mustClose(t, b.Store)
	ctx := context.Background()
	random := rand.New(rand.NewPCG(1, 2))
	ids := []string{"specialist-0", "specialist-1", "specialist-2", "unknown"}
	epoch := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC) // the days before it count backwards
	var all []store.Appointment
	for step := range 600 {
		from := epoch.Add(time.Duration(random.IntN(6*24*12)-3*24*12) * 5 * time.Minute)
		a := benchAppointment(int64(step))
		a.SpecialistID = ids[random.IntN(3)]
		a.SlotStart, a.SlotEnd = from, from.Add(time.Duration(1+random.IntN(30))*5*time.Minute)
		a.BusyStart, a.BusyEnd = a.SlotStart.Add(-time.Duration(random.IntN(400))*time.Minute), a.SlotEnd.Add(time.Duration(random.IntN(400))*time.Minute)
		a.Overbook = random.IntN(2) == 0
		change := store.Tx.InsertAppointment
		if len(all) > 0 && random.IntN(2) == 0 {
			old := all[random.IntN(len(all))]
			a.ID, a.Version = old.ID, old.Version
			if random.IntN(2) == 0 {
				a.Status = store.Cancelled
			}
			change = store.Tx.UpdateAppointment
		}
		err := b.Write(ctx, func(tx store.Tx) error { return change(tx, ctx, a) })
		if err != nil && !errors.Is(err, store.ErrSlotTaken) {
			t.Fatal(err)
		}
		if err == nil {
			if a.ID != benchAppointment(int64(step)).ID {
				a.Version++
				all = slices.DeleteFunc(all, func(o store.Appointment) bool { return o.ID == a.ID })
			}
			all = append(all, a)
		}
		for range 4 {
			from := epoch.Add(time.Duration(random.IntN(8*24*60)-4*24*60) * time.Minute)
			to := from.Add(time.Duration(random.IntN(3*24*60)) * time.Minute)
			if random.IntN(4) == 0 {
				from, to = dayOf(from).start(), dayOf(to).start()
			}
			asked := ids[random.IntN(len(ids)):]
			got, err := b.Taken(ctx, asked, from, to)
			if err != nil {
				t.Fatal(err)
			}
			var want []store.Taken
			if err := b.Write(ctx, func(tx store.Tx) (err error) { want, err = tx.Taken(ctx, asked, from, to); return err }); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(inOrder(t, got), inOrder(t, want)) {
				t.Fatalf("step %d: taken of %v from %v to %v:\n got %v\nwant %v", step, asked, from, to, got, want)
			}
		}
	}
	if rows := len(all); rows < 100 {
		t.Errorf("only %d appointments were made", rows)
	}
}

// inOrder asserts the order that Taken promises and then breaks its ties.
func inOrder(t *testing.T, all []store.Taken) []store.Taken {
	t.Helper()
	promised := func(x, y store.Taken) int {
		if x.SpecialistID != y.SpecialistID {
			return slices.Compare([]byte(x.SpecialistID), []byte(y.SpecialistID))
		}
		if c := x.SlotStart.Compare(y.SlotStart); c != 0 {
			return c
		}
		return x.Seat - y.Seat
	}
	if !slices.IsSortedFunc(all, promised) {
		t.Errorf("not in order: %v", all)
	}
	return slices.SortedFunc(slices.Values(all), func(x, y store.Taken) int {
		if c := promised(x, y); c != 0 {
			return c
		}
		return slices.Compare([]byte(x.AppointmentID), []byte(y.AppointmentID))
	})
}

// Appointments hop between specialists and days while others look: each is seen exactly once at every moment, and where
// its own writer put it as soon as Write has returned.
func TestRememberedDaysShowOneMoment(t *testing.T) {
	b := newBench(t, Options{})
	defer mustClose(t, b.Store)
	ctx := context.Background()
	const hoppers, hops = 6, 80
	all := []string{benchSpecialist(0), benchSpecialist(1), benchSpecialist(2)}
	from, to := benchDay.AddDate(0, 0, -1), benchDay.AddDate(0, 0, 5)
	place := func(a store.Appointment, hopper, n int) store.Appointment {
		a.SpecialistID = all[n%3]
		a.SlotStart = benchDay.Add(time.Duration(hopper)*15*time.Minute + time.Duration(n%4)*24*time.Hour)
		a.SlotEnd = a.SlotStart.Add(15 * time.Minute)
		a.BusyStart, a.BusyEnd = a.SlotStart, a.SlotEnd
		return a
	}
	for h := range hoppers {
		if err := b.Write(ctx, func(tx store.Tx) error { return tx.InsertAppointment(ctx, place(benchAppointment(int64(h)), h, h)) }); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	var writers, readers sync.WaitGroup
	for h := range hoppers {
		writers.Go(func() {
			a := place(benchAppointment(int64(h)), h, h)
			for n := range hops {
				a = place(a, h, h+n+1)
				if err := b.Write(ctx, func(tx store.Tx) error { return tx.UpdateAppointment(ctx, a) }); err != nil {
					t.Error(err)
					return
				}
				a.Version++
				got, err := b.Taken(ctx, all, from, to)
				i := slices.IndexFunc(got, func(x store.Taken) bool { return x.AppointmentID == a.ID })
				if err != nil || i < 0 || got[i].SpecialistID != a.SpecialistID || !got[i].SlotStart.Equal(a.SlotStart) {
					t.Errorf("hopper %d is not where it was just put: %v, %v", h, got, err)
				}
			}
		})
	}
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := b.Taken(ctx, all, from, to)
				seen := map[string]bool{}
				for _, x := range got {
					seen[x.AppointmentID] = true
				}
				if err != nil || len(got) != hoppers || len(seen) != hoppers {
					t.Errorf("saw %d rows of %d appointments, %v; want each of %d once", len(got), len(seen), err, hoppers)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

func TestRememberedDaysAreBounded(t *testing.T) {
	b := newBench(t, Options{})
	defer mustClose(t, b.Store)
	for n := range 40 {
		ids := make([]string, 200)
		for i := range ids {
			ids[i] = fmt.Sprint("nobody-", n, "-", i)
		}
		if _, err := b.Taken(t.Context(), ids, benchDay, benchDay.AddDate(0, 0, 90)); err != nil {
			t.Fatal(err)
		}
		if limit := rememberedRows + 200*91; b.days.rows > limit {
			t.Fatalf("%d rows are remembered, want at most %d", b.days.rows, limit)
		}
	}
}
