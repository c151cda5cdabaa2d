package home

import (
	"context"
	"errors"
	"time"

	"holdfast/holds"
)

const (
	helpEvery = 20 * time.Millisecond  // while other nodes leave a home
	retryFill = 100 * time.Millisecond // after a failure
	turnTime  = 500 * time.Millisecond // without progress of another node's copy, before this node begins its own
)

// help copies the state to a new home that is not open yet, until it is open.
func (b *Backend) help(d holds.Decision) {
	b.mu.Lock()
	before := b.term
	b.mu.Unlock()
	if before != nil && d.Home == b.database.Mode() {
		before.calls.Wait() // until the ledger has recorded their results
	}
	b.listenEarly(d)
	failures, mine := 0, b.isMine(d)
	for b.pends(d) {
		var err error
		switch {
		case d.Home != b.primary.Mode():
			err = b.toDatabase(d)
		case mine || b.awaitTurn(d):
			err = b.toPrimary(d)
			mine = !errors.Is(err, holds.ErrMoved) // another node is copying now
		}
		if err == nil || errors.Is(err, holds.ErrMoved) {
			b.overtake(d)
			b.pause(helpEvery)
			continue
		}
		b.logger.Debug("live state not copied yet", "home", d.Home, "error", err)
		if failures++; failures == 3 && d.Home == b.primary.Mode() {
			b.move(b.done, d.Epoch, b.database.Mode(), err)
		}
		b.pause(retryFill)
	}
}

// overtake makes a new decision with a later epoch in two cases: if the primary has a later epoch than the database,
// which happens after the database has been restored from a backup, and if the primary was opened for this epoch and
// then replaced.
func (b *Backend) overtake(d holds.Decision) {
	ctx, cancel := context.WithTimeout(b.done, b.renewTime())
	defer cancel()
	if err := b.lease(ctx); err != nil || !b.pends(d) {
		return
	}
	latest, open, err := b.primary.LatestEpoch(ctx)
	if err != nil {
		return
	}
	why := errors.New("the database was restored")
	if latest == d.Epoch && open && d.Home == b.primary.Mode() {
		whole, err := b.primary.Whole(ctx, d.Epoch)
		open, why = err == nil && !whole, replaced(b.primary)
	}
	if latest > d.Epoch || latest == d.Epoch && open {
		b.moveAbove(ctx, d.Epoch, latest, d.Home, why)
	}
}

// isMine reports whether this node made a decision.
func (b *Backend) isMine(d holds.Decision) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.decided == d.Epoch
}

// awaitTurn leaves the copying to another node as long as its copy makes progress, and for turnTime after that. It
// reports whether the decision is still pending then. One copy is enough. Each copy begins by removing what is there,
// so two nodes that both copied would never finish, and a late copy would put old state into a Redis that has since
// been emptied.
func (b *Backend) awaitTurn(d holds.Decision) bool {
	before := 0
	for since := time.Now(); b.pends(d) && time.Since(since) < turnTime; b.pause(helpEvery) {
		ctx, cancel := context.WithTimeout(b.done, turnTime)
		s, err := b.primary.Stats(ctx)
		cancel()
		if err != nil {
			continue
		}
		there := s.Holds + s.Selections + s.Online
		if there > before { // it becomes less when state expires
			since = time.Now()
		}
		before = there
	}
	return b.pends(d)
}

// listenEarly watches the decided home, so that this node receives other nodes' changes there before it enters the
// epoch.
func (b *Backend) listenEarly(d holds.Decision) {
	ctx, cancel := context.WithTimeout(b.done, helpEvery)
	defer cancel()
	to := holds.Homely(b.database)
	if d.Home == b.primary.Mode() {
		to = b.primary
	}
	w, err := to.Watch(ctx)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.early.watch != nil {
		b.early.watch.Close()
		b.early = early{}
	}
	if b.decision != d || b.closed { // the home is open already
		w.Close()
		return
	}
	b.early = early{d.Epoch, w}
}

// pends reports whether a decision still applies and its home has not been opened yet.
func (b *Backend) pends(d holds.Decision) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.decision == d && !b.closed
}

func (b *Backend) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.done.Done():
	}
}

// toPrimary copies the state from PostgreSQL, which no longer accepts changes, to the primary.
func (b *Backend) toPrimary(d holds.Decision) error {
	ctx, cancel := context.WithTimeout(b.done, fillTime)
	defer cancel()
	s, err := b.database.Snapshot(ctx)
	if err != nil {
		return err
	}
	_, err = b.primary.Fill(ctx, d.Epoch, s, holds.Sealed)
	if errors.Is(err, holds.ErrMoved) {
		if whole, look := b.primary.Whole(ctx, d.Epoch); look == nil && whole {
			err = nil // another node has filled it, and may have crashed before it opened it
		}
	}
	if err != nil {
		return err
	}
	return b.open(ctx, d)
}

func (b *Backend) open(ctx context.Context, d holds.Decision) error {
	sent := monotonic()
	now, err := b.database.Open(ctx, d.Epoch)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.learn(now, sent)
	return nil
}

// toDatabase copies the state of the primary to PostgreSQL. If the primary cannot be sealed, it instead copies the
// state that the nodes have in memory.
func (b *Backend) toDatabase(d holds.Decision) error {
	ctx, cancel := context.WithTimeout(b.done, fillTime+b.deadAfter())
	defer cancel()
	if d.Source == b.primary.Mode() {
		whole, err := b.primary.Seal(ctx, d.Before, d.Epoch)
		if errors.Is(err, holds.ErrMoved) {
			return err
		}
		if err == nil && whole {
			s, err := b.primary.Snapshot(ctx)
			if err == nil {
				if _, err = b.database.Fill(ctx, d.Epoch, s, holds.Sealed); err == nil {
					err = b.open(ctx, d)
				}
				return err
			}
		}
	}
	mine := b.ledger.snapshot(own)
	mine.Present = b.ledger.attending()
	if _, err := b.database.Fill(ctx, d.Epoch, mine, holds.Remembered); err != nil {
		return err
	}
	b.mu.Lock()
	b.left = max(b.left, d.Epoch)
	b.mu.Unlock()
	if err := b.lease(ctx); err != nil {
		return err
	}
	if !b.othersLeft(ctx, d) {
		return nil
	}
	there, err := b.database.Snapshot(ctx)
	if err != nil {
		return err
	}
	if _, err := b.database.Fill(ctx, d.Epoch, b.ledger.missingIn(there), holds.Remembered); err != nil {
		return err
	}
	return b.open(ctx, d)
}

// othersLeft waits until every other node has left the previous epoch, and reports whether the decision is still
// pending then.
func (b *Backend) othersLeft(ctx context.Context, d holds.Decision) bool {
	type beat struct {
		beat int64
		at   time.Time
	}
	seen := map[string]beat{}
	for ; b.pends(d) && ctx.Err() == nil; b.pause(helpEvery) {
		b.mu.Lock()
		since := b.since
		b.mu.Unlock()
		list, err := b.database.Members(ctx)
		if err != nil {
			continue
		}
		// after a PostgreSQL crash has emptied the list, the other nodes need this time to register again
		waiting := time.Since(since) < b.deadAfter()
		for _, m := range list {
			if m.Node == b.name || m.Left >= d.Epoch {
				continue
			}
			last, known := seen[m.Node]
			switch {
			case !known || last.beat != m.Beat:
				seen[m.Node] = beat{m.Beat, time.Now()}
				waiting = true
			case time.Since(last.at) < b.deadAfter():
				waiting = true
			default:
				if err := b.database.Forget(ctx, m.Node, m.Beat); err != nil {
					waiting = true
				}
			}
		}
		if !waiting {
			return b.pends(d)
		}
	}
	return false
}
