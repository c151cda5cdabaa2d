package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/holds"
)

// selections is who is looking at what. All selections live equally long, so a ring in the order of their last renewal
// is in the order of their lapses too.
type selections struct {
	mu          sync.Mutex
	b           *Backend
	byClient    map[holds.ClientID]*selection
	specialists map[string]map[*selection]bool
	ends        selection // its next lapses first, its previous last
}

type selection struct {
	holds.Selection
	deadline       time.Duration // on the monotonic clock
	previous, next *selection    // on the ring
}

func (ss *selections) open(b *Backend) {
	ss.b = b
	ss.byClient = make(map[holds.ClientID]*selection)
	ss.specialists = make(map[string]map[*selection]bool)
	ss.ends.previous, ss.ends.next = &ss.ends, &ss.ends
}

// Select implements holds.Selections.
func (b *Backend) Select(_ context.Context, client holds.ClientID, span holds.Span) (holds.Selection, error) {
	if b.closed.Load() {
		return holds.Selection{}, holds.ErrClosed
	}
	ss := &b.selections
	now := ss.enter()
	defer ss.mu.Unlock()
	s := ss.byClient[client]
	if s != nil && s.SameGroup(&span) {
		ss.renew(s, now)
		return s.Selection, nil
	}
	if s != nil {
		ss.end(s, now, holds.ReasonReleased)
	}
	s = &selection{Selection: holds.Selection{Span: span, Client: client}}
	ss.add(s)
	ss.renew(s, now)
	ss.publish(s, now, holds.EventSelect, "")
	return s.Selection, nil
}

// Deselect implements holds.Selections.
func (b *Backend) Deselect(_ context.Context, client holds.ClientID) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	ss := &b.selections
	now := ss.enter()
	defer ss.mu.Unlock()
	s := ss.byClient[client]
	if s == nil {
		return false, nil
	}
	ss.end(s, now, holds.ReasonReleased)
	return true, nil
}

// Renew implements holds.Selections.
func (b *Backend) Renew(_ context.Context, client holds.ClientID) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	ss := &b.selections
	now := ss.enter()
	defer ss.mu.Unlock()
	s := ss.byClient[client]
	if s == nil {
		return false, nil
	}
	ss.renew(s, now)
	return true, nil
}

// Selected implements holds.Selections. The list is by specialist, then slot start.
func (b *Backend) Selected(_ context.Context, from, to time.Time, specialistIDs ...string) ([]holds.Selection, error) {
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	list := b.selections.between(from, to, specialistIDs)
	slices.SortFunc(list, func(x, y holds.Selection) int {
		return cmp.Or(strings.Compare(x.SpecialistID, y.SpecialistID), x.SlotStart.Compare(y.SlotStart))
	})
	return list, nil
}

func (ss *selections) between(from, to time.Time, specialistIDs []string) (list []holds.Selection) {
	ss.enter()
	defer ss.mu.Unlock()
	collect := func(of map[*selection]bool) {
		for s := range of {
			if s.SlotStart.Before(to) && from.Before(s.SlotEnd) {
				list = append(list, s.Selection)
			}
		}
	}
	if len(specialistIDs) == 0 {
		for _, of := range ss.specialists {
			collect(of)
		}
		return list
	}
	for i, id := range specialistIDs {
		if !slices.Contains(specialistIDs[:i], id) {
			collect(ss.specialists[id])
		}
	}
	return list
}

func (ss *selections) count() int {
	ss.enter()
	defer ss.mu.Unlock()
	return len(ss.byClient)
}

// sweep ends what has lapsed and returns the next deadline.
func (ss *selections) sweep() time.Duration {
	ss.enter()
	defer ss.mu.Unlock()
	if ss.ends.next == &ss.ends {
		return never
	}
	return ss.ends.next.deadline
}

// enter locks the selections and ends those that have lapsed.
func (ss *selections) enter() instant {
	ss.mu.Lock()
	now := ss.b.clock.now()
	for s := ss.ends.next; s != &ss.ends && s.deadline <= now.mono; s = ss.ends.next {
		ss.end(s, now, holds.ReasonExpired)
	}
	return now
}

func (ss *selections) add(s *selection) {
	ss.byClient[s.Client] = s
	of := ss.specialists[s.SpecialistID]
	if of == nil {
		of = make(map[*selection]bool)
		ss.specialists[s.SpecialistID] = of
	}
	of[s] = true
	s.previous, s.next = s, s
}

// renew gives s its whole time again and moves it to the end of the ring.
func (ss *selections) renew(s *selection, now instant) {
	s.deadline = now.mono + holds.SelectionTTL
	s.ExpiresAt = now.at(s.deadline)
	s.previous.next, s.next.previous = s.next, s.previous
	s.previous, s.next = ss.ends.previous, &ss.ends
	s.previous.next, s.next.previous = s, s
	ss.b.alarm.notLater(s.deadline)
}

func (ss *selections) end(s *selection, now instant, reason holds.Reason) {
	s.previous.next, s.next.previous = s.next, s.previous
	delete(ss.byClient, s.Client)
	of := ss.specialists[s.SpecialistID]
	if delete(of, s); len(of) == 0 {
		delete(ss.specialists, s.SpecialistID)
	}
	ss.publish(s, now, holds.EventDeselect, reason)
}

func (ss *selections) publish(s *selection, now instant, kind holds.EventKind, reason holds.Reason) {
	ss.b.log.publish(&holds.Event{Kind: kind, At: now.wall, Span: s.Span, Client: s.Client, Reason: reason})
}
