package upstream

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// DefaultSpacing respects the upstream's limit of about five writes a minute, with a margin for the clinic's other
// writes.
const DefaultSpacing = 10 * time.Second

// NoBound makes Wait wait however long the line is.
const NoBound = time.Duration(math.MaxInt64)

// LineError is the error that Wait returns if the line is longer than the caller's bound.
type LineError struct {
	Wait time.Duration // the minimum length of the line
}

func (e *LineError) Error() string {
	return fmt.Sprintf("the wait for the upstream would be %s", e.Wait.Round(time.Second))
}

// Pacer lets callers through one at a time, first come first served, with at least its spacing between them. It has one
// clock for everything that writes appointments: waiting callers and queue retries.
//
// The clock runs from the last turn. Restart restarts the clock, but never shortens the wait. A Pacer uses no goroutine
// or timer while no caller is waiting. It is safe for concurrent use.
type Pacer struct {
	spacing time.Duration
	shared  Line

	mu     sync.Mutex
	next   time.Time // the earliest instant of the next turn
	line   []*place  // the waiting callers, starting with the head
	turn   uint64    // the number of turns taken
	common int64     // the number of the last turn in the shared line

	restarted time.Time // when Restart was last called
	reserved  int       // callers that are waiting for their turn in the shared line
}

// Line is a line that the pacers of several nodes share. Each turn comes one spacing after the previous one, even if
// another node took the previous one.
type Line struct {
	// Reserve takes the next turn and returns the time until then and the turn's number. If that time is longer than
	// most, Reserve takes no turn and returns a *LineError.
	Reserve func(ctx context.Context, spacing, most time.Duration) (wait time.Duration, turn int64, err error)
	// Again moves the next turn to one spacing from now if the given turn was the last one, and returns false
	// otherwise.
	Again func(ctx context.Context, spacing time.Duration, turn int64) (bool, error)
	// Return gives an unused turn back to the line if it was the last one. If Return fails, the turn passes unused.
	Return func(ctx context.Context, spacing time.Duration, turn int64)
}

// Share makes the pacer take every turn from a line that other nodes also use. Call it before the first Wait.
func (p *Pacer) Share(l Line) { p.shared = l }

// place is one caller's place in the line. Each channel signals one event.
type place struct {
	until time.Time     // waiting longer than this is useless; zero means no bound
	head  chan struct{} // closed when the place is at the head
	late  chan struct{} // closed when its turn would come after until
}

// NewPacer returns a pacer whose first turn is free immediately. Zero spacing means DefaultSpacing.
func NewPacer(spacing time.Duration) *Pacer {
	if spacing <= 0 {
		spacing = DefaultSpacing
	}
	return &Pacer{spacing: spacing}
}

// Spacing returns the minimum time between two turns.
func (p *Pacer) Spacing() time.Duration { return p.spacing }

// Wait takes a turn after all earlier callers. If the line is longer than bound, it returns *LineError immediately, or
// as soon as a Restart makes the line too long, and takes no turn. If ctx is done first, it leaves the line and returns
// ctx's error. A turn that has been taken cannot be returned.
func (p *Pacer) Wait(ctx context.Context, bound time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	me, err := p.enter(time.Now(), bound)
	if err != nil {
		return err
	}
	select {
	case <-me.head:
	case <-me.late:
		return p.leave(me, &LineError{Wait: bound})
	case <-ctx.Done():
		return p.leave(me, ctx.Err())
	}
	if p.shared.Reserve != nil {
		return p.reserve(ctx, me)
	}
	for {
		remaining := p.take(me, time.Now())
		if remaining <= 0 {
			return nil
		}
		timer := time.NewTimer(remaining)
		select {
		case <-timer.C:
		case <-me.late:
			timer.Stop()
			return p.leave(me, &LineError{Wait: bound})
		case <-ctx.Done():
			timer.Stop()
			return p.leave(me, ctx.Err())
		}
	}
}

// reserve takes the next turn of the shared line for the head of this node's line, and waits for it. It takes the turn
// before it waits, so that callers on all nodes see the length of the line. If the caller gives up, reserve returns the
// turn, provided that no later turn has been taken.
func (p *Pacer) reserve(ctx context.Context, me *place) error {
	most := NoBound
	if !me.until.IsZero() {
		most = max(0, time.Until(me.until))
	}
	wait, turn, err := p.shared.Reserve(ctx, p.spacing, most)
	p.mu.Lock()
	p.remove(me)
	if err == nil {
		p.reserved++
		if next := time.Now().Add(wait + p.spacing); next.After(p.next) {
			p.next = next
		}
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	for wait >= 0 && err == nil {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			wait = p.sinceRestart()
		case <-ctx.Done():
			timer.Stop()
			err = ctx.Err()
			p.shared.Return(context.WithoutCancel(ctx), p.spacing, turn)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved--
	if err == nil {
		p.turn++
		p.common = turn
	}
	return err
}

// sinceRestart returns how much of the spacing since the last Restart remains, or -1 if it has passed. A write by this
// node can be sent later than its turn.
func (p *Pacer) sinceRestart() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if missing := p.spacing - time.Since(p.restarted); missing > 0 {
		return missing
	}
	return -1
}

// Line returns how long a new caller would wait.
func (p *Pacer) Line() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wait(time.Now(), len(p.line))
}

// Waiting returns the number of callers in the line.
func (p *Pacer) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.line) + p.reserved
}

// Restart restarts the clock at an instant: the next turn comes at least one spacing after that instant. Call it for
// writes that did not wait for a turn, and, after startup, with the time of the last recorded attempt. It never brings
// the next turn forward. An instant in the future counts as now.
func (p *Pacer) Restart(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if at.After(now) {
		at = now
	}
	if at.After(p.restarted) {
		p.restarted = at
	}
	// Count back from now, so that a change of the system clock does not affect waiting callers.
	next := now.Add(p.spacing - max(0, now.Sub(at)))
	if !next.After(p.next) {
		return
	}
	p.next = next
	// Notify the callers whose turn now comes too late, from front to back. Each of them shortens the line for the
	// callers behind it.
	ahead := 0
	for _, each := range p.line {
		if !each.until.IsZero() && now.Add(p.wait(now, ahead)).After(each.until) {
			select {
			case <-each.late:
			default:
				close(each.late)
			}
			continue
		}
		ahead++
	}
}

// wait returns the time until the turn of a caller that has this many callers ahead of it.
func (p *Pacer) wait(now time.Time, ahead int) time.Duration {
	return max(p.next.Sub(now), 0) + time.Duration(ahead)*p.spacing
}

// enter adds a place at the end of the line if its turn comes within bound.
func (p *Pacer) enter(now time.Time, bound time.Duration) (*place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wait := p.wait(now, len(p.line)); wait > bound && p.shared.Reserve == nil {
		return nil, &LineError{Wait: wait}
	}
	me := &place{head: make(chan struct{}), late: make(chan struct{})}
	if bound != NoBound {
		me.until = now.Add(bound)
	}
	p.line = append(p.line, me)
	if len(p.line) == 1 {
		close(me.head)
	}
	return me, nil
}

// take removes the head from the line if the next turn is due, and returns 0. Otherwise it returns the time until then.
func (p *Pacer) take(me *place, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if remaining := p.next.Sub(now); remaining > 0 {
		return remaining
	}
	p.next = now.Add(p.spacing)
	p.turn++
	p.remove(me)
	return 0
}

// Turn returns the number of the last turn.
func (p *Pacer) Turn() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turn
}

// Again lets the caller that took this turn write a second time, without a place in the line, and restarts the clock.
// It returns false if another caller has since taken a turn, on this node or another: the second write would come too
// soon after that caller's write.
func (p *Pacer) Again(ctx context.Context, turn uint64) bool {
	p.mu.Lock()
	same, common := p.turn == turn, p.common
	if same {
		p.turn++
	}
	p.mu.Unlock()
	if same && p.shared.Again != nil {
		var err error
		if same, err = p.shared.Again(ctx, p.spacing, common); err != nil {
			return false
		}
	}
	if same {
		p.Restart(time.Now())
	}
	return same
}

// leave removes a place from the line and returns why.
func (p *Pacer) leave(me *place, why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(me)
	return why
}

// remove deletes a place. If the head has left, it signals the new head.
func (p *Pacer) remove(me *place) {
	i := slices.Index(p.line, me)
	p.line = slices.Delete(p.line, i, i+1)
	if i == 0 && len(p.line) > 0 {
		close(p.line[0].head)
	}
}
