package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/store"
	"holdfast/store/postgres/postgrestest"
)

// timeCall is one call about one time of one specialist.
type timeCall struct {
	do   string // book, cancel or look
	time string
	id   string
}

type timeReply struct {
	id  string // the id that look found
	err error
}

// strictTime is the model: it defines the valid results of calls about one time that run one after another. A call with
// an unknown outcome either was executed or was not.
var strictTime = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		byTime := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(timeCall).time
			byTime[key] = append(byTime[key], op)
		}
		for _, part := range byTime {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() []any { return []any{""} },
	Step: func(state, input, output any) []any {
		has, c, r := state.(string), input.(timeCall), output.(timeReply)
		unknown := r.err != nil && isUnknown(r.err)
		switch {
		case c.do == "look":
			if r.id == has {
				return []any{has}
			}
		case errors.Is(r.err, store.ErrSlotTaken):
			if has != "" {
				return []any{has}
			}
		case c.do == "book" && has == "":
			if unknown {
				return []any{"", c.id}
			}
			return []any{c.id}
		case c.do == "cancel" && has == c.id:
			if unknown {
				return []any{has, ""}
			}
			return []any{""}
		case unknown:
			return []any{has}
		}
		return nil
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// TestHistoriesUnderFaults lets clients of two nodes book, cancel and look, while PostgreSQL crashes and the lines to
// it break, freeze and lose the responses to commits. An appointment may appear or disappear only if a node confirmed
// this to a client or reported that the outcome is unknown. After any other error, nothing may be written.
func TestHistoriesUnderFaults(t *testing.T) {
	t.Parallel()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	n := 2
	if text := os.Getenv("HOLDFAST_HISTORIES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range n {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			historyOfTimes(t, uint64(seed))
		})
	}
}

// enough is the minimum number of calls for a useful test.
const enough = 50

func historyOfTimes(t *testing.T, seed uint64) {
	own, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	url := own.Create(t)
	lines := []*line{{socket: own.Socket()}, {socket: own.Socket()}}
	all := []*Store{mustOpen(t, lines[0].open(t, url)), mustOpen(t, lines[1].open(t, url))}
	mustWrite(t, all[0], clinic)
	var mu sync.Mutex
	var history []porcupine.Operation
	var unsure []int // indexes in history of the calls with an unknown outcome
	mine := make([][]store.Appointment, 4)
	began, over := time.Now(), make(chan struct{})
	var clients sync.WaitGroup
	for i := range mine {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		clients.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(time.Duration(5+rnd.IntN(30)) * time.Millisecond):
				}
				s := all[rnd.IntN(2)]
				a := booking(fmt.Sprintf("s%d", rnd.IntN(4)), 0, 30)
				c := timeCall{do: "book", time: a.SpecialistID, id: a.ID}
				switch which := rnd.IntN(10); {
				case which < 3:
					c.do, c.id = "look", ""
				case which < 6 && len(mine[i]) > 0:
					a, mine[i] = mine[i][0], mine[i][1:]
					c = timeCall{"cancel", a.SpecialistID, a.ID}
				}
				from := time.Since(began)
				r := timed(s, c, a)
				to := time.Since(began)
				if r.err != nil && !errors.Is(r.err, store.ErrSlotTaken) && !isUnknown(r.err) {
					if c.do == "cancel" {
						mine[i] = append(mine[i], a)
					}
					continue // nothing was executed, so any visible effect is an error
				}
				if c.do == "book" && r.err == nil {
					mine[i] = append(mine[i], a)
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: i, Input: c, Output: r, Call: int64(from), Return: int64(to)})
				if r.err != nil && isUnknown(r.err) {
					unsure = append(unsure, len(history)-1)
				}
				mu.Unlock()
			}
		})
	}
	rnd := rand.New(rand.NewPCG(seed, 99))
	for _, fault := range append(rnd.Perm(6), 5, 5) {
		<-time.After(100 * time.Millisecond)
		l := lines[rnd.IntN(2)]
		switch fault {
		case 0:
			own.Crash()
			if err := own.Run(); err != nil {
				t.Fatal(err)
			}
		case 1:
			l.hangUp()
		case 2: // no node can look up the outcome
			l.loseAnswer.Store(true)
			<-time.After(50 * time.Millisecond)
			l.cut.Store(true)
			l.hangUp()
			<-time.After(2 * time.Second)
			l.cut.Store(false)
		case 3:
			ice := make(chan struct{})
			l.ice.Store(&ice)
			<-time.After(2 * time.Second)
			l.ice.Store(nil)
			close(ice)
		case 4:
			l.loseRequest.Store(true)
		case 5:
			l.loseAnswer.Store(true)
		}
	}
	for calls, since := 0, time.Now(); calls < enough && time.Since(since) < patience; { // a busy machine needs longer
		<-time.After(500 * time.Millisecond)
		mu.Lock()
		calls = len(history)
		mu.Unlock()
	}
	close(over)
	clients.Wait()
	for _, i := range unsure {
		history[i].Return = int64(time.Since(began))
	}
	result, _ := porcupine.CheckOperationsVerbose(strictTime.ToModel(), history, time.Minute)
	if result != porcupine.Ok {
		for _, op := range history {
			t.Logf("client %d [%v, %v] %s", op.ClientId, time.Duration(op.Call), time.Duration(op.Return), strictTime.DescribeOperation(op.Input, op.Output))
		}
		t.Errorf("got %s, want a linearizable history", result)
	}
	t.Logf("%d calls, %d of them with an unknown outcome", len(history), len(unsure))
	if len(history) < enough {
		t.Error("too few operations for a useful test")
	}
	for _, s := range all {
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// timed makes one call and returns its result.
func timed(s *Store, c timeCall, a store.Appointment) (r timeReply) {
	ctx := context.Background()
	switch c.do {
	case "book":
		r.err = insert(s, a)
	case "cancel":
		a.Status, a.CancelledAt = store.Cancelled, monday
		r.err = s.Write(ctx, func(tx store.Tx) error { return tx.UpdateAppointment(ctx, a) })
	default:
		var taken []store.Taken
		taken, r.err = s.Taken(ctx, []string{c.time}, monday, monday.Add(time.Hour))
		for _, x := range taken {
			r.id += x.AppointmentID
		}
	}
	return r
}
