package outbound

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/store"
)

// # Groups
//
// Each queue commit and each database commit waits for the disk, whatever it contains. So a worker in a busy lane takes
// several due operations in one commit, attempts them one after another, and stores their outcomes in one database
// commit and one queue commit. Otherwise, this does not differ from processing one operation at a time: an attempt is
// recorded in the queue before it is made, and its outcome is in the database before it is in the queue. If the process
// ends during a group, the outcomes that have not been stored are unknown.
//
// A worker begins with one operation. The next time, it takes twice as many if it got as many as it requested and their
// attempts were short. So the outcome of a single email is stored immediately, and groups for a slow mail server are
// small.

const (
	// groupTime is how long the operations in a group wait to be attempted. Operations that are still waiting after
	// that return to the queue.
	groupTime = 200 * time.Millisecond
	// groupWait is how long an outcome waits for the outcomes of the other operations in its group, for example while a
	// mail server does not respond.
	groupWait = 50 * time.Millisecond
)

// group contains the operations that a worker took together, in the order of their attempts. It is safe for concurrent
// use.
type group struct {
	mu   sync.Mutex
	left []store.Operation // not attempted yet
}

// next returns the next operation to attempt; ok is false if there is none left.
func (g *group) next() (op store.Operation, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.left) == 0 {
		return op, false
	}
	op, g.left = g.left[0], g.left[1:]
	return op, true
}

// putBack empties the group and returns the remaining operations. They are still due, so the order is preserved.
func (g *group) putBack() (list []ended) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, op := range g.left {
		list = append(list, ended{op, Outcome{End: Deferred, At: op.NextAttemptAt}})
	}
	g.left = nil
	return list
}

// workGroup takes up to size due operations and attempts each once. It returns the size of the next group.
func (out *Outbound) workGroup(ctx context.Context, l *lane, size int) (next int, err error) {
	ops, err := out.takeGroup(ctx, l, size)
	if len(ops) == 0 {
		return 1, err
	}
	g, began, unreachable := group{left: ops}, time.Now(), false
	outcomes := make(chan ended, len(ops))
	go func() {
		defer close(outcomes)
		for rests := false; !rests && ctx.Err() == nil; {
			op, more := g.next()
			if !more {
				return
			}
			if o, ok := out.begin(ctx, l, &op); ok {
				rests = o.End == Unreachable || o.Rest
				unreachable = o.End == Unreachable
				outcomes <- ended{op, o}
			}
		}
	}()
	whole := out.settleGroup(ctx, &g, outcomes)
	if unreachable {
		return 1, errors.Join(err, out.giveUpLate(ctx, l))
	}
	switch {
	case !whole:
		return 1, err
	case len(ops) == size && time.Since(began) < groupTime/4:
		return min(2*size, l.group), err
	}
	return len(ops), err
}

// settleGroup records the outcomes of a group until the channel is closed. Operations that are left after groupTime, or
// when the channel is closed, go back into the queue. whole is true if no operation was left.
func (out *Outbound) settleGroup(ctx context.Context, g *group, outcomes <-chan ended) (whole bool) {
	timeUp := time.NewTimer(groupTime)
	defer timeUp.Stop()
	whole = true
	var list []ended
	var waited <-chan time.Time
	for more := true; more; {
		var e ended
		var left []ended
		select {
		case e, more = <-outcomes:
			if more {
				if list = append(list, e); waited == nil {
					waited = time.After(groupWait)
				}
				continue
			}
			left = g.putBack()
		case <-timeUp.C:
			left = g.putBack()
		case <-waited:
		}
		whole = whole && len(left) == 0
		if list = append(list, left...); len(list) > 0 {
			out.settle(ctx, list...)
		}
		list, waited = nil, nil
	}
	return whole
}

// takeGroup takes up to size due operations, in the order of their attempts. The requests are concurrent, so that the
// queue can serve them with one commit. If other workers were first, it returns no operations and no error.
func (out *Outbound) takeGroup(ctx context.Context, l *lane, size int) (ops []store.Operation, err error) {
	out.clock.mu.RLock()
	defer out.clock.mu.RUnlock()
	now := out.Now()
	if size == 1 {
		op, err := out.Queue.Take(ctx, now, l.kinds...)
		if err == nil {
			ops = []store.Operation{op}
		}
		return ops, unlessNotFound(err)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range size {
		all.Go(func() {
			op, takeErr := out.Queue.Take(ctx, now, l.kinds...)
			mu.Lock()
			defer mu.Unlock()
			if takeErr == nil {
				ops = append(ops, op)
			} else if err == nil {
				err = unlessNotFound(takeErr)
			}
		})
	}
	all.Wait()
	slices.SortFunc(ops, func(a, b store.Operation) int {
		if c := a.NextAttemptAt.Compare(b.NextAttemptAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return ops, err
}

func unlessNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
