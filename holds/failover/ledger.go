package failover

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/holds"
)

// where is one of the two backends.
type where int

const (
	inPrimary where = iota
	inFallback
)

// ledger is what this process knows of what is live, and what its watchers were told.
type ledger struct {
	b *Backend

	mu     sync.Mutex
	holds  map[string]*entry      // what is live, by the id that its owner was told
	names  [2]map[string]string   // ids that the backends have, to those that owners were told
	placed map[string]holds.Owner // what is in the fallback, by its id there
	ends   map[string]ending      // what calls ended here and watchers were not told yet
	dead   map[string]ending      // what ended while the fallback served and is still in the primary
	ghosts map[string]ghost       // what a claim may have left in the primary when its answer was lost, by its id there
	looks  map[holds.Owner]*look

	over      map[string]ending     // what ended lately by its events, of which a call's answer may still be on its way
	overList  []overHold            // the same, the oldest first
	told      map[string]holds.Hold // what watchers think is live
	toldLooks map[holds.Owner]holds.Span

	blind     map[holds.Owner]bool // whose selection ended while the fallback served
	presence  map[string]bool      // whose presence changed then
	hidden    map[string]bool      // who was online when they were deactivated
	loads     map[string]int       // by how much loads changed then
	loadsThen map[string]int       // what they were all set to before that; nil if they were not
}

// entry is one live hold.
type entry struct {
	holds.Hold               // under the id that its owner was told
	lapsesAt   time.Time     // without its pin
	life       time.Duration // MaxLife of its claim, as far as it is known
	own        bool          // made or changed by a call of this process, which therefore carries it
	carry      bool          // it is to be brought to the primary
	lost       bool          // somebody else has its time there
	ids        [2]string     // what the backends call it; empty where it is not
}

// ending is how a hold ended.
type ending struct {
	hold   holds.Hold
	kind   holds.EventKind
	reason holds.Reason
}

// look is one live selection.
type look struct {
	holds.Selection
	own bool
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

// forgetTerm forgets what changed while the fallback served.
func (l *ledger) forgetTerm() {
	l.blind, l.presence, l.loads, l.loadsThen = make(map[holds.Owner]bool), make(map[string]bool), make(map[string]int), nil
}

// inner is what a backend calls a hold.
func (l *ledger) inner(at where, id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.holds[id]; e != nil && e.ids[at] != "" {
		return e.ids[at]
	}
	return id
}

// outer is what owners were told, of a backend's id. The lock is held.
func (l *ledger) outer(at where, id string) string {
	if told, ok := l.names[at][id]; ok {
		return told
	}
	return id
}

// rename gives holds that a backend returned the ids that their owners were told.
func (l *ledger) rename(at where, list ...*holds.Hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range list {
		h.ID = l.outer(at, h.ID)
	}
}

// name notes what a backend calls a hold. The lock is held.
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

// prune forgets what backends call holds that have been over for long. The lock is held.
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

// held notes what a call of this process returned, and gives it the id that its owner was told. life is 0 where the call does
// not say. What the call put an end to is known when its events are heard: answers of calls that overlap come in any order.
func (l *ledger) held(at where, h *holds.Hold, life time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	inner := h.ID
	h.ID = l.outer(at, inner)
	e := l.holds[h.ID]
	if e == nil {
		if _, ended := l.ends[h.ID]; ended || l.isOverNow(h.ID) {
			return // it ended before its answer came
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
	if e := l.holds[id]; e != nil {
		l.end(at, e, ending{e.Hold, kind, reason})
	}
}

// newest is what is live, the last made first: should two be in each other's way, because the end of one was not heard, it is
// the older that ended. The lock is held.
func (l *ledger) newest() []*entry {
	return slices.SortedFunc(maps.Values(l.holds), func(x, y *entry) int { return strings.Compare(y.ID, x.ID) })
}

// end takes a hold out of what is live. The lock is held.
func (l *ledger) end(at where, e *entry, end ending) {
	if _, told := l.told[e.ID]; told {
		l.ends[e.ID] = end
	}
	l.bury(at, e, end)
	delete(l.holds, e.ID)
}

// bury notes that a hold ended while the fallback served and is in the primary still. The lock is held.
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

// mostOver bounds what is remembered of holds that are over.
const mostOver = 4096

// overHold is a hold that ended, and what a backend called it.
type overHold struct {
	id    string
	at    where
	inner string
}

// isOverNow reports whether the event of a hold's end was heard. The lock is held.
func (l *ledger) isOverNow(id string) bool {
	_, over := l.over[id]
	return over
}

// isOverBy reports whether a hold is known to have ended in this way.
func (l *ledger) isOverBy(id string, kind holds.EventKind, reason holds.Reason) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	end, over := l.over[id]
	return over && end.kind == kind && end.reason == reason
}

// isOver notes that the event of a hold's end was heard. The lock is held.
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

// looked notes a selection of this process's client.
func (l *ledger) looked(x holds.Selection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks[x.Owner] = &look{Selection: x, own: true}
	delete(l.blind, x.Owner)
}

// renewed notes that a selection has its whole time again.
func (l *ledger) renewed(owner holds.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.looks[owner]; x != nil {
		x.ExpiresAt, x.own = time.Now().UTC().Add(holds.SelectionTTL), true
	}
}

// lookedAway notes that a client ended its selection.
func (l *ledger) lookedAway(at where, owner holds.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.looks, owner)
	if at == inFallback {
		l.blind[owner] = true
	}
}

// attended notes that the presence of a specialist changed, and the load by delta.
func (l *ledger) attended(specialistID string, delta int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delta == 0 {
		l.presence[specialistID] = true
	} else {
		l.loads[specialistID] += delta
	}
}

// hide notes whether somebody who is deactivated would be online again when activated.
func (l *ledger) hide(specialistID string, online bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if online {
		l.hidden[specialistID] = true
	} else {
		delete(l.hidden, specialistID)
	}
}

// loaded notes that all loads were set.
func (l *ledger) loaded(loads map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loadsThen, l.loads = loads, make(map[string]int)
}
