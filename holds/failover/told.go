package failover

import (
	"sort"
	"time"

	"holdfast/holds"
)

// hear applies an event from the serving backend to the ledger, and publishes it to the watchers unless they have
// already received it.
func (l *ledger) hear(e *holds.Event, at where) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes.Add(1)
	event := *e
	if e.HoldID == "" {
		l.hearLook(&event)
		return
	}
	event.HoldID = l.outer(at, e.HoldID)
	id := event.HoldID
	_, told := l.told[id]
	known := l.holds[id]
	switch e.Kind {
	case holds.EventHold:
		if told {
			return
		}
		h := holds.Hold{ID: id, Span: e.Span, Resources: e.Resources, Owner: e.Owner, ExpiresAt: e.ExpiresAt,
			MaxExpiresAt: e.ExpiresAt}
		if _, ended := l.ends[id]; known == nil && !ended {
			known = &entry{Hold: h, lapsesAt: e.ExpiresAt}
			l.name(at, known, e.HoldID)
			l.holds[id] = known
		}
		l.told[id] = h
	case holds.EventHeartbeat:
		if known != nil && !known.Pinned { // another process may have extended it
			known.Owner = e.Owner // another process may have transferred it
			known.ExpiresAt = later(known.ExpiresAt, e.ExpiresAt)
			known.lapsesAt, known.MaxExpiresAt = known.ExpiresAt, later(known.MaxExpiresAt, e.ExpiresAt)
		}
		if !told {
			return
		}
	case holds.EventRelease, holds.EventConfirm:
		delete(l.ends, id)
		if at == inFallback {
			delete(l.placed, e.HoldID)
		}
		l.isOver(id, ending{kind: e.Kind, reason: e.Reason}, at, e.HoldID)
		if known != nil {
			end := ending{known.Hold, e.Kind, e.Reason}
			l.bury(at, known, end)
			delete(l.holds, id)
		}
		if !told {
			return
		}
		delete(l.told, id)
	}
	l.b.log.Publish(&event)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hearLook does the same as hear for events that do not concern a hold. The lock is held.
func (l *ledger) hearLook(e *holds.Event) {
	span, told := l.toldLooks[e.Owner]
	switch e.Kind {
	case holds.EventSelect:
		if told && span.SameGroup(&e.Span) {
			return
		}
		l.toldLooks[e.Owner] = e.Span
		if x := l.looks[e.Owner]; x == nil || !x.own {
			l.looks[e.Owner] = &look{Selection: holds.Selection{Span: e.Span, Owner: e.Owner,
				ExpiresAt: e.At.Add(holds.SelectionTTL)}}
		}
	case holds.EventDeselect:
		if x := l.looks[e.Owner]; x != nil && x.SameGroup(&e.Span) && (e.Reason == holds.ReasonExpired || !x.own) {
			delete(l.looks, e.Owner)
		}
		if !told || !span.SameGroup(&e.Span) {
			return
		}
		delete(l.toldLooks, e.Owner)
	}
	l.b.log.Publish(e)
}

// settle publishes every live state change that the watchers have not received: first the holds that ended, in deadline
// order, then the new holds. The lock is held.
func (l *ledger) settle() {
	now := time.Now().UTC()
	var over []ending
	for id, h := range l.told {
		if e := l.holds[id]; e != nil && now.Before(e.ExpiresAt) && !e.lost {
			continue
		}
		if end, sure := l.endOf(id, h); sure {
			over = append(over, end)
		} else {
			delete(l.told, id)
			l.b.running.Go(func() { l.b.resolve(end) })
		}
	}
	sort.Slice(over, func(i, j int) bool { return over[i].hold.ExpiresAt.Before(over[j].hold.ExpiresAt) })
	for i := range over {
		end := &over[i]
		delete(l.told, end.hold.ID)
		delete(l.ends, end.hold.ID)
		l.b.log.Hold(end.kind, end.reason, now, &end.hold)
	}
	for id, e := range l.holds {
		if !now.Before(e.ExpiresAt) || e.lost {
			delete(l.holds, id)
		} else if _, told := l.told[id]; !told {
			l.told[id] = e.Hold
			l.b.log.Hold(holds.EventHold, "", now, &e.Hold)
		}
	}
	clear(l.ends)
	l.prune()
	for owner, span := range l.toldLooks {
		x := l.looks[owner]
		if x != nil && x.SameGroup(&span) && now.Before(x.ExpiresAt) {
			continue
		}
		reason := holds.ReasonReleased
		if x != nil && x.SameGroup(&span) {
			reason = holds.ReasonExpired
		}
		delete(l.toldLooks, owner)
		l.b.log.Publish(&holds.Event{Kind: holds.EventDeselect, At: now, Span: span, Owner: owner, Reason: reason})
	}
	for owner, x := range l.looks {
		if !now.Before(x.ExpiresAt) {
			delete(l.looks, owner)
		} else if _, told := l.toldLooks[owner]; !told {
			l.toldLooks[owner] = x.Span
			l.b.log.Publish(&holds.Event{Kind: holds.EventSelect, At: now, Span: x.Span, Owner: owner})
		}
	}
}

// endOf returns how a hold that watchers still consider live has ended. sure is false if the hold was pinned when it
// expired, so that Booked has to decide. The lock is held.
func (l *ledger) endOf(id string, told holds.Hold) (end ending, sure bool) {
	if end, known := l.ends[id]; known {
		return end, true
	}
	end = ending{told, holds.EventRelease, holds.ReasonExpired}
	e := l.holds[id]
	switch {
	case e == nil:
	case e.lost:
		end.hold, end.reason = e.Hold, holds.ReasonDisplaced
	default:
		end.hold = e.Hold
		return end, !e.Pinned || l.b.booked == nil
	}
	return end, true
}

// resolve asks whether a pinned hold that expired during a switch was booked, and publishes how it ended.
func (b *Backend) resolve(end ending) {
	if b.booked(end.hold) {
		end.kind, end.reason = holds.EventConfirm, ""
	}
	b.log.Hold(end.kind, end.reason, time.Now().UTC(), &end.hold)
}
