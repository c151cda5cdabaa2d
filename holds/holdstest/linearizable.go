package holdstest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/holds"
)

// linearizable generates histories of calls from seeds and uses porcupine to check that each of them is linearizable.
// Clients wake on whole seconds, so calls race with each other and with the exact instants at which holds expire.
func (h Harness) linearizable(t *testing.T) {
	seeds := 60
	if !h.Virtual {
		seeds = 2
	}
	for seed := range seeds {
		h.prove(t, fmt.Sprintf("seed %d", seed), func(p *proof) {
			p.brief()
			history := p.history(uint64(seed))
			m := model{quota: historyQuota}
			if !p.h.Virtual {
				m.slack = p.h.Late
			}
			if got := porcupine.CheckOperationsTimeout(m.porcupine(), history, time.Minute); got != porcupine.Ok {
				for _, op := range history {
					p.Logf("client %d [%d, %d] %s", op.ClientId, op.Call, op.Return, describe(op.Input, op.Output))
				}
				p.Errorf("got %s, want a linearizable history", got)
			}
		})
	}
}

const historyQuota = 2

// call is a request, and reply is its result. Times are relative to the start of the history.
type call struct {
	op       string // claim, displace, extend, release, confirm
	client   holds.Owner
	span     holds.Span
	id       string
	old      string // id of the hold that a claim replaces; empty for none
	ttl, max time.Duration
	quota    int // 0 means none
	at       time.Duration
}

type reply struct {
	id    string // of the hold, if there is one now
	found bool   // for release and confirm
	until time.Duration
	err   error // without the fields of the error
	at    time.Duration
}

func describe(input, output any) string {
	c, r := input.(call), output.(reply)
	return fmt.Sprintf("%v %s %s %s%s+%s %s%s → %v %s %v %v until %v", c.at, c.op, c.client, c.span.SpecialistID,
		c.span.SlotStart.Format("15:04"), c.span.SlotEnd.Sub(c.span.SlotStart), c.id, c.old, r.at, r.id, r.found, r.err,
		r.until)
}

// history runs six clients on a few slots and returns their calls.
func (p *proof) history(seed uint64) []porcupine.Operation {
	began := time.Now()
	var tick atomic.Int64 // orders calls and returns more finely than the clock
	var mu sync.Mutex
	var history []porcupine.Operation
	var known []string

	var clients sync.WaitGroup
	for i := range 6 {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		clients.Go(func() {
			for range 30 {
				p.pass(p.seconds(float64(rnd.IntN(3))))
				mu.Lock()
				c := p.choose(rnd, client(i), known)
				mu.Unlock()
				c.at = time.Since(began)
				op := porcupine.Operation{ClientId: i, Call: tick.Add(1)}
				r := p.make(c, began)
				op.Return = tick.Add(1)
				r.at = time.Since(began)
				op.Input, op.Output = c, r
				mu.Lock()
				history = append(history, op)
				if c.id == "" && r.id != "" && !slices.Contains(known, r.id) {
					known = append(known, r.id)
				}
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	return history
}

// choose picks a call: usually a claim, and otherwise usually a call on a recent hold.
func (p *proof) choose(rnd *rand.Rand, client holds.Owner, known []string) call {
	c := call{client: client, ttl: p.seconds(float64(2 + rnd.IntN(4))), max: p.seconds(8), quota: historyQuota}
	if n := rnd.IntN(10); n < 5 || len(known) == 0 {
		c.op = "claim"
		if n == 0 {
			c.op = "displace"
		}
		c.span = p.span([]string{"ada", "bob"}[rnd.IntN(2)], []string{"09:00", "09:15", "09:30"}[rnd.IntN(3)])
		if len(known) > 0 && rnd.IntN(3) == 0 {
			c.old = known[max(0, len(known)-1-rnd.IntN(5))]
		}
		return c
	}
	c.op = []string{"extend", "extend", "release", "confirm"}[rnd.IntN(4)]
	c.id = known[max(0, len(known)-1-rnd.IntN(5))]
	return c
}

func (p *proof) make(c call, began time.Time) (r reply) {
	var h holds.Hold
	switch c.op {
	case "claim", "displace":
		h, r.err = p.Claim(p.ctx, holds.Claim{Span: c.span, Owner: c.client, Seats: []int{0}, TTL: c.ttl,
			MaxLife: c.max,
			Quota:   c.quota, Displace: c.op == "displace", Replaces: holds.Replaced{ID: c.old, Owner: c.client}})
		r.id = h.ID
	case "extend":
		h, r.err = p.Extend(p.ctx, c.id, c.client, c.ttl, false)
		r.id = h.ID
	case "release":
		r.found, r.err = p.Release(p.ctx, c.id, c.client, holds.ReasonReleased)
	case "confirm":
		r.found, r.err = p.Confirm(p.ctx, c.id, c.client)
	}
	if r.err == nil && r.id != "" {
		r.until = h.ExpiresAt.Sub(began)
	}
	var held *holds.HeldError
	if errors.As(r.err, &held) {
		r.until, r.err = held.Until.Sub(began), errHeld
	}
	return r
}

var errHeld = errors.New("held")

// model is the expected table. The exact instant at which a hold expires is unknown: it is a TTL after some moment
// between call and return. So the model stores the first and the last possible instant.
type model struct {
	quota int
	slack time.Duration // between the clocks of the test and of the backend
}

type window struct{ first, last time.Duration }

// after returns the window in which a hold expires if its lifetime was set to d between call and return.
func after(c call, r reply, d time.Duration, slack time.Duration) window {
	return window{c.at + d - slack, r.at + d + slack}
}

func (w window) has(t time.Duration) bool { return w.first <= t && t <= w.last }

type entry struct {
	id      string
	client  holds.Owner
	span    holds.Span
	lapses  window
	maximum window
	since   time.Duration // it was claimed at this instant or later; 0 if the claim got a response
}

func (m model) porcupine() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []entry(nil) },
		Step: func(state, input, output any) (bool, any) {
			c, r := input.(call), output.(reply)
			// From here on, no call sees a hold that must have expired by now.
			live := slices.DeleteFunc(slices.Clone(state.([]entry)), func(e entry) bool {
				return e.lapses.last <= c.at
			})
			var ok bool
			switch c.op {
			case "claim", "displace":
				ok, live = m.claim(live, c, r)
			default:
				ok, live = m.touch(live, c, r)
			}
			slices.SortFunc(live, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
			return ok, live
		},
		Equal:             func(a, b any) bool { return slices.Equal(a.([]entry), b.([]entry)) },
		DescribeOperation: describe,
	}
}

// claim reports whether this reply to a claim is valid, and returns the live holds after it.
func (m model) claim(live []entry, c call, r reply) (bool, []entry) {
	gone := func(e entry) bool { return e.lapses.first <= r.at } // it may have expired
	var rest []entry                                             // without the conflicting holds and the replaced one
	surely, maybe, untilOfOne := 0, 0, false
	old := slices.IndexFunc(live, func(e entry) bool { return c.old != "" && e.id == c.old })
	if isTheirs := old >= 0 && live[old].client != c.client; isTheirs && (errors.Is(r.err, holds.ErrNotOwner) ||
		!gone(live[old])) {
		return errors.Is(r.err, holds.ErrNotOwner), live
	} else if isTheirs {
		old = -1
	}
	for i, e := range live {
		if i == old && e.span != c.span {
			continue
		}
		if !e.span.Conflicts(&c.span) {
			rest = append(rest, e)
			continue
		}
		if e.client == c.client && e.span == c.span {
			if r.err == nil && e.names(r.id) {
				e.id = r.id
				live[i] = e
				if old >= 0 && old != i {
					live = slices.Delete(slices.Clone(live), old, old+1)
				}
				return m.renewed(live, e, c, r)
			}
			if !gone(e) {
				return false, live // the claim had to return this hold
			}
			continue
		}
		if c.op == "displace" {
			continue
		}
		maybe++
		if !gone(e) {
			surely++
		}
		untilOfOne = untilOfOne || e.lapses.has(r.until)
	}
	own, ownSurely := 0, 0
	for _, e := range rest {
		if e.client == c.client {
			own++
			if !gone(e) {
				ownSurely++
			}
		}
	}
	switch {
	case errors.Is(r.err, errHeld):
		return maybe > 0 && untilOfOne, live
	case errors.Is(r.err, holds.ErrQuota):
		return surely == 0 && own >= m.quota, live
	case r.err != nil || surely > 0 || ownSurely >= m.quota:
		return false, live
	}
	e := entry{id: r.id, client: c.client, span: c.span, lapses: after(c, r, c.ttl, m.slack),
		maximum: after(c, r, c.max, m.slack)}
	return e.lapses.has(r.until), append(rest, e)
}

// touch handles every call that names a hold by its id.
func (m model) touch(live []entry, c call, r reply) (bool, []entry) {
	i := slices.IndexFunc(live, func(e entry) bool { return e.id == c.id })
	absent := errors.Is(r.err, holds.ErrNotFound) || c.op != "extend" && r.err == nil && !r.found
	if i < 0 {
		return absent, live
	}
	e := live[i]
	switch {
	case absent:
		return e.lapses.first <= r.at, slices.Delete(live, i, i+1)
	case e.client != c.client:
		return errors.Is(r.err, holds.ErrNotOwner), live
	case r.err != nil:
		return false, live
	case c.op == "extend":
		return m.renewed(live, e, c, r)
	}
	return true, slices.Delete(live, i, i+1)
}

// renewed sets an entry to expire c.ttl from now, within its maximum, and never earlier than before.
func (m model) renewed(live []entry, e entry, c call, r reply) (bool, []entry) {
	w := after(c, r, c.ttl, m.slack)
	i := slices.Index(live, e)
	e.lapses.first = max(e.lapses.first, min(w.first, e.maximum.first))
	e.lapses.last = max(e.lapses.last, min(w.last, e.maximum.last))
	live[i] = e
	return r.id == e.id && e.lapses.has(r.until), live
}
