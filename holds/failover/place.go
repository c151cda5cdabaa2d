package failover

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
)

// toFallback puts what is live into the fallback and tells the watchers what the primary did not.
func (l *ledger) toFallback(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetTerm()
	for _, e := range l.holds {
		e.carry = e.own
	}
	l.put(ctx, false)
}

// place is toFallback in the middle of a term, when the events of the fallback broke off, and perhaps what was in it with them.
func (l *ledger) place(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(ctx, true)
}

// put puts into a fallback of this process all that is live; into a shared one what is this process's, and of the others' what is
// not there yet, unless it was once: then it has ended. What it finds there it takes up. The lock is held.
func (l *ledger) put(ctx context.Context, again bool) {
	to, now := l.b.fallback.(holds.Restorer), time.Now()
	var first, rest []*entry
	for _, e := range l.newest() {
		if now.Before(e.ExpiresAt) && (e.own || !l.b.shared) {
			first = append(first, e)
		} else if now.Before(e.ExpiresAt) {
			rest = append(rest, e)
		}
	}
	l.putAll(ctx, first)
	there, sure := l.adopt(ctx)
	given := l.given(there)
	rest = slices.DeleteFunc(rest, func(e *entry) bool {
		// One client has one hold of a slot. The one that is not there was claimed in vain by a process that then switched, and gave its
		// client the one that is.
		if !there[e.ID] && given[groupOf(e)] {
			delete(l.holds, e.ID)
			return true
		}
		return there[e.ID]
	})
	if again && sure {
		for _, e := range rest {
			delete(l.holds, e.ID)
		}
		rest = nil
	}
	l.putAll(ctx, rest)
	for _, own := range []bool{true, false} {
		known := map[holds.Owner]bool{}
		if l.b.shared && !own {
			known = l.adoptLooks(ctx)
		}
		for _, x := range l.looks {
			if x.own != own || known[x.Owner] || !now.Before(x.ExpiresAt) {
				continue
			}
			if err := to.RestoreSelection(ctx, x.Selection); err != nil {
				l.b.logger.Warn("selection not copied to the fallback", "error", err)
				break
			}
		}
	}
	l.settle()
}

// group is a client and the slot that it holds a place of.
type group struct {
	holds.Owner
	typeID, specialistID string
	start, end           int64
}

func groupOf(e *entry) group {
	return group{e.Owner, e.AppointmentTypeID, e.SpecialistID, e.SlotStart.UnixMilli(), e.SlotEnd.UnixMilli()}
}

// given is who holds what, of these holds. The lock is held.
func (l *ledger) given(ids map[string]bool) map[group]bool {
	all := make(map[group]bool, len(ids))
	for id := range ids {
		all[groupOf(l.holds[id])] = true
	}
	return all
}

// adopt takes up what others have put into a shared fallback, and says what is there, if it can be asked. The lock is held.
func (l *ledger) adopt(ctx context.Context) (there map[string]bool, sure bool) {
	if !l.b.shared {
		return nil, false
	}
	list, err := l.b.fallback.List(ctx)
	if err != nil {
		l.b.logger.Warn("holds in the fallback not read", "error", err)
		return nil, false
	}
	there = make(map[string]bool, len(list))
	for i := range list {
		h := list[i]
		inner := h.ID
		h.ID = l.outer(inFallback, inner)
		there[h.ID] = true
		e := l.holds[h.ID]
		if e == nil {
			e = &entry{lapsesAt: h.ExpiresAt, life: time.Until(h.MaxExpiresAt)}
			l.holds[h.ID] = e
		}
		if !e.own {
			e.Hold = h
		}
		l.name(inFallback, e, inner)
	}
	return there, true
}

// adoptLooks is adopt for selections, by their owners. The lock is held.
func (l *ledger) adoptLooks(ctx context.Context) map[holds.Owner]bool {
	there := map[holds.Owner]bool{}
	list, err := selected(ctx, l.b.fallback)
	if err != nil {
		l.b.logger.Warn("selections in the fallback not read", "error", err)
	}
	for _, x := range list {
		there[x.Owner] = true
		if l.looks[x.Owner] == nil {
			l.looks[x.Owner] = &look{Selection: x}
		}
	}
	return there
}

// selected is every selection there is.
func selected(ctx context.Context, of holds.Backend) ([]holds.Selection, error) {
	now := time.Now()
	return of.Selected(ctx, now.AddDate(-10, 0, 0), now.AddDate(100, 0, 0))
}

// carriedAtOnce is how many holds go to the fallback in one step, where it can do that.
const carriedAtOnce = 100

// carriers is how many holds go to the fallback at once. Those of one specialist go one after another, the newest first.
const carriers = 8

// putAll brings holds to the fallback, and gives up at the first that shows that it is not there. The lock is held.
func (l *ledger) putAll(ctx context.Context, list []*entry) {
	type outcome struct {
		id  string
		err error
	}
	outcomes := make([]outcome, len(list))
	from := 0
	if many, ok := l.b.fallback.(holds.ManyRestorer); ok {
		for from < len(list) {
			to := min(from+carriedAtOnce, len(list))
			batch := make([]holds.Remains, 0, carriedAtOnce)
			for _, e := range list[from:to] {
				batch = append(batch, e.remains(e.ID))
			}
			restored, err := many.RestoreAll(ctx, batch)
			if err != nil {
				break // each for itself, then
			}
			for i, r := range restored {
				outcomes[from+i] = outcome{r.Hold.ID, r.Err}
			}
			from = to
		}
	}
	bySpecialist := map[string][]int{}
	for i := from; i < len(list); i++ {
		e := list[i]
		bySpecialist[e.SpecialistID] = append(bySpecialist[e.SpecialistID], i)
	}
	queues := make(chan []int, len(bySpecialist))
	for _, queue := range bySpecialist {
		queues <- queue
	}
	close(queues)
	var away atomic.Bool
	var all sync.WaitGroup
	for range min(carriers, len(bySpecialist)) {
		all.Go(func() {
			for queue := range queues {
				for _, i := range queue {
					if away.Load() {
						outcomes[i].err = holds.ErrUnavailable
						continue
					}
					h, err := restore(ctx, l.b.fallback, list[i], list[i].ID)
					outcomes[i] = outcome{h.ID, err}
					if errors.Is(err, holds.ErrUnavailable) {
						away.Store(true)
					}
				}
			}
		})
	}
	all.Wait()
	missed := 0
	for i, e := range list {
		var held *holds.HeldError
		switch err := outcomes[i].err; {
		case errors.As(err, &held):
			e.lost = true
		case err != nil:
			missed++
		default:
			l.name(inFallback, e, outcomes[i].id)
		}
	}
	if missed > 0 {
		l.b.logger.Warn("holds not copied to the fallback", "holds", missed)
	}
}

// leave ends in a shared fallback what ended in the primary: whoever still serves from it hears of it, and nobody finds it there
// the next time. The lock is held.
func (l *ledger) leave(inner string, end ending) {
	owner, placed := l.placed[inner]
	if !l.b.shared || !placed {
		return
	}
	delete(l.placed, inner)
	write := func(ctx context.Context) (err error) {
		if end.kind == holds.EventConfirm {
			_, err = l.b.fallback.Confirm(ctx, inner, owner)
		} else {
			_, err = l.b.fallback.Release(ctx, inner, owner, end.reason)
		}
		return err
	}
	select {
	case l.b.behind <- write:
	default: // it lapses there
	}
}
