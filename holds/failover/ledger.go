package failover

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
)

// where is one of the two backends.
type where int

const (
	inPrimary where = iota
	inFallback
)

// ledger contains the live state that this process knows about, and the state that its watchers have received.
type ledger struct {
	b *Backend

	changes atomic.Uint64 // counts what comeBack has to copy

	mu     sync.Mutex
	holds  map[string]*entry      // live holds, by the id that the owner received
	names  [2]map[string]string   // from ids in each backend to the ids that owners received
	placed map[string]holds.Owner // holds in the fallback, by their id there
	ends   map[string]ending      // holds that calls ended here but whose end has not reached the watchers yet
	dead   map[string]ending      // holds that ended while the fallback served and still exist in the primary
	// holds that a claim with a lost response might have left in the primary, by their id there
	ghosts map[string]ghost
	looks  map[holds.Owner]*look

	// holds whose end event was received recently; a response to a call about them may still arrive
	over      map[string]ending
	overList  []overHold            // the same, oldest first
	told      map[string]holds.Hold // holds that watchers consider live
	toldLooks map[holds.Owner]holds.Span

	blind     map[holds.Owner]bool // owners whose selection ended while the fallback served
	presence  map[string]bool      // specialists whose presence changed during that time
	hidden    map[string]bool      // specialists who were online when they were deactivated
	loads     map[string]int       // the changes to loads during that time
	loadsThen map[string]int       // the loads that SetLoads set before those changes; nil if it was not called
}

// entry is one live hold.
type entry struct {
	holds.Hold               // under the id that its owner received
	lapsesAt   time.Time     // when it would expire without a pin
	life       time.Duration // MaxLife of its claim, as far as this process can tell
	own        bool          // created or changed by a call of this process, which therefore copies it
	carry      bool          // it must be copied to the primary
	lost       bool          // another client holds its time in the primary
	ids        [2]string     // its ids in the two backends; empty where it does not exist
}

// ending records how a hold ended.
type ending struct {
	hold   holds.Hold
	kind   holds.EventKind
	reason holds.Reason
}

// look is one live selection.
type look struct {
	holds.Selection
	own   bool
	carry bool // it must be copied to the primary
}

func (l *ledger) open(b *Backend) {
	l.b = b
	l.holds = make(map[string]*entry)
	l.names = [2]map[string]string{make(map[string]string), make(map[string]string)}
	l.placed = make(map[string]holds.Owner)
	l.ends, l.dead = make(map[string]ending), make(map[string]ending)
	l.ghosts = make(map[string]ghost)
	l.looks = make(map[holds.Owner]*look)
	l.over = make(map[string]ending)
	l.hidden = make(map[string]bool)
	l.told, l.toldLooks = make(map[string]holds.Hold), make(map[holds.Owner]holds.Span)
	l.forgetTerm()
}

// forgetTerm discards the changes that were recorded while the fallback served.
func (l *ledger) forgetTerm() {
	l.blind, l.presence, l.loads, l.loadsThen = make(map[holds.Owner]bool), make(map[string]bool), make(map[string]int),
		nil
}

// inner returns the id of a hold in a backend.
func (l *ledger) inner(at where, id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.holds[id]; e != nil && e.ids[at] != "" {
		return e.ids[at]
	}
	return id
}

// outer returns the id that the owner received for a backend's id. The lock is held.
func (l *ledger) outer(at where, id string) string {
	if told, ok := l.names[at][id]; ok {
		return told
	}
	return id
}

// rename sets the ids of holds that a backend returned to the ids that their owners received.
func (l *ledger) rename(at where, list ...*holds.Hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range list {
		h.ID = l.outer(at, h.ID)
	}
}

// name notes the id of a hold in a backend. The lock is held.
func (l *ledger) name(at where, e *entry, inner string) {
	if e.ids[at] != "" && e.ids[at] != inner {
		delete(l.names[at], e.ids[at])
	}
	e.ids[at] = inner
	l.names[at][inner] = e.ID
	if at == inFallback {
		l.placed[inner] = e.Owner
	}
}

// prune forgets the backend ids of holds that ended long ago. The lock is held.
func (l *ledger) prune() {
	l.names = [2]map[string]string{make(map[string]string), make(map[string]string)}
	for id, e := range l.holds {
		for at, inner := range e.ids {
			if inner != "" {
				l.names[at][inner] = id
			}
		}
	}
	for _, x := range l.overList {
		if x.inner != x.id {
			l.names[x.at][x.inner] = x.id
		}
	}
}

// held notes the hold that a call of this process returned, and sets its id to the one that its owner received. life is
// 0 if the call does not set it. If the call ended other holds, that is noted when their events arrive, because the
// responses to overlapping calls can arrive in any order.
func (l *ledger) held(at where, h *holds.Hold, life time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes.Add(1)
	inner := h.ID
	h.ID = l.outer(at, inner)
	e := l.holds[h.ID]
	if e == nil {
		if _, ended := l.ends[h.ID]; ended || l.isOverNow(h.ID) {
			return // it ended before the response arrived
		}
		e = &entry{life: life, lapsesAt: h.ExpiresAt}
	}
	if life > 0 {
		e.life = life
	}
	if e.life <= 0 {
		e.life = time.Until(h.MaxExpiresAt)
	}
	e.Hold, e.own, e.carry, e.lost = *h, true, true, false
	if !h.Pinned {
		e.lapsesAt = h.ExpiresAt
	}
	l.name(at, e, inner)
	l.holds[e.ID] = e
}

// finished notes that a call of this process ended a hold.
func (l *ledger) finished(at where, id string, kind holds.EventKind, reason holds.Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes.Add(1)
	if e := l.holds[id]; e != nil {
		l.end(at, e, ending{e.Hold, kind, reason})
	}
}

// newest returns the live holds, newest first. If two of them conflict because an end event was missed, the older one
// has ended. The lock is held.
func (l *ledger) newest() []*entry {
	return slices.SortedFunc(maps.Values(l.holds), func(x, y *entry) int { return strings.Compare(y.ID, x.ID) })
}

// end removes a hold from the live holds. The lock is held.
func (l *ledger) end(at where, e *entry, end ending) {
	if _, told := l.told[e.ID]; told {
		l.ends[e.ID] = end
	}
	l.bury(at, e, end)
	delete(l.holds, e.ID)
}

// bury notes that a hold ended while the fallback served and still exists in the primary. The lock is
// held.
func (l *ledger) bury(at where, e *entry, end ending) {
	switch {
	case at != inFallback:
		return
	case e.ids[inPrimary] == "":
		return
	}
	end.hold.ID = e.ids[inPrimary]
	l.dead[e.ID] = end
}

// mostOver is the maximum number of ended holds that the ledger remembers.
const mostOver = 4096

// overHold is a hold that ended, with its id in the backend that reported it.
type overHold struct {
	id    string
	at    where
	inner string
}

// isOverNow reports whether the event for a hold's end has been received. The lock is held.
func (l *ledger) isOverNow(id string) bool {
	_, over := l.over[id]
	return over
}

// isOverBy reports whether the event for a hold's end has been received with this kind and reason.
func (l *ledger) isOverBy(id string, kind holds.EventKind, reason holds.Reason) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	end, over := l.over[id]
	return over && end.kind == kind && end.reason == reason
}

// isOver notes that the event for a hold's end was received. The lock is held.
func (l *ledger) isOver(id string, end ending, at where, inner string) {
	if l.isOverNow(id) {
		return
	}
	if len(l.overList) == mostOver {
		oldest := l.overList[0]
		delete(l.over, oldest.id)
		delete(l.names[oldest.at], oldest.inner)
		l.overList = l.overList[1:]
	}
	l.over[id] = end
	l.overList = append(l.overList, overHold{id, at, inner})
}

// looked notes a selection by a client of this process.
func (l *ledger) looked(x holds.Selection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes.Add(1)
	l.looks[x.Owner] = &look{Selection: x, own: true, carry: true}
	delete(l.blind, x.Owner)
}

// renewed records that a selection has its full lifetime again.
func (l *ledger) renewed(owner holds.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.looks[owner]; x != nil {
		l.changes.Add(1)
		x.ExpiresAt, x.own, x.carry = time.Now().UTC().Add(holds.SelectionTTL), true, true
	}
}

// lookedAway notes that a client ended its selection.
func (l *ledger) lookedAway(at where, owner holds.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes.Add(1)
	delete(l.looks, owner)
	if at == inFallback {
		l.blind[owner] = true
	}
}

// attended records that a specialist's presence changed, and that the load changed by delta.
func (l *ledger) attended(specialistID string, delta int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes.Add(1)
	if delta == 0 {
		l.presence[specialistID] = true
	} else {
		l.loads[specialistID] += delta
	}
}

// hide records whether Activate would bring a deactivated specialist back online.
func (l *ledger) hide(specialistID string, online bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if online {
		l.hidden[specialistID] = true
	} else {
		delete(l.hidden, specialistID)
	}
}

// loaded records that all loads were set.
func (l *ledger) loaded(loads map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes.Add(1)
	l.loadsThen, l.loads = loads, make(map[string]int)
}
