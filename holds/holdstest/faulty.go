package holdstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/holds"
)

// Faulty configures how the suite opens nodes on one server, and which faults that server and its connections have.
type Faulty struct {
	// Server starts the server that the nodes share. It returns a function that opens a node on that server, and the
	// faults. The suite closes the nodes. A call to a node can take a second.
	Server func(t testing.TB) (open func() holds.Backend, faults []Fault)
}

// Fault is a temporary failure.
type Fault struct {
	Name        string
	Strike, End func()
	Empties     bool // all holds are lost by the end of the fault
}

// histories returns how many histories a test checks. HOLDFAST_HISTORIES overrides it.
func histories(t *testing.T) int {
	t.Helper()
	text := os.Getenv("HOLDFAST_HISTORIES")
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// RunFaulty has clients of two nodes make histories of calls while faults begin and end, and checks with porcupine that
// each history is linearizable. A call that returned holds.ErrUnavailable took effect at some instant before the
// history ended, or not at all: the suite assumes no limit on the time that a request takes to arrive. Holds vanish if
// their server loses its data, and otherwise expire within their window. The suite allows no other outcome.
func RunFaulty(t *testing.T, f Faulty) {
	for seed := range histories(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			f.prove(t, uint64(seed))
		})
	}
}

func (f Faulty) prove(t *testing.T, seed uint64) {
	open, faults := f.Server(t)
	u := &unlucky{T: t, began: time.Now(), specialist: make(map[string]string), owner: make(map[string]int)}
	for range 2 {
		b := open()
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		u.nodes = append(u.nodes, &proof{T: t, Backend: b, ctx: context.Background(),
			second: 300 * time.Millisecond,
			day:    time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)})
	}
	u.suffer(seed, faults)
	// on a busy machine, two clock readings can be that far apart
	m := model{quota: 1 << 30, slack: 60 * time.Millisecond}
	all := m.faulty().ToModel()
	done, held, unknown := u.counts()
	t.Logf("%d calls: %d done, %d refused, %d without an answer", len(u.history), done, held, unknown)
	switch got := porcupine.CheckOperationsTimeout(all, u.history, time.Minute); got {
	case porcupine.Ok:
	case porcupine.Unknown:
		// Each call without a response doubles the number of orders to try. A busy machine responds to few calls within
		// their timeout, and leaves the check little of its minute. An undecided history shows no mistake.
		t.Skipf("undecided: %d of %d calls had no answer on this busy machine", unknown, len(u.history))
	default:
		explain(t, all, u.history)
		t.Errorf("got %s, want a linearizable history", got)
	}
	if !u.enough() && unknown > len(u.history)/2 {
		t.Skipf("too few answers: %d of %d calls had none on this busy machine", unknown, len(u.history))
	}
	if unknown == 0 || !u.enough() {
		t.Error("too few operations for a useful test")
	}
}

// counts returns the number of calls in the history, by outcome.
func (u *unlucky) counts() (done, held, unknown int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, op := range u.history {
		switch err := op.Output.(reply).err; {
		case errors.Is(err, holds.ErrUnavailable):
			unknown++
		case errors.Is(err, errHeld):
			held++
		case err == nil:
			done++
		}
	}
	return done, held, unknown
}

// enough reports whether the history has enough calls to be a useful test.
func (u *unlucky) enough() bool {
	done, held, _ := u.counts()
	return done >= 20 && held > 0
}

// explain logs the calls of each part of a history that is not linearizable. It marks with "!" the calls that the
// longest partial linearization does not contain.
func explain(t *testing.T, m porcupine.Model, history []porcupine.Operation) {
	t.Helper()
	for _, part := range m.Partition(history) {
		slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		one := m
		one.Partition = nil
		result, info := porcupine.CheckOperationsVerbose(one, part, time.Minute)
		if result == porcupine.Ok {
			continue
		}
		told := map[int]bool{}
		for _, orders := range info.PartialLinearizations() {
			for _, order := range orders {
				if len(order) > len(told) {
					clear(told)
					for _, i := range order {
						told[i] = true
					}
				}
			}
		}
		for i, op := range part {
			mark := " "
			if !told[i] {
				mark = "!"
			}
			t.Logf("%s client %d [%v, %v] %s", mark, op.ClientId, time.Duration(op.Call), time.Duration(op.Return),
				describe(op.Input, op.Output))
		}
	}
}

// unlucky is a history in progress.
type unlucky struct {
	*testing.T
	nodes []*proof
	began time.Time

	mu         sync.Mutex
	history    []porcupine.Operation
	known      []string          // ids of holds
	specialist map[string]string // of each known hold
	owner      map[string]int
	open       []int // the calls without a response; they are pending until the history ends
}

const (
	unluckyClients = 4
	calm           = 400 * time.Millisecond // before each fault
	trouble        = 600 * time.Millisecond
	aftermath      = time.Second // for calls after the fault; delayed packets can arrive later
)

// suffer runs the clients while each fault begins and ends.
func (u *unlucky) suffer(seed uint64, faults []Fault) {
	over := make(chan struct{})
	var clients sync.WaitGroup
	for i := range unluckyClients {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		clients.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(time.Duration(20+rnd.IntN(120)) * time.Millisecond):
					u.call(rnd, i)
				}
			}
		})
	}
	rnd := rand.New(rand.NewPCG(seed, 99))
	rnd.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for _, fault := range faults {
		<-time.After(calm)
		from := time.Since(u.began)
		fault.Strike()
		<-time.After(trouble)
		fault.End()
		to := time.Since(u.began)
		<-time.After(aftermath)
		u.mu.Lock()
		if fault.Empties {
			for _, specialist := range unluckySpecialists {
				u.history = append(u.history, porcupine.Operation{ClientId: unluckyClients,
					Call: int64(from), Return: int64(to),
					Input:  call{op: "vanish", at: from, span: holds.Span{SpecialistID: specialist}},
					Output: reply{at: to}})
			}
		}
		u.mu.Unlock()
	}
	// on a busy machine, the same number of calls takes longer
	for since := time.Now(); !u.enough() && time.Since(since) < time.Minute; {
		<-time.After(calm)
	}
	close(over)
	clients.Wait()
	for _, i := range u.open {
		r := u.history[i].Output.(reply)
		r.at = time.Since(u.began)
		u.history[i].Output, u.history[i].Return = r, int64(r.at)
	}
}

var unluckySpecialists = []string{"ada", "bob", "cora"}

// call makes one call and records it.
func (u *unlucky) call(rnd *rand.Rand, i int) {
	p := u.nodes[rnd.IntN(len(u.nodes))]
	c := call{client: client(i), ttl: p.seconds(float64(2 + rnd.IntN(6))), max: p.seconds(12)}
	u.mu.Lock()
	if rnd.IntN(10) < 5 || len(u.known) == 0 {
		c.op = "claim"
		c.span = p.span(unluckySpecialists[rnd.IntN(3)], []string{"09:00", "09:15"}[rnd.IntN(2)])
	} else {
		c.op = []string{"extend", "extend", "release", "confirm"}[rnd.IntN(4)]
		c.id = u.known[max(0, len(u.known)-1-rnd.IntN(6))]
		c.span.SpecialistID = u.specialist[c.id]
	}
	u.mu.Unlock()
	c.at = time.Since(u.began)
	r := p.make(c, u.began)
	r.at = time.Since(u.began)
	u.mu.Lock()
	defer u.mu.Unlock()
	if errors.Is(r.err, holds.ErrUnavailable) && c.id != "" && u.owner[c.id] != i {
		return // another client's hold: whether or not the call arrived, it changed nothing
	}
	u.history = append(u.history, porcupine.Operation{ClientId: i, Input: c, Output: r, Call: int64(c.at),
		Return: int64(r.at)})
	switch {
	case errors.Is(r.err, holds.ErrUnavailable):
		u.open = append(u.open, len(u.history)-1)
	case r.id != "" && u.specialist[r.id] == "":
		u.known = append(u.known, r.id)
		u.specialist[r.id], u.owner[r.id] = c.span.SpecialistID, i
	}
}

// faulty returns the model that allows calls with an unknown outcome.
func (m model) faulty() *porcupine.NondeterministicModel {
	strict := m.porcupine()
	return &porcupine.NondeterministicModel{
		// Without a quota, different specialists' holds are independent.
		Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
			for _, specialist := range unluckySpecialists {
				var part []porcupine.Operation
				for _, op := range history {
					if op.Input.(call).span.SpecialistID == specialist {
						part = append(part, op)
					}
				}
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() []any { return []any{strict.Init()} },
		Step: func(state, input, output any) []any {
			c, r := input.(call), output.(reply)
			for _, e := range state.([]entry) {
				if e.since > r.at {
					return nil // the call returned before this hold could exist
				}
			}
			switch {
			case c.op == "vanish":
				return []any{[]entry(nil)}
			case errors.Is(r.err, holds.ErrUnavailable):
				return m.maybe(state.([]entry), c, r)
			}
			if ok, after := strict.Step(state, input, output); ok {
				return []any{after}
			}
			return nil
		},
		Equal:             strict.Equal,
		DescribeOperation: describe,
	}
}

// maybe returns the possible sets of live holds after a call with an unknown outcome.
func (m model) maybe(live []entry, c call, r reply) []any {
	live = slices.DeleteFunc(slices.Clone(live), func(e entry) bool { return e.lapses.last <= c.at })
	own := slices.IndexFunc(live, func(e entry) bool {
		return e.client == c.client && (c.op == "claim" && e.span == c.span || c.op != "claim" && e.id == c.id)
	})
	switch {
	case own >= 0 && c.op == "claim":
		renewed := prolong(live, own, c, r, m.slack)
		return append(m.claimLate(live, c, r), renewed) // the hold can expire before the claim arrives
	case own >= 0 && c.op == "extend":
		return []any{prolong(live, own, c, r, m.slack)}
	case own >= 0:
		return []any{live, slices.Delete(slices.Clone(live), own, own+1)}
	case c.op != "claim":
		return []any{live}
	}
	return m.claimLate(live, c, r)
}

// prolong returns the live holds after a claim or extension of the client's own hold whose outcome is unknown.
func prolong(live []entry, own int, c call, r reply, slack time.Duration) []entry {
	live = slices.Clone(live)
	longest := after(c, r, c.ttl, slack).last
	live[own].lapses.last = max(live[own].lapses.last, min(longest, live[own].maximum.last))
	return live
}

// claimLate returns the possible sets of live holds after a claim with an unknown outcome that created a new hold or
// changed nothing. It can only have created a hold after all other holds on that time had expired.
func (m model) claimLate(live []entry, c call, r reply) []any {
	var rest []entry
	since := c.at
	for _, e := range live {
		if !e.span.Conflicts(&c.span) {
			rest = append(rest, e)
		} else if since = max(since, e.lapses.first); since > r.at {
			return []any{live}
		}
	}
	called := c.at
	c.at = since
	rest = append(rest, entry{id: fmt.Sprint(unheard, c.client, called), client: c.client, span: c.span,
		lapses: after(c, r, c.ttl, m.slack), maximum: after(c, r, c.max, m.slack), since: since})
	slices.SortFunc(rest, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	return []any{live, rest}
}

// unheard is the model's prefix for the id of a hold whose client received no id.
const unheard = "?"

// names reports whether id is the entry's id, or could be.
func (e *entry) names(id string) bool { return e.id == id || strings.HasPrefix(e.id, unheard) }
