package home

import (
	"context"
	"time"

	"holdfast/holds"
)

// keepLease renews the lease of this node, and follows the decisions, until Close.
func (b *Backend) keepLease() {
	timer := time.NewTimer(renewEvery)
	defer timer.Stop()
	refusing := false
	for {
		select {
		case <-b.done.Done():
			return
		case <-b.database.Decided():
		case <-b.renew:
		case <-timer.C:
		}
		err := b.lease(b.done)
		switch settled := b.isSettled(); {
		case !settled && !refusing && err != nil && b.done.Err() == nil:
			b.logger.Warn("failed to confirm which store has the live state; holds refused", "error", err)
			refusing = true
		case settled && refusing:
			b.logger.Info("live state backend reconfirmed")
			refusing = false
		}
		timer.Reset(renewEvery)
	}
}

// isSettled reports whether this node may serve.
func (b *Backend) isSettled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mayServe()
}

// mayServe reports whether this node has entered the epoch that applies and, if the primary is home, its lease has
// not expired. The lock is held.
func (b *Backend) mayServe() bool {
	t := b.term
	return t != nil && b.decision.Open && t.epoch == b.decision.Epoch && (!t.primary || monotonic() < t.until.Load())
}

// ask requests an immediate renewal.
func (b *Backend) ask() {
	select {
	case b.renew <- struct{}{}:
	default:
	}
}

// lease renews the lease of this node and adopts the decision that applies.
func (b *Backend) lease(ctx context.Context) error {
	b.leasing.Lock()
	defer b.leasing.Unlock()
	if b.gone {
		return holds.ErrClosed
	}
	b.mu.Lock()
	left := b.left
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, b.renewTime())
	defer cancel()
	sent := monotonic()
	d, fresh, err := b.database.Lease(ctx, holds.Member{Node: b.name, Left: left, Reaches: b.reaches.Load()})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if fresh {
		b.since = time.Now()
	}
	// If this response ends the term, the term's lease is not extended, so later results from that home are not
	// confirmed.
	if b.term != nil && b.term.epoch == d.Epoch && d.Open {
		b.term.until.Store(sent + int64(b.leaseTime))
		b.tell()
	}
	b.learn(d, sent)
	return nil
}

// learn adopts a decision unless this node has a newer one. The lock is held.
func (b *Backend) learn(d holds.Decision, sent int64) {
	if b.closed || d.Epoch < b.decision.Epoch || d == b.decision || d.Epoch == b.decision.Epoch && b.decision.Open {
		return
	}
	newer := d.Epoch != b.decision.Epoch
	if newer && b.decision.Epoch != 0 && d.Home == b.database.Mode() {
		b.hasDeparted()
	}
	b.decision = d
	b.tell()
	switch {
	case d.Open:
		b.enter(d, sent)
	case newer:
		b.running.Go(func() { b.help(d) })
	}
}

// wake is like tell, for a caller that does not hold the lock.
func (b *Backend) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tell()
}

// tell wakes the calls that wait for a decision. The lock is held.
func (b *Backend) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// hasDeparted starts the primary's rest time. The rest is longer than the previous one if the last departure was at
// most calmAfter ago. The lock is held.
func (b *Backend) hasDeparted() {
	now := time.Now()
	if b.departed.IsZero() || now.Sub(b.departed) > calmAfter {
		b.rest = b.leastRest
	} else {
		b.rest = min(2*b.rest, restMost*b.leastRest)
	}
	b.departed = now
}

// enter makes this node serve under an open epoch. The lock is held.
func (b *Backend) enter(d holds.Decision, sent int64) {
	t := &term{epoch: d.Epoch, home: holds.Homely(b.database)}
	if d.Home == b.primary.Mode() {
		t.home, t.primary = b.primary, true
	}
	t.until.Store(sent + int64(b.leaseTime))
	before := b.term
	if before != nil {
		before.end()
	}
	var ctx context.Context
	ctx, t.end = context.WithCancel(b.done)
	t.home.Enter(d.Epoch)
	b.term, b.left = t, d.Epoch
	var w holds.Watch
	if b.early.epoch == d.Epoch {
		w = b.early.watch
		b.early = early{}
	}
	b.running.Go(func() { b.relay(ctx, t, w) })
	if before != nil && before.primary != t.primary {
		b.logger.Info("live state moved to another store", "home", d.Home, "epoch", d.Epoch)
	}
}

// move decides on a new home, unless the epoch from has ended.
func (b *Backend) move(ctx context.Context, from uint64, home string, why error) {
	b.moveAbove(ctx, from, 0, home, why)
}

// moveAbove is like move, but the new epoch is also higher than above.
func (b *Backend) moveAbove(ctx context.Context, from, above uint64, home string, why error) {
	ctx, cancel := context.WithTimeout(ctx, b.renewTime())
	defer cancel()
	sent := monotonic()
	d, err := b.database.Move(ctx, from, above, home)
	if err != nil {
		b.logger.Debug("failed to switch the live state backend", "error", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.Epoch == max(from, above)+1 && d.Epoch > b.logged {
		b.logged = d.Epoch // the lease renewal may have read this decision first
		if home == b.primary.Mode() {
			b.logger.Info("Redis reachable from all nodes; moving live state back", "epoch", d.Epoch)
		} else {
			b.logger.Warn("moving live state to PostgreSQL for all nodes", "epoch", d.Epoch, "reason", why)
		}
	}
	if d.Epoch == max(from, above)+1 && d.Epoch > b.decision.Epoch {
		b.decided = d.Epoch
	}
	b.learn(d, sent)
}

// look pings the primary on behalf of the callers that got no response. If the ping fails, look moves all nodes to
// PostgreSQL.
func (b *Backend) look(t *term) {
	b.probing.Lock()
	defer b.probing.Unlock()
	if b.isTerm(t) {
		err := b.ping()
		b.reaches.Store(err == nil)
		if err != nil {
			b.move(b.done, t.epoch, b.database.Mode(), err)
			return
		}
		b.pause(helpEvery)
	}
}

// isTerm reports whether this is still the current term, which means that the nodes have made no other decision.
func (b *Backend) isTerm(t *term) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.term == t && b.decision.Epoch == t.epoch && !b.closed
}

// ping pings the primary. An attempt during which this process was stopped does not count.
func (b *Backend) ping() (err error) {
	for range 3 {
		sent := time.Now()
		ctx, cancel := context.WithTimeout(b.done, b.probe)
		err = b.primary.Ping(ctx)
		cancel()
		if err == nil || time.Since(sent) < b.probe+stall {
			return err
		}
	}
	return err
}

// keepProbing pings the primary, and makes the nodes leave it or return to it, until Close.
func (b *Backend) keepProbing() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-b.done.Done():
			return
		case <-timer.C:
		}
		b.mu.Lock()
		t, d := b.term, b.decision
		b.mu.Unlock()
		every := awayEvery
		switch {
		case t == nil || !d.Open || t.epoch != d.Epoch:
			every = renewEvery
		case t.primary:
			every = probeEvery
			b.probing.Lock()
			err := b.ping()
			b.probing.Unlock()
			if err != nil {
				b.look(t) // a second time
			} else {
				b.lost(b.done, t)
			}
		default:
			b.probing.Lock()
			reaches := b.ping() == nil
			b.probing.Unlock()
			if b.reaches.Swap(reaches) != reaches {
				b.ask()
			}
			if reaches {
				b.comeBack(t)
			}
		}
		timer.Reset(every)
	}
}

// comeBack moves the nodes back to the primary once all of them can reach it and its rest time has passed.
func (b *Backend) comeBack(t *term) {
	b.mu.Lock()
	rested := b.departed.IsZero() || time.Since(b.departed) >= b.rest
	b.mu.Unlock()
	if !rested {
		return
	}
	ctx, cancel := context.WithTimeout(b.done, b.renewTime())
	defer cancel()
	list, err := b.database.Members(ctx)
	if err != nil {
		return
	}
	known := false
	for _, m := range list {
		if m.Node == b.name {
			known = true
		} else if !m.Reaches && !b.isDead(ctx, m) {
			return
		}
	}
	if known {
		b.move(b.done, t.epoch, b.primary.Mode(), nil)
	}
}

// isDead waits for deadAfter and reports whether the node failed to renew its lease in that time. Such a node is
// removed from the members.
func (b *Backend) isDead(ctx context.Context, m holds.Member) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*b.deadAfter())
	defer cancel()
	dead := time.NewTimer(b.deadAfter())
	defer dead.Stop()
	select {
	case <-dead.C:
	case <-b.done.Done():
		return false
	}
	list, err := b.database.Members(ctx)
	if err != nil {
		return false
	}
	for _, now := range list {
		if now.Node == m.Node {
			if now.Beat != m.Beat {
				return false
			}
			return b.database.Forget(ctx, m.Node, m.Beat) == nil
		}
	}
	return true
}
