package failover

import (
	"context"
	"errors"
	"time"

	"holdfast/holds"
)

// restore copies a hold to a backend, under the id that the hold has, or might have, in that backend.
func restore(ctx context.Context, to holds.Backend, e *entry, id string) (holds.Hold, error) {
	return to.(holds.Restorer).Restore(ctx, e.remains(id))
}

// remains returns the hold with its remaining time, under the id that it has, or might have, in the other backend.
func (e *entry) remains(id string) holds.Remains {
	r := holds.Remains{Hold: e.Hold, LapsesAt: e.lapsesAt, Life: e.life}
	r.ID = id
	return r
}

// toPrimary copies the holds that were created or changed in this process to the primary, and ends in the primary the
// holds that ended here. Changes during the call are left for the next call. Error: holds.ErrUnavailable.
func (l *ledger) toPrimary(ctx context.Context) error {
	if err := l.layGhosts(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	var list []entry
	now := time.Now()
	for _, e := range l.newest() {
		if e.carry && now.Before(e.ExpiresAt) {
			e.carry = false
			list = append(list, *e)
		}
	}
	dead := l.dead
	l.dead = make(map[string]ending)
	l.mu.Unlock()
	for _, end := range dead {
		var err error
		if end.kind == holds.EventConfirm {
			_, err = l.b.primary.Confirm(ctx, end.hold.ID, end.hold.Owner)
		} else {
			_, err = l.b.primary.Release(ctx, end.hold.ID, end.hold.Owner, end.reason)
		}
		if errors.Is(err, holds.ErrUnavailable) {
			l.recall(list, dead)
			return err
		}
	}
	for i := range list {
		if err := l.carry(ctx, &list[i]); err != nil {
			l.recall(list[i:], nil)
			return err
		}
	}
	return nil
}

// carry copies one hold to the primary, in the state in which toPrimary read it.
func (l *ledger) carry(ctx context.Context, was *entry) error {
	id := was.ids[inPrimary]
	if id == "" {
		id = was.ID
	}
	h, err := restore(ctx, l.b.primary, was, id)
	var held *holds.HeldError
	if err != nil && !errors.As(err, &held) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.holds[was.ID]
	switch {
	case e == nil && err == nil: // the hold ended during the copy
		was.ID = h.ID
		l.dead[h.ID] = ending{h, holds.EventRelease, holds.ReasonReleased}
	case e == nil:
	case err != nil:
		e.lost = true
	default:
		l.name(inPrimary, e, h.ID)
	}
	return nil
}

// recall marks these holds, and these ended holds, for the next copy.
func (l *ledger) recall(list []entry, dead map[string]ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range list {
		if e := l.holds[list[i].ID]; e != nil {
			e.carry = true
		}
	}
	for id, end := range dead {
		l.dead[id] = end
	}
}

// state is the live state of the primary.
type state struct {
	holds []holds.Hold
	looks []holds.Selection
}

// copy copies the changes of this process to the primary.
func (l *ledger) copy(ctx context.Context) error {
	if err := l.toPrimary(ctx); err != nil {
		return err
	}
	if err := l.bringLooks(ctx); err != nil {
		return err
	}
	return l.bringPresence(ctx)
}

// read reads the live state of the primary.
func (l *ledger) read(ctx context.Context) (there state, err error) {
	if there.holds, err = l.b.primary.List(ctx); err != nil {
		return state{}, err
	}
	there.looks, err = selected(ctx, l.b.primary)
	return there, err
}

// adopt takes over the live state of the primary, and publishes the changes that watchers have not received. The
// caller holds the backend's lock, and no call has changed anything since copy began.
func (l *ledger) adopt(from state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, looks := from.holds, from.looks
	there := make(map[string]bool, len(list))
	for i := range list {
		inner := list[i].ID
		h := list[i]
		h.ID = l.outer(inPrimary, inner)
		there[h.ID] = true
		e := l.holds[h.ID]
		if e == nil {
			e = &entry{Hold: h, lapsesAt: h.ExpiresAt, life: time.Until(h.MaxExpiresAt)}
			l.holds[h.ID] = e
		}
		e.Hold, e.lost = h, false
		l.name(inPrimary, e, inner)
	}
	for id, e := range l.holds {
		if !there[id] && !e.lost {
			if _, told := l.told[id]; told {
				l.ends[id] = ending{e.Hold, holds.EventRelease, holds.ReasonExpired}
			}
			delete(l.holds, id)
		}
	}
	before := l.looks
	l.looks = make(map[holds.Owner]*look, len(looks))
	for _, x := range looks {
		l.looks[x.Owner] = &look{Selection: x, own: before[x.Owner] != nil && before[x.Owner].own}
	}
	l.settle()
}

// bringLooks copies the selections of this process's clients to the primary.
func (l *ledger) bringLooks(ctx context.Context) error {
	l.mu.Lock()
	var list []holds.Selection
	for _, x := range l.looks {
		if x.carry && time.Now().Before(x.ExpiresAt) {
			x.carry = false
			list = append(list, x.Selection)
		}
	}
	blind := l.blind
	l.blind = make(map[holds.Owner]bool)
	l.mu.Unlock()
	for i := range list {
		if err := l.b.primary.(holds.Restorer).RestoreSelection(ctx, list[i]); err != nil {
			l.recallLooks(list[i:], blind)
			return err
		}
	}
	for owner := range blind {
		if _, err := l.b.primary.Deselect(ctx, owner); err != nil {
			l.recallLooks(nil, blind)
			return err
		}
	}
	return nil
}

// recallLooks marks these selections, and these ended selections, for the next copy. If the client has made another
// selection since then, that selection replaces the end of the previous one.
func (l *ledger) recallLooks(list []holds.Selection, blind map[holds.Owner]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range list {
		if x := l.looks[list[i].Owner]; x != nil {
			x.carry = true
		}
	}
	for owner := range blind {
		if l.looks[owner] == nil {
			l.blind[owner] = true
		}
	}
}

// bringPresence copies the presence that changed in this process to the primary. If the primary's presence for the same
// specialist changed too, the database decides: presence is seeded from it when the mode changes.
func (l *ledger) bringPresence(ctx context.Context) error {
	l.mu.Lock()
	changed, loads, then := l.presence, l.loads, l.loadsThen
	l.presence, l.loads, l.loadsThen = make(map[string]bool), make(map[string]int), nil
	l.mu.Unlock()
	for id := range changed {
		p, err := l.b.fallback.Present(ctx, id)
		if err == nil {
			l.mu.Lock()
			p.Online = p.Online || p.Deactivated && l.hidden[id]
			l.mu.Unlock()
			err = l.b.primary.(holds.Restorer).RestorePresent(ctx, p)
		}
		if err != nil {
			l.recallPresence(changed, loads, then)
			return err
		}
		delete(changed, id)
	}
	if then != nil {
		if err := l.b.primary.SetLoads(ctx, then); err != nil {
			l.recallPresence(nil, loads, then)
			return err
		}
	}
	for id, delta := range loads {
		if _, err := l.b.primary.Load(ctx, id, delta); err != nil {
			l.recallPresence(nil, loads, nil)
			return err
		}
		delete(loads, id)
	}
	return nil
}

// recallPresence marks these changes of presence for the next copy. Loads that have been set since then
// replace them.
func (l *ledger) recallPresence(changed map[string]bool, loads, then map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range changed {
		l.presence[id] = true
	}
	if l.loadsThen != nil {
		return
	}
	l.loadsThen = then
	for id, delta := range loads {
		l.loads[id] += delta
	}
}

// drain empties the fallback after its term. No watcher receives these events.
func (l *ledger) drain(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for inner, owner := range l.placed {
		if e := l.holds[l.outer(inFallback, inner)]; e != nil {
			e.ids[inFallback] = ""
		}
		if _, err2 := l.b.fallback.Release(ctx, inner, owner, holds.ReasonReleased); err2 != nil {
			err = err2
		}
	}
	clear(l.placed)
	l.prune()
	for owner := range l.looks {
		if _, err2 := l.b.fallback.Deselect(ctx, owner); err2 != nil {
			err = err2
		}
	}
	if err != nil {
		l.b.logger.Warn("failed to clear the fallback for live state", "error", err)
	}
}
