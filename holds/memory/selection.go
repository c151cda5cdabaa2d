package memory

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/holds"
)

// selections records which slots clients are looking at. Nearly all selections have the same lifetime, so a ring in
// renewal order is also in deadline order. A selection that was taken over from another backend is inserted at its
// deadline.
type selections struct {
	mu          sync.Mutex
	b           *Backend
	byOwner     map[holds.Owner]*selection
	specialists map[string][]*selection // each list sorted by slot start
	ends        selection               // next is the first to expire, previous the last
}

type selection struct {
	holds.Selection
	deadline       time.Duration // on the monotonic clock
	previous, next *selection    // in the ring
}

func (ss *selections) open(b *Backend) {
	ss.b = b
	ss.byOwner = make(map[holds.Owner]*selection)
	ss.specialists = make(map[string][]*selection)
	ss.ends.previous, ss.ends.next = &ss.ends, &ss.ends
}

// Select implements holds.Selections.
func (b *Backend) Select(_ context.Context, owner holds.Owner, span holds.Span) (holds.Selection, error) {
	if b.closed.Load() {
		return holds.Selection{}, holds.ErrClosed
	}
	ss := &b.selections
	now := ss.enter()
	defer ss.mu.Unlock()
	return ss.look(owner, span, now).Selection, nil
}

// look makes a slot the owner's only selection, for the full lifetime.
func (ss *selections) look(owner holds.Owner, span holds.Span, now instant) *selection {
	s := ss.byOwner[owner]
	if s != nil && s.SameGroup(&span) {
		ss.renew(s, now)
		return s
	}
	if s != nil {
		ss.end(s, now, holds.ReasonReleased)
	}
	s = &selection{Selection: holds.Selection{Span: span, Owner: owner}}
	ss.add(s)
	ss.renew(s, now)
	ss.publish(s, now, holds.EventSelect, "")
	return s
}

// Deselect implements holds.Selections.
func (b *Backend) Deselect(_ context.Context, owner holds.Owner) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	ss := &b.selections
	now := ss.enter()
	defer ss.mu.Unlock()
	s := ss.byOwner[owner]
	if s == nil {
		return false, nil
	}
	ss.end(s, now, holds.ReasonReleased)
	return true, nil
}

// Renew implements holds.Selections.
func (b *Backend) Renew(_ context.Context, owner holds.Owner) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	ss := &b.selections
	now := ss.enter()
	defer ss.mu.Unlock()
	s := ss.byOwner[owner]
	if s == nil {
		return false, nil
	}
	ss.renew(s, now)
	return true, nil
}

// Selected implements holds.Selections.
func (b *Backend) Selected(_ context.Context, from, to time.Time, specialistIDs ...string) ([]holds.Selection, error) {
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	ids := slices.Clone(specialistIDs)
	ss := &b.selections
	ss.enter()
	defer ss.mu.Unlock()
	if len(ids) == 0 {
		ids = slices.AppendSeq(ids, maps.Keys(ss.specialists))
	}
	slices.Sort(ids)
	var list []holds.Selection
	for _, id := range slices.Compact(ids) {
		of := ss.specialists[id]
		list = slices.Grow(list, len(of))
		for _, s := range of {
			if s.SlotStart.Before(to) && from.Before(s.SlotEnd) {
				list = append(list, s.Selection)
			}
		}
	}
	return list, nil
}

func (ss *selections) count() int {
	ss.enter()
	defer ss.mu.Unlock()
	return len(ss.byOwner)
}

// sweep ends the expired selections and returns the next deadline.
func (ss *selections) sweep() time.Duration {
	ss.enter()
	defer ss.mu.Unlock()
	if ss.ends.next == &ss.ends {
		return never
	}
	return ss.ends.next.deadline
}

// enter locks the selections and ends those that have expired.
func (ss *selections) enter() instant {
	ss.mu.Lock()
	now := ss.b.clock.now()
	for s := ss.ends.next; s != &ss.ends && s.deadline <= now.mono; s = ss.ends.next {
		ss.end(s, now, holds.ReasonExpired)
	}
	return now
}

func (ss *selections) add(s *selection) {
	ss.byOwner[s.Owner] = s
	of := ss.specialists[s.SpecialistID]
	ss.specialists[s.SpecialistID] = slices.Insert(of, search(of, s), s)
	s.previous, s.next = s, s
}

// search returns the index of the first selection whose slot does not start before that of s.
func search(of []*selection, s *selection) int {
	i, _ := slices.BinarySearchFunc(of, s, func(x, y *selection) int { return x.SlotStart.Compare(y.SlotStart) })
	return i
}

// renew resets s to its full lifetime and moves it to the end of the ring.
func (ss *selections) renew(s *selection, now instant) {
	ss.lapseAt(s, now.mono+holds.SelectionTTL, now)
}

// lapseAt sets the deadline of s and moves it to its position in the ring, which is nearly always the end.
func (ss *selections) lapseAt(s *selection, deadline time.Duration, now instant) {
	s.deadline, s.ExpiresAt = deadline, now.at(deadline)
	s.previous.next, s.next.previous = s.next, s.previous
	after := ss.ends.previous
	for after != &ss.ends && after.deadline > deadline {
		after = after.previous
	}
	s.previous, s.next = after, after.next
	s.previous.next, s.next.previous = s, s
	ss.b.wake.notLater(s.deadline)
}

func (ss *selections) end(s *selection, now instant, reason holds.Reason) {
	s.previous.next, s.next.previous = s.next, s.previous
	delete(ss.byOwner, s.Owner)
	of := ss.specialists[s.SpecialistID]
	i := search(of, s)
	i += slices.Index(of[i:], s)
	if of = slices.Delete(of, i, i+1); len(of) == 0 {
		delete(ss.specialists, s.SpecialistID)
	} else {
		ss.specialists[s.SpecialistID] = of
	}
	ss.publish(s, now, holds.EventDeselect, reason)
}

func (ss *selections) publish(s *selection, now instant, kind holds.EventKind, reason holds.Reason) {
	ss.b.log.Publish(&holds.Event{Kind: kind, At: now.wall, Span: s.Span, Owner: s.Owner, Reason: reason})
}
