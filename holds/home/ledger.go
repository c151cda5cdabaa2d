package home

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/holds"
)

// ledger contains the live state that this node remembers, and the state that its watchers have received. Times are on
// the home's clock.
type ledger struct {
	b *Backend

	mu      sync.Mutex
	epoch   uint64            // of the last snapshot
	holds   map[string]*entry // live holds, by id
	looks   map[holds.Owner]holds.Selection
	ahead   time.Duration         // the home's clock is ahead of this process's clock by at least this
	ends    map[string]ending     // holds that calls ended here, until the event arrives
	over    map[string]ending     // holds that ended recently; a response to a call about them may still arrive
	overIDs []string              // the same, oldest first
	told    map[string]holds.Hold // holds that watchers consider live
	looking map[holds.Owner]holds.Span
	present map[string]attendance // specialists who are online, by id
}

// entry is one live hold. own is true if a call of this process returned the hold: then all its fields are known.
type entry struct {
	holds.Remains
	own bool
	at  time.Time // of the call
}

// ending records how a hold ended.
type ending struct {
	hold   holds.Hold
	kind   holds.EventKind
	reason holds.Reason
}

// mostOver is the maximum number of ended holds that the ledger remembers.
const mostOver = 4096

func (m *ledger) open(b *Backend) {
	m.b = b
	m.holds, m.looks = make(map[string]*entry), make(map[holds.Owner]holds.Selection)
	m.ends, m.over = make(map[string]ending), make(map[string]ending)
	m.told, m.looking = make(map[string]holds.Hold), make(map[holds.Owner]holds.Span)
	m.present = make(map[string]attendance)
}

// held remembers the hold that a call of this process returned. life is 0 if the call does not set it.
func (m *ledger) held(h *holds.Hold, life time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, over := m.over[h.ID]; over {
		return // it ended before the response arrived
	}
	e := m.holds[h.ID]
	if e == nil {
		e = &entry{Remains: holds.Remains{LapsesAt: h.ExpiresAt, Life: time.Until(h.MaxExpiresAt)}}
		m.holds[h.ID] = e
	}
	if life > 0 {
		e.Life = life
	}
	if e.Hold, e.own, e.at = *h, true, time.Now(); !h.Pinned {
		e.LapsesAt = h.ExpiresAt
	}
}

// ended remembers that a call of this process ended a hold.
func (m *ledger) ended(id string, kind holds.EventKind, reason holds.Reason) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.holds[id]; e != nil {
		if _, told := m.told[id]; told {
			m.ends[id] = ending{e.Hold, kind, reason}
		}
		m.isEnded(id, ending{e.Hold, kind, reason})
	}
}

// isEnded forgets a hold, and remembers its end until mostOver later holds have ended. The lock is held.
func (m *ledger) isEnded(id string, end ending) {
	delete(m.holds, id)
	if _, known := m.over[id]; known {
		return
	}
	if len(m.overIDs) == mostOver {
		delete(m.over, m.overIDs[0])
		m.overIDs = m.overIDs[1:]
	}
	m.over[id], m.overIDs = end, append(m.overIDs, id)
}

// isOver reports whether the ledger has the end of a hold with this kind and reason.
func (m *ledger) isOver(id string, kind holds.EventKind, reason holds.Reason) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	end, over := m.over[id]
	return over && end.kind == kind && end.reason == reason
}

// renewed records that a selection has its full lifetime again.
func (m *ledger) renewed(owner holds.Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x, known := m.looks[owner]; known {
		x.ExpiresAt = time.Now().Add(m.ahead + holds.SelectionTTL).UTC()
		m.looks[owner] = x
	}
}

// own reports whether a call by this process returned the hold.
func own(e *entry) bool { return e.own }

// snapshot returns the remembered holds for which of returns true, newest first, and the selections. If two holds
// conflict because an end event was missed, the older one has ended.
func (m *ledger) snapshot(of func(e *entry) bool) holds.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	s := holds.Snapshot{At: now.Add(m.ahead), Asked: now}
	for _, e := range m.holds {
		if of(e) && s.At.Before(e.ExpiresAt) {
			s.Holds = append(s.Holds, e.Remains)
		}
	}
	slices.SortFunc(s.Holds, func(x, y holds.Remains) int { return strings.Compare(y.ID, x.ID) })
	for _, x := range m.looks {
		if s.At.Before(x.ExpiresAt) {
			s.Selections = append(s.Selections, x)
		}
	}
	return s
}

// group is a client and the slot that it holds. A client has at most one hold per slot.
type group struct {
	holds.Owner
	typeID, specialistID string
	start, end           int64
}

func groupOf(h *holds.Hold) group {
	return group{h.Owner, h.AppointmentTypeID, h.SpecialistID, h.SlotStart.UnixMilli(), h.SlotEnd.UnixMilli()}
}

// missingIn returns a snapshot of the remembered holds that no node has copied yet.
func (m *ledger) missingIn(there holds.Snapshot) holds.Snapshot {
	ids, groups := map[string]bool{}, map[group]bool{}
	for i := range there.Holds {
		h := &there.Holds[i].Hold
		ids[h.ID], groups[groupOf(h)] = true, true
	}
	return m.snapshot(func(e *entry) bool { return !ids[e.ID] && !groups[groupOf(&e.Hold)] })
}

// relay passes events from the home to this process's watchers until the term ends.
func (b *Backend) relay(ctx context.Context, t *term, w holds.Watch) {
	var events []holds.Event
	for ; ctx.Err() == nil; b.pause(helpEvery) {
		var err error
		if w == nil { // before the snapshot, so that no event is missed between the two
			if w, err = t.home.Watch(ctx); err != nil {
				w = nil
				continue
			}
		}
		s, err := t.home.Snapshot(ctx)
		if err == nil {
			b.ledger.settle(t.epoch, s)
			b.wake()
		}
		for err == nil {
			if events, err = w.Next(ctx, events); err == nil {
				b.hear(t, events)
			}
		}
		w.Close()
		w = nil
		if ctx.Err() == nil {
			b.lost(ctx, t) // a different server may be responding now
		}
	}
}

// hear publishes events to the watchers, unless the term is over: in that case a snapshot replaces
// them.
func (b *Backend) hear(t *term, events []holds.Event) {
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	if b.ledger.epoch != t.epoch {
		return
	}
	for i := range events {
		if e := events[i]; b.ledger.takes(&e) {
			b.log.Publish(&e)
		}
	}
}

// takes applies an event to the ledger, and reports whether watchers should receive it. The lock is held.
func (m *ledger) takes(e *holds.Event) bool {
	if e.HoldID == "" {
		return m.takesLook(e)
	}
	m.ahead = max(m.ahead, time.Until(e.At)) // the event with the shortest delay yields the best estimate
	_, told := m.told[e.HoldID]
	known := m.holds[e.HoldID]
	switch e.Kind {
	case holds.EventHold:
		h := holds.Hold{ID: e.HoldID, Span: e.Span, Resources: e.Resources, Owner: e.Owner, ExpiresAt: e.ExpiresAt,
			MaxExpiresAt: later(e.MaxExpiresAt, e.ExpiresAt)}
		if _, over := m.over[h.ID]; known == nil && !over {
			m.holds[h.ID] = &entry{Remains: holds.Remains{Hold: h, LapsesAt: e.ExpiresAt,
				Life: h.MaxExpiresAt.Sub(e.At)}}
		}
		if !told {
			m.told[h.ID] = h
		}
		return !told
	case holds.EventHeartbeat:
		if known != nil && !known.Pinned { // another process may have extended it
			known.Owner = e.Owner // another process may have transferred it
			known.ExpiresAt = later(known.ExpiresAt, e.ExpiresAt)
			known.LapsesAt, known.MaxExpiresAt = known.ExpiresAt,
				later(known.MaxExpiresAt, later(e.MaxExpiresAt, e.ExpiresAt))
		}
	case holds.EventRelease, holds.EventConfirm:
		delete(m.ends, e.HoldID)
		m.isEnded(e.HoldID, ending{kind: e.Kind, reason: e.Reason})
		delete(m.told, e.HoldID)
	}
	return told
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// takesLook does the same as takes for events that do not concern a hold. The lock is held.
func (m *ledger) takesLook(e *holds.Event) bool {
	span, told := m.looking[e.Owner]
	switch e.Kind {
	case holds.EventSelect:
		m.looks[e.Owner] = holds.Selection{Span: e.Span, Owner: e.Owner, ExpiresAt: e.At.Add(holds.SelectionTTL)}
		if told && span.SameGroup(&e.Span) {
			return false
		}
		m.looking[e.Owner] = e.Span
	case holds.EventDeselect:
		if x, known := m.looks[e.Owner]; known && x.SameGroup(&e.Span) {
			delete(m.looks, e.Owner)
		}
		if !told || !span.SameGroup(&e.Span) {
			return false
		}
		delete(m.looking, e.Owner)
	case holds.EventPresence:
		if e.Reason != "online" { // the specialist went offline, on any node
			delete(m.present, e.SpecialistID)
		}
	}
	return true
}

// isSettled reports whether the ledger has the live state of an epoch.
func (m *ledger) isSettled(epoch uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch == epoch
}

// settle adopts the live state of an epoch and publishes every change that the watchers have not yet received: first
// the holds that ended, in deadline order, then the new holds.
func (m *ledger) settle(epoch uint64, s holds.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch < m.epoch {
		return
	}
	m.epoch, m.ahead = epoch, time.Until(s.At)
	before := m.holds
	m.holds = make(map[string]*entry, len(s.Holds))
	for _, r := range s.Holds {
		if _, over := m.over[r.ID]; over && before[r.ID] == nil {
			delete(m.over, r.ID) // its end did not reach the previous home
			m.overIDs = slices.DeleteFunc(m.overIDs, func(id string) bool { return id == r.ID })
		}
		m.holds[r.ID] = &entry{Remains: r, own: before[r.ID] != nil && before[r.ID].own}
	}
	for id, e := range before {
		if e.own && e.at.After(s.Asked) {
			m.holds[id] = e // the snapshot may be older; if the hold has ended, its event follows
		}
	}
	m.looks = make(map[holds.Owner]holds.Selection, len(s.Selections))
	for _, x := range s.Selections {
		m.looks[x.Owner] = x
	}
	m.adopt(s.Present, s.Asked)
	var over []ending
	for id, h := range m.told {
		if m.holds[id] != nil {
			continue
		}
		delete(m.told, id)
		if end, sure := m.endOf(id, h, before[id], s.At); sure {
			over = append(over, end)
		} else {
			m.b.running.Go(func() { m.b.resolve(end) })
		}
	}
	slices.SortFunc(over, func(x, y ending) int { return x.hold.ExpiresAt.Compare(y.hold.ExpiresAt) })
	for i := range over {
		m.b.log.Hold(over[i].kind, over[i].reason, s.At, &over[i].hold)
	}
	clear(m.ends)
	for _, e := range slices.SortedFunc(maps.Values(m.holds), func(x, y *entry) int {
		return strings.Compare(x.ID, y.ID)
	}) {
		if _, told := m.told[e.ID]; !told {
			m.told[e.ID] = e.Hold
			m.b.log.Hold(holds.EventHold, "", s.At, &e.Hold)
		}
	}
	m.settleLooks(s.At)
}

// endOf returns how a hold that watchers still consider live has ended. sure is false if the hold was pinned when it
// expired, so that Booked has to decide. The lock is held.
func (m *ledger) endOf(id string, told holds.Hold, last *entry, at time.Time) (end ending, sure bool) {
	if end, known := m.ends[id]; known {
		return end, true
	}
	end = ending{told, holds.EventRelease, holds.ReasonExpired}
	if last == nil {
		return end, true
	}
	end.hold = last.Hold
	switch {
	case last.Pinned:
		return end, m.b.booked == nil
	case last.own && at.Before(last.ExpiresAt):
		end.reason = holds.ReasonDisplaced // another client's hold conflicted
	}
	return end, true
}

// resolve asks whether a pinned hold that expired during a change of home was booked, and publishes how it ended.
func (b *Backend) resolve(end ending) {
	if b.booked(end.hold) {
		end.kind, end.reason = holds.EventConfirm, ""
	}
	b.log.Hold(end.kind, end.reason, time.Now().UTC(), &end.hold)
}

// settleLooks does the same as settle for selections. The lock is held.
func (m *ledger) settleLooks(at time.Time) {
	for owner, span := range m.looking {
		x, live := m.looks[owner]
		if live && x.SameGroup(&span) {
			continue
		}
		reason := holds.ReasonExpired
		if live {
			reason = holds.ReasonReleased
		}
		delete(m.looking, owner)
		m.b.log.Publish(&holds.Event{Kind: holds.EventDeselect, At: at, Span: span, Owner: owner, Reason: reason})
	}
	looks := slices.SortedFunc(maps.Values(m.looks), func(x, y holds.Selection) int {
		return cmp.Compare(x.Owner.String(), y.Owner.String())
	})
	for i := range looks {
		if _, told := m.looking[looks[i].Owner]; !told {
			m.looking[looks[i].Owner] = looks[i].Span
			m.b.log.Publish(&holds.Event{Kind: holds.EventSelect, At: at, Span: looks[i].Span, Owner: looks[i].Owner})
		}
	}
}
