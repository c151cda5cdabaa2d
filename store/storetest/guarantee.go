package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
)

func testGuarantee(t *testing.T, h Harness) {
	t.Run("one of 50 concurrent bookings of a slot wins", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		won := race(t, s, 50, func(int) store.Appointment { return booking("ada", "checkup", 0, 30) })
		if won != 1 {
			t.Errorf("got %d winners, want 1", won)
		}
	})

	t.Run("one of 50 concurrent bookings of overlapping slots wins", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		won := race(t, s, 50, func(i int) store.Appointment { return booking("ada", "long", i%40, 45) })
		if won != 1 {
			t.Errorf("got %d winners, want 1", won)
		}
	})

	t.Run("concurrent bookings fill a group exactly", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		won := race(t, s, 40, func(i int) store.Appointment { return seated(booking("ada", "group", 0, 60), i%4) })
		if won != 4 {
			t.Errorf("got %d seats booked, want 4", won)
		}
	})

	t.Run("pairs", func(t *testing.T) { pairs(t, h.open(t)) })
	t.Run("seats", func(t *testing.T) { seats(t, h.open(t)) })
	t.Run("updates", func(t *testing.T) { updates(t, h.open(t)) })
	t.Run("random calendars match the oracle", func(t *testing.T) { againstOracle(t, h.open(t)) })
	t.Run("concurrent random bookings never overlap", func(t *testing.T) { crowd(t, h.open(t)) })
}

func seated(a store.Appointment, seat int) store.Appointment {
	a.Seat = seat
	return a
}

func overbooked(a store.Appointment) store.Appointment {
	a.Overbook, a.OverbookReason, a.Source = true, "an emergency", store.SourceStaff
	return a
}

func cancelled(a store.Appointment) store.Appointment {
	a.Status, a.CancelledAt = store.Cancelled, monday
	return a
}

// race inserts from n goroutines at the same time and returns how many succeeded. The guarantee must refuse the others.
func race(t *testing.T, s store.Store, n int, racer func(i int) store.Appointment) int {
	t.Helper()
	var wg sync.WaitGroup
	var won atomic.Int64
	start := make(chan struct{})
	for i := range n {
		a := racer(i)
		wg.Go(func() {
			<-start
			err := s.Write(context.Background(), func(tx store.Tx) error {
				return tx.InsertAppointment(context.Background(), a)
			})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("booking %d: got %v, want success or ErrSlotTaken", i, err)
			}
		})
	}
	close(start)
	wg.Wait()
	return int(won.Load())
}

// pairs checks the guarantee for two appointments with the same specialist, in both orders.
func pairs(t *testing.T, s store.Store) {
	clinic(t, s)
	for i, test := range []struct {
		name string
		a, b store.Appointment
		fit  bool
	}{
		{"the same slot", booking("ada", "checkup", 0, 30), booking("ada", "checkup", 0, 30), false},
		{"back to back", booking("ada", "checkup", 0, 30), booking("ada", "checkup", 30, 30), true},
		{"one minute over", booking("ada", "checkup", 0, 30), booking("ada", "checkup", 29, 30), false},
		{"a shorter one inside, of another type", booking("ada", "long", 0, 45), booking("ada", "short", 15, 15),
			false},
		{"the same start, another type", booking("ada", "long", 0, 45), booking("ada", "short", 0, 15), false},
		{"the same end, another type", booking("ada", "long", 0, 45), booking("ada", "short", 30, 15), false},
		{"another specialist", booking("ada", "checkup", 0, 30), booking("ben", "checkup", 0, 30), true},
		{"the first's buffer exactly used up",
			buffered(booking("ada", "surgery", 0, 60), 10, 20), booking("ada", "checkup", 80, 30), true},
		{"the first's buffer cut by a minute",
			buffered(booking("ada", "surgery", 0, 60), 10, 20), booking("ada", "checkup", 79, 30), false},
		{"the second's buffer cut by a minute",
			booking("ada", "checkup", 0, 30), buffered(booking("ada", "surgery", 39, 60), 10, 20), false},
		{"two buffers share the gap: the larger of the two is enough",
			buffered(booking("ada", "surgery", 0, 60), 10, 20), buffered(booking("ada", "surgery", 80, 60), 10, 20),
			true},
		{"two buffers share the gap: less than the larger is not",
			buffered(booking("ada", "surgery", 0, 60), 10, 20), buffered(booking("ada", "surgery", 79, 60), 10, 20),
			false},
		{"the larger buffer is the second's",
			buffered(booking("ada", "surgery", 0, 60), 10, 5), buffered(booking("ada", "surgery", 64, 60), 10, 20),
			false},
		{"a long buffer reaches over a small gap between others",
			buffered(booking("ada", "surgery", 0, 60), 0, 300), booking("ada", "short", 359, 15), false},
		{"two seats of one group session",
			booking("ada", "group", 0, 60), seated(booking("ada", "group", 0, 60), 1), true},
		{"two seats of one group session with buffers that have changed since",
			buffered(booking("ada", "group", 0, 60), 5, 5), seated(buffered(booking("ada", "group", 0, 60), 10, 0), 1),
			true},
		{"one seat twice", seated(booking("ada", "group", 0, 60), 2), seated(booking("ada", "group", 0, 60), 2), false},
		{"two overlapping group sessions", booking("ada", "group", 0, 60), seated(booking("ada", "group", 30, 60), 1),
			false},
		{"group sessions of one start and two lengths",
			booking("ada", "group", 0, 60), seated(booking("ada", "group", 0, 90), 1), false},
		{"another type in a running group", booking("ada", "group", 0, 60), booking("ada", "short", 15, 15), false},
		{"an overbook on a booked slot", booking("ada", "checkup", 0, 30), overbooked(booking("ada", "checkup", 0, 30)),
			true},
		{"two overbooks", overbooked(booking("ada", "checkup", 0, 30)), overbooked(booking("ada", "checkup", 0, 30)),
			true},
		{"a cancelled one", cancelled(booking("ada", "checkup", 0, 30)), booking("ada", "checkup", 0, 30), true},
		{"days apart", buffered(booking("ada", "surgery", 0, 60), 60, 60), booking("ada", "checkup", 3*1440, 30), true},
	} {
		for turn, pair := range [][2]store.Appointment{{test.a, test.b}, {test.b, test.a}} {
			t.Run(fmt.Sprintf("%s/%d", test.name, turn), func(t *testing.T) {
				// Each pair gets a separate week.
				days := time.Duration((2*i+turn)*7*24) * time.Hour
				first, second := moved(pair[0], days), moved(pair[1], days)
				first.ID, second.ID = first.ID+fmt.Sprint(turn), second.ID+fmt.Sprint(turn)
				mustInsert(t, s, first)
				var want error
				if !test.fit {
					want = store.ErrSlotTaken
				}
				wantErr(t, "the second", insert(t, s, second), want)
			})
		}
	}
}

func moved(a store.Appointment, by time.Duration) store.Appointment {
	a.SlotStart, a.SlotEnd = a.SlotStart.Add(by), a.SlotEnd.Add(by)
	a.BusyStart, a.BusyEnd = a.BusyStart.Add(by), a.BusyEnd.Add(by)
	return a
}

func seats(t *testing.T, s store.Store) {
	clinic(t, s)
	wantErr(t, "a negative seat", insert(t, s, seated(booking("ada", "group", 0, 60), -1)), store.ErrInvalid)
	wantErr(t, "a seat at the capacity", insert(t, s, seated(booking("ada", "group", 0, 60), 4)), store.ErrInvalid)
	wantErr(t, "a second seat of a type without seats", insert(t, s, seated(booking("ada", "checkup", 0, 30), 1)),
		store.ErrInvalid)
	last := mustInsert(t, s, seated(booking("ada", "group", 0, 60), 3))

	smaller := appointmentType("group", 60)
	smaller.Capacity = 2
	write(t, s, func(tx store.Tx) error { return tx.PutAppointmentType(t.Context(), smaller) })
	wantErr(t, "a seat beyond the new capacity", insert(t, s, seated(booking("ada", "group", 0, 60), 2)),
		store.ErrInvalid)

	last.Attendance = store.Arrived
	wantErr(t, "attendance in a seat sold before", update(t, s, last), nil)
	last.Version++
	wantErr(t, "moving a seat sold before", update(t, s, moved(last, time.Hour)), store.ErrInvalid)
	wantErr(t, "cancelling a seat sold before", update(t, s, cancelled(last)), nil)
	last.Version++
	wantErr(t, "confirming it again", update(t, s, last), store.ErrInvalid)
}

func updates(t *testing.T, s store.Store) {
	clinic(t, s)
	a := mustInsert(t, s, booking("ada", "checkup", 0, 30))
	b := mustInsert(t, s, booking("ada", "checkup", 60, 30))

	wantErr(t, "moving onto a taken slot", update(t, s, moved(a, time.Hour)), store.ErrSlotTaken)
	wantErr(t, "moving into a part of a taken slot", update(t, s, moved(a, 45*time.Minute)), store.ErrSlotTaken)
	if got, err := s.Appointment(t.Context(), a.ID); err != nil || !got.SlotStart.Equal(a.SlotStart) ||
		got.Version != 1 {
		t.Errorf("after refused moves: got %v version %d, %v; want nothing changed", got.SlotStart, got.Version, err)
	}

	a = moved(a, 15*time.Minute)
	wantErr(t, "moving onto a part of its own old time", update(t, s, a), nil)
	a.Version++
	wantErr(t, "the part it left", insert(t, s, booking("ada", "short", 0, 15)), nil)

	a.SpecialistID = "ben"
	wantErr(t, "moving to another specialist", update(t, s, a), nil)
	a.Version++
	wantErr(t, "the time it left", insert(t, s, booking("ada", "checkup", 15, 30)), nil)
	wantErr(t, "the time it took", insert(t, s, booking("ben", "short", 30, 15)), store.ErrSlotTaken)

	wantErr(t, "widening the buffers over a neighbour", update(t, s, buffered(b, 60, 0)), store.ErrSlotTaken)

	wantErr(t, "cancelling", update(t, s, cancelled(b)), nil)
	b.Version++
	rebooked := mustInsert(t, s, booking("ada", "long", 60, 45))
	wantErr(t, "confirming a cancelled one whose slot was booked again", update(t, s, b), store.ErrSlotTaken)
	wantErr(t, "cancelling that", update(t, s, cancelled(rebooked)), nil)
	wantErr(t, "confirming it now", update(t, s, b), nil)

	over := mustInsert(t, s, overbooked(booking("ada", "checkup", 60, 30)))
	over.Overbook = false
	wantErr(t, "an overbook that becomes a plain appointment", update(t, s, over), store.ErrSlotTaken)
}
