package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/store"
)

// ticks is a day of 288 ticks of five minutes. The oracle marks ticks and does not compare instants, so it cannot
// contain the same mistake as the predicate under test.
type ticks [288]bool

func paint(from, to int) (day ticks) {
	for i := from; i < to; i++ {
		day[i] = true
	}
	return day
}

func (d ticks) meets(e ticks) bool {
	for i := range d {
		if d[i] && e[i] {
			return true
		}
	}
	return false
}

// fits is the oracle. It reports whether both a and b may be booked: neither slot overlaps the other's busy time, or
// they are different seats of one session.
func fits(a, b store.Appointment) bool {
	if a.ID == b.ID || a.SpecialistID != b.SpecialistID || a.Overbook || b.Overbook ||
		a.Status != store.Confirmed || b.Status != store.Confirmed {
		return true
	}
	tick := func(at time.Time) int { return int(at.Sub(oracleDay) / (5 * time.Minute)) }
	slotA, slotB := paint(tick(a.SlotStart), tick(a.SlotEnd)), paint(tick(b.SlotStart), tick(b.SlotEnd))
	busyA, busyB := paint(tick(a.BusyStart), tick(a.BusyEnd)), paint(tick(b.BusyStart), tick(b.BusyEnd))
	if a.AppointmentTypeID == b.AppointmentTypeID && slotA == slotB {
		return a.Seat != b.Seat
	}
	return !slotA.meets(busyB) && !busyA.meets(slotB)
}

var oracleDay = monday.Add(-4 * time.Hour)

// againstOracle creates random calendars, one for each specialist, and compares the store with the oracle after every
// change. The store must not accept an overlap or refuse a valid booking.
func againstOracle(t *testing.T, s store.Store) {
	clinic(t, s)
	calendars, agreed, refused := 0, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		calendars++
		id := fmt.Sprintf("calendar-%d", calendars)
		write(t, s, func(tx store.Tx) error { return tx.PutSpecialist(context.Background(), specialist(id)) })
		var all []store.Appointment
		err := s.Write(context.Background(), func(tx store.Tx) error {
			all = all[:0]
			for range rapid.IntRange(1, 25).Draw(r, "changes") {
				a, isNew := drawChange(r, id, all)
				want := true
				for _, other := range all {
					want = want && fits(other, a)
				}
				var err error
				if isNew {
					err = tx.InsertAppointment(context.Background(), a)
				} else {
					err = tx.UpdateAppointment(context.Background(), a)
				}
				if want && err != nil || !want && !errors.Is(err, store.ErrSlotTaken) {
					r.Fatalf("%s %s–%s (busy %s–%s, seat %d, overbook %t, %s): got %v, the oracle says fits=%t",
						a.AppointmentTypeID,
						a.SlotStart.Format("15:04"), a.SlotEnd.Format("15:04"), a.BusyStart.Format("15:04"),
						a.BusyEnd.Format("15:04"), a.Seat, a.Overbook, a.Status, err, want)
				}
				switch {
				case err != nil:
					refused++
				case isNew:
					agreed++
					all = append(all, a)
				default:
					agreed++
					for i := range all {
						if all[i].ID == a.ID {
							a.Version++
							all[i] = a
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			r.Fatalf("Write: %v", err)
		}
	})
	least := calendars / 2 // -short and -rapid.checks set the number of calendars
	if agreed < least || refused < least {
		t.Errorf("the calendars test too little: %d changes fitted and %d were refused", agreed, refused)
	}
}

// drawChange draws a new appointment, or a change to an appointment in all, within one day.
func drawChange(r *rapid.T, specialistID string, all []store.Appointment) (a store.Appointment, isNew bool) {
	kind := rapid.SampledFrom([]struct {
		id    string
		slots []int // minutes
		seats int
	}{{"short", []int{15}, 1}, {"checkup", []int{30}, 1}, {"long", []int{45, 90}, 1}, {"surgery", []int{60}, 1},
		{"group", []int{60}, 4}}).Draw(r, "type")
	start := 5 * rapid.IntRange(36, 120).Draw(r, "start")
	a = booking(specialistID, kind.id, start-240, rapid.SampledFrom(kind.slots).Draw(r, "minutes"))
	a.Seat = rapid.IntRange(0, kind.seats-1).Draw(r, "seat")
	buffer := rapid.SampledFrom([]int{0, 0, 0, 5, 10, 30, 120})
	a = buffered(a, buffer.Draw(r, "before"), buffer.Draw(r, "after"))
	if rapid.IntRange(0, 9).Draw(r, "overbook") == 0 {
		a = overbooked(a)
	}
	if len(all) == 0 || rapid.IntRange(0, 2).Draw(r, "new") > 0 {
		return a, true
	}
	old := rapid.SampledFrom(all).Draw(r, "which")
	if rapid.Bool().Draw(r, "only the status") {
		if old.Status == store.Confirmed {
			return cancelled(old), false
		}
		old.Status, old.CancelledAt = store.Confirmed, time.Time{}
		return old, false
	}
	a.ID, a.Version = old.ID, old.Version
	return a, false
}

// crowd books, moves and cancels from many goroutines. The store's own Check and the oracle verify the result.
func crowd(t *testing.T, s store.Store) {
	clinic(t, s)
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 7))
			var mine []store.Appointment
			for range 60 {
				types := []string{"short", "checkup", "long", "surgery"}
				pick := random.IntN(len(types))
				a := booking([]string{"ada", "ben"}[random.IntN(2)], types[pick], 5*random.IntN(120),
					[]int{15, 30, 45, 60}[pick])
				if types[pick] == "surgery" {
					a = buffered(a, 10, 20)
				}
				change := store.Tx.InsertAppointment
				if len(mine) > 0 && random.IntN(3) > 0 {
					old := mine[random.IntN(len(mine))]
					a.ID, a.Version = old.ID, old.Version
					if random.IntN(2) == 0 {
						a = cancelled(a)
					}
					change = store.Tx.UpdateAppointment
				}
				err := s.Write(context.Background(), func(tx store.Tx) error {
					return change(tx, context.Background(), a)
				})
				if err != nil && !errors.Is(err, store.ErrSlotTaken) {
					t.Errorf("worker %d: %v", worker, err)
				}
				if err == nil {
					mine = remembered(mine, a)
				}
			}
		})
	}
	wg.Wait()
	all, _, err := s.Appointments(t.Context(), store.AppointmentFilter{Limit: 500})
	wantErr(t, "Appointments", err, nil)
	for i, a := range all {
		for _, b := range all[i+1:] {
			if !fits(a, b) {
				t.Errorf("%s and %s overlap", a.ID, b.ID)
			}
		}
	}
}

// remembered replaces the appointment with a's id in mine and raises its version, or appends a.
func remembered(mine []store.Appointment, a store.Appointment) []store.Appointment {
	for i := range mine {
		if mine[i].ID == a.ID {
			a.Version++
			mine[i] = a
			return mine
		}
	}
	return append(mine, a)
}
