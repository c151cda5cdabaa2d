package booking_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/cli/clitest"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/store"
)

// slotCall is one call to change a slot of one specialist.
type slotCall struct {
	do     string // hold, release, book or cancel
	client int
}

// slotState is the state of a slot between two calls.
type slotState struct {
	booked bool
	holder int // 0 means none
}

// strictSlot models the results that sequential calls on a slot can have: true means done, false means refused. Holds
// do not expire during a history.
var strictSlot = porcupine.Model{
	Init: func() any { return slotState{} },
	Step: func(state, input, output any) (bool, any) {
		s, c, ok := state.(slotState), input.(slotCall), output.(bool)
		free := !s.booked && (s.holder == 0 || s.holder == c.client)
		switch c.do {
		case "hold":
			if ok {
				return free, slotState{holder: c.client}
			}
			return !free, s
		case "book":
			if ok {
				return free, slotState{booked: true}
			}
			return !free, s
		case "release":
			if s.holder == c.client {
				s.holder = 0
			}
			return true, s
		default: // cancel: of a booking by the same caller
			return s.booked, slotState{}
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %v", input, output) },
}

var (
	wantedHistories = flag.Int("histories", 0,
		"how many histories TestSlotHistoriesAreLinearizable makes; 0: as many as fit an ordinary run")
	historySeed = flag.Uint64("seed", 1, "the seed of the histories of one slot")
)

// TestSlotHistoriesAreLinearizable: the results of concurrent holds and bookings of one slot match some sequential
// order of the calls. In particular, no hold is granted on a time that was booked before the call.
func TestSlotHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	const clients, calls = 4, 5
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	histories := 1200
	if !clitest.InFull() {
		histories = 150
	}
	if *wantedHistories > 0 {
		histories = *wantedHistories
	}
	for n := range histories {
		at := c.Start.Add(time.Duration(n) * 30 * time.Minute)
		var mu sync.Mutex
		var history []porcupine.Operation
		var all sync.WaitGroup
		began := time.Now()
		for id := 1; id <= clients; id++ {
			rnd := rand.New(rand.NewPCG(*historySeed<<32|uint64(n), uint64(id)))
			all.Go(func() {
				for range calls {
					do := [...]string{"hold", "hold", "book", "release"}[rnd.IntN(4)]
					ask := func(do string, call func() bool) {
						from := time.Since(began)
						ok := call()
						to := time.Since(began)
						mu.Lock()
						defer mu.Unlock()
						history = append(history, porcupine.Operation{ClientId: id,
							Input: slotCall{do, id}, Call: int64(from), Output: ok, Return: int64(to)})
					}
					var made store.Appointment
					ask(do, func() bool { return callSlot(c, do, 1000*n+id, at, &made) })
					if made.ID != "" {
						ask("cancel", func() bool {
							_, err := c.Booking.Cancel(context.Background(),
								booking.CancelRequest{ID: made.ID, Actor: "client"})
							return err == nil
						})
					}
				}
			})
		}
		all.Wait()
		if result, info := porcupine.CheckOperationsVerbose(strictSlot, history,
			10*time.Second); result != porcupine.Ok {
			_ = info
			for _, op := range history {
				t.Logf("%8d to %8d ns: client %d %s", op.Call, op.Return, op.ClientId,
					strictSlot.DescribeOperation(op.Input, op.Output))
			}
			t.Fatalf("history %d of one slot is %s", n, result)
		}
	}
	t.Logf("%d histories", histories)
}

// callSlot reports whether a call succeeded. Any error other than a refusal fails the test.
func callSlot(c *enginetest.TestClinic, do string, n int, at time.Time, made *store.Appointment) bool {
	var err error
	switch do {
	case "hold":
		_, err = c.Hold(n, "checkup", at, "ada")
	case "book":
		r := enginetest.BookingOf(n, "checkup")
		r.SlotStart, r.SpecialistID = at, "ada"
		*made, err = c.Book(r)
	case "release":
		held, listErr := c.Booking.Holds(context.Background(), "ada")
		err = listErr
		for _, h := range held {
			if h.SlotStart.Equal(at) && h.Owner.Is(enginetest.Client(n).Owner()) {
				_, err = c.Booking.ReleaseHold(context.Background(), h.ID, enginetest.Client(n))
			}
		}
	}
	var held *holds.HeldError
	if err != nil && !errors.As(err, &held) && !errors.Is(err, store.ErrSlotTaken) {
		c.T.Errorf("%s: %v", do, err)
	}
	return err == nil
}
