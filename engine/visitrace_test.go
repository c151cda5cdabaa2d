package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// wholeVisits checks that each visit still contains all its people, one after the other.
func wholeVisits(t *testing.T, all []store.Appointment, people int) {
	t.Helper()
	visits := make(map[string][]store.Appointment)
	for _, a := range all {
		visits[a.VisitID] = append(visits[a.VisitID], a)
	}
	for id, list := range visits {
		slices.SortFunc(list, func(a, b store.Appointment) int { return a.SlotStart.Compare(b.SlotStart) })
		whole := len(list) == people
		for i := 1; whole && i < len(list); i++ {
			whole = list[i].SlotStart.Equal(list[i-1].SlotEnd) && list[i].SpecialistID == list[0].SpecialistID
		}
		if !whole {
			t.Errorf("visit %s is incomplete: %d appointments", id, len(list))
		}
	}
}

// visitRace runs sixteen workers that compete for overlapping visits of three people, through any of these engines:
// they hold, book, move, cancel and undo.
func visitRace(t *testing.T, start time.Time, at ...*engine.Engine) {
	ctx := context.Background()
	var wg sync.WaitGroup
	var booked, refused, odd atomic.Int64
	note := func(err error) bool {
		var held *holds.HeldError
		switch {
		case err == nil:
			return true
		case errors.Is(err, store.ErrSlotTaken), errors.As(err, &held), errors.Is(err, store.ErrVersion),
			errors.Is(err, holds.ErrUnavailable), // the other node won three new holds in a row
			errors.Is(err, record.ErrNotConfirmed),
			errors.Is(err, booking.ErrUndoLate), errors.Is(err, holds.ErrQuota):
			refused.Add(1)
		default:
			odd.Add(1)
			t.Errorf("got %v", err)
		}
		return false
	}
	for worker := range 16 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 5))
			mine := ""
			for n := range 12 {
				e := at[random.IntN(len(at))]
				when := start.Add(time.Duration(30*random.IntN(12)) * time.Minute)
				who := group.Which{ID: mine, Actor: enginetest.Jo, Undoable: true}
				switch kind := random.IntN(4); {
				case mine != "" && kind == 0:
					if _, err := e.Group.Visit.Cancel(ctx, group.Cancel{Which: who}); note(err) && random.IntN(2) == 0 {
						_, err := e.Group.Visit.Undo(ctx, booking.UndoRequest{ID: mine, Actor: enginetest.Jo})
						note(err)
					}
				case mine != "" && kind == 1:
					_, err := e.Group.Visit.Move(ctx, group.VisitMove{Which: who, SlotStart: when})
					note(err)
				default:
					r := enginetest.Family(when, "checkup", "checkup", "checkup")
					r.Displace, r.Client = random.IntN(4) == 0, enginetest.Client(100*worker+n)
					if random.IntN(2) == 0 {
						h, err := e.Group.Visit.Hold(ctx,
							group.HoldRequest{AppointmentTypeIDs: []string{"checkup", "checkup", "checkup"},
								SlotStart: when, Client: r.Client})
						if !note(err) {
							continue
						}
						r.HoldID, e = h.ID, at[random.IntN(len(at))]
					}
					if list, err := e.Group.Visit.Book(ctx, r); note(err) {
						booked.Add(1)
						mine = list[random.IntN(3)].ID
					}
				}
			}
		})
	}
	wg.Wait()
	all, _, err := at[0].Booking.Appointments(ctx, store.AppointmentFilter{Status: store.Confirmed, Limit: 500})
	if err != nil || booked.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d booked, %d refused, %v; want some of both", booked.Load(), refused.Load(), err)
	}
	wholeVisits(t, all, 3)
	t.Logf("%d booked, %d refused, %d appointments are left", booked.Load(), refused.Load(), len(all))
}

func TestVisitRaceLeavesWholeVisits(t *testing.T) {
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "ben": 1})
	visitRace(t, c.Start, c.Engine)
	if found, err := c.Differences(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("memory differs from the database: %v, %v", found, err)
	}
}

func TestVisitRaceOnTwoNodesLeavesWholeVisits(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada", "ben")
	visitRace(t, c.start, c.all[0].Engine, c.all[1].Engine)
	c.agree()
	h, err := c.all[0].Group.Visit.Hold(t.Context(),
		group.HoldRequest{AppointmentTypeIDs: []string{"checkup", "checkup"}, SlotStart: c.start.AddDate(0, 0, 3),
			SpecialistID: "ada", Client: enginetest.Client(1)})
	if err != nil {
		t.Fatal(err)
	}
	var held *holds.HeldError
	if _, err := c.all[1].Booking.Hold(t.Context(), booking.HoldRequest{AppointmentTypeID: "checkup",
		SlotStart: h.SlotStart.Add(30 * time.Minute), SpecialistID: "ada",
		Client: enginetest.Client(2)}); !errors.As(err, &held) {
		t.Errorf("the second time at the other node: %v, want a HeldError", err)
	}
}
