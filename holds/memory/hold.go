package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"holdfast/holds"
)

// Claim implements holds.Table.
func (b *Backend) Claim(_ context.Context, c holds.Claim) (holds.Hold, error) {
	if b.closed.Load() {
		return holds.Hold{}, holds.ErrClosed
	}
	if c.Unmeetable() {
		return holds.Hold{}, &holds.HeldError{}
	}
	own, id := b.identify(c.Owner)
	own.Lock()
	defer own.Unlock()
	s := b.shardOf(c.SpecialistID)
	now, leave := b.enterFor(s, &c)
	defer leave()

	old, err := b.replaced(&c.Replaces)
	if err != nil {
		return holds.Hold{}, err
	}
	of := s.of(c.SpecialistID)
	near := of.near(&c.Span)
	if r := repeated(near, &id, &c.Span); r != nil {
		s.extend(r, now, c.TTL)
		if old != r {
			b.replace(old, now)
		}
		return r.Hold, nil
	}
	if old != nil {
		near = slices.DeleteFunc(slices.Clone(near), func(r *record) bool { return r == old })
	}
	if until, ok := takeSeat(near, &c); !ok {
		return holds.Hold{}, &holds.HeldError{Until: until}
	}
	if of.busy.refuses(&c) {
		return holds.Hold{}, holds.ErrTaken
	}
	resources, until, ok := b.resources.choose(&c, now.mono, func(r *record) bool { return r == old })
	if !ok {
		return holds.Hold{}, &holds.HeldError{Until: until}
	}
	if c.Quota > 0 && own.others(&id, &c, old, resources.victims, now.mono) >= c.Quota {
		return holds.Hold{}, holds.ErrQuota
	}
	if c.Displace {
		s.displace(near, &c.Span, now)
		for _, r := range resources.victims {
			if !r.gone.Load() {
				b.shardOf(r.SpecialistID).displaceOne(r, now)
			}
		}
	}
	r := s.claim(of, &c, resources.ids, id.hash, now)
	own.add(r)
	b.replace(old, now)
	return r.Hold, nil
}

// enterFor locks what a claim needs, with no expired hold left on the resources that it may take. Such a hold can be in
// another shard and end at any moment. It conflicts with no claim any more, but its end must be published before the
// claim, because events are published in the order in which they took effect.
func (b *Backend) enterFor(s *shard, c *holds.Claim) (now instant, leave func()) {
	for {
		now, leave = b.lockFor(s, c)
		late := b.resources.lapsed(c.Needs, now.mono)
		if len(late) == 0 {
			return now, leave
		}
		leave()
		for _, each := range b.shardsOf(late) {
			each.enter()
			each.Unlock()
		}
	}
}

// lockFor locks the shards of a claim: the shard of its specialist and that of the hold that it replaces. If the claim
// needs resources and displaces, it locks all shards: the holds that it has to end can be in any shard.
func (b *Backend) lockFor(s *shard, c *holds.Claim) (now instant, leave func()) {
	at, replaces := b.placeIn(c.Replaces.ID)
	if len(c.Needs) == 0 && !replaces {
		return s.enter(), s.Unlock
	}
	all := []*shard{s}
	switch other := at.shard(); {
	case c.Displace && len(c.Needs) > 0:
		all = b.shardsOf(nil)
	case replaces && other < s.number:
		all = []*shard{&b.shards[other], s}
	case replaces && other > s.number:
		all = []*shard{s, &b.shards[other]}
	}
	if len(c.Needs) > 0 {
		b.resources.claims.Lock()
	}
	for _, each := range all {
		now = each.enter()
	}
	return now, func() {
		for _, each := range all {
			each.Unlock()
		}
		if len(c.Needs) > 0 {
			b.resources.claims.Unlock()
		}
	}
}

// replaced returns the hold that a claim replaces, or nil if there is none or it is pinned. The shard of the hold is
// locked. Error: ErrNotOwner.
func (b *Backend) replaced(x *holds.Replaced) (*record, error) {
	at, ok := b.placeIn(x.ID)
	if !ok {
		return nil, nil
	}
	r := b.shards[at.shard()].hold(x.ID, at)
	if r == nil {
		return nil, nil
	}
	if _, id := b.identify(x.Owner); !id.has(r) {
		return nil, holds.ErrNotOwner
	}
	if r.Pinned {
		return nil, nil
	}
	return r, nil
}

// replace ends the hold that a claim has replaced, if there is one. The shard of the hold is locked.
func (b *Backend) replace(r *record, now instant) {
	if r != nil {
		b.shards[r.at.shard()].release(r, now, holds.ReasonReleased)
	}
}

// repeated returns the hold that this client already has on the same slot; nil if there is none.
func repeated(near []*record, id *identity, span *holds.Span) *record {
	for _, r := range near {
		if id.has(r) && r.SameGroup(span) {
			return r
		}
	}
	return nil
}

// takeSeat sets c.Seat to the first seat that conflicts with no hold. If there is none and c displaces, takeSeat
// chooses the first seat that conflicts with no pinned hold. If there is no such seat either, until is when the last
// conflicting hold expires.
func takeSeat(near []*record, c *holds.Claim) (until time.Time, ok bool) {
	until, ok = firstFree(near, c, func(*record) bool { return true })
	if !ok && c.Displace {
		until, ok = firstFree(near, c, func(r *record) bool { return r.Pinned })
	}
	return until, ok
}

// firstFree is like takeSeat, but ignores the holds for which counts returns false.
func firstFree(near []*record, c *holds.Claim, counts func(*record) bool) (until time.Time, ok bool) {
	for _, c.Seat = range c.Seats {
		free := true
		for _, r := range near {
			if !counts(r) || !r.Conflicts(&c.Span) {
				continue
			}
			free = false
			if r.ExpiresAt.After(until) {
				until = r.ExpiresAt
			}
		}
		if free {
			return time.Time{}, true
		}
	}
	return until, false
}

// Extend implements holds.Table.
func (b *Backend) Extend(_ context.Context, id string, owner holds.Owner, ttl time.Duration,
	restart bool) (holds.Hold, error) {
	return b.change(id, owner, func(s *shard, r *record, now instant) error {
		if restart {
			if r.Restarts >= holds.MaxRestarts {
				return holds.ErrRestarts
			}
			r.Restarts++
			r.most = now.mono + r.life
			r.MaxExpiresAt = now.at(r.most)
		}
		s.extend(r, now, ttl)
		return nil
	})
}

// Pin implements holds.Table.
func (b *Backend) Pin(_ context.Context, id string, owner holds.Owner, atLeast time.Duration) (holds.Hold, error) {
	return b.change(id, owner, func(s *shard, r *record, now instant) error {
		r.Pinned = true
		r.pinned = max(r.pinned, now.mono+atLeast)
		s.settle(r, now)
		return nil
	})
}

// Unpin implements holds.Table.
func (b *Backend) Unpin(_ context.Context, id string, owner holds.Owner, grace time.Duration) (holds.Hold, error) {
	return b.change(id, owner, func(s *shard, r *record, now instant) error {
		r.Pinned, r.pinned = false, 0
		if r.expires <= now.mono {
			r.expires = now.mono + grace
		}
		s.settle(r, now)
		return nil
	})
}

// Transfer implements holds.Table.
func (b *Backend) Transfer(_ context.Context, id string, owner, to holds.Owner, ttl,
	maxLife time.Duration) (holds.Hold, error) {
	if b.closed.Load() {
		return holds.Hold{}, holds.ErrClosed
	}
	at, ok := b.placeIn(id)
	if !ok {
		return holds.Hold{}, holds.ErrNotFound
	}
	from, who := b.identify(owner)
	dest, whom := b.identify(to)
	defer b.lockClients(who.hash, whom.hash)()
	s := &b.shards[at.shard()]
	now := s.enter()
	defer s.Unlock()
	r := s.hold(id, at)
	switch {
	case r == nil:
		return holds.Hold{}, holds.ErrNotFound
	case !who.has(r):
		return holds.Hold{}, holds.ErrNotOwner
	}
	from.drop(r)
	r.Owner, r.hash = to, whom.hash
	dest.add(r)
	r.Pinned, r.pinned, r.Restarts = false, 0, 0
	r.life = max(maxLife, ttl)
	r.expires, r.most = now.mono+ttl, now.mono+r.life
	r.MaxExpiresAt = now.at(r.most)
	s.settle(r, now)
	b.log.Hold(holds.EventHeartbeat, "", now.wall, &r.Hold)
	return r.Hold, nil
}

// Confirm implements holds.Table.
func (b *Backend) Confirm(_ context.Context, id string, owner holds.Owner) (bool, error) {
	return b.end(id, owner, holds.EventConfirm, "")
}

// Release implements holds.Table.
func (b *Backend) Release(_ context.Context, id string, owner holds.Owner, reason holds.Reason) (bool, error) {
	return b.end(id, owner, holds.EventRelease, reason)
}

// end removes a hold for its owner, and publishes the event.
func (b *Backend) end(id string, owner holds.Owner, kind holds.EventKind, reason holds.Reason) (bool, error) {
	err := b.own(id, owner, func(s *shard, r *record, now instant) error {
		s.end(r, now, kind, reason)
		r.own.drop(r)
		s.keep(r)
		return nil
	})
	if err == holds.ErrNotFound {
		return false, nil
	}
	return err == nil, err
}

// change runs do on a live hold of this owner and returns the changed hold. Errors: those of own.
func (b *Backend) change(id string, owner holds.Owner, do func(*shard, *record, instant) error) (h holds.Hold,
	err error) {
	err = b.own(id, owner, func(s *shard, r *record, now instant) error {
		if err := do(s, r, now); err != nil {
			return err
		}
		h = r.Hold
		return nil
	})
	return h, err
}

// own runs do on a live hold of this owner, under the locks of the owner's clients table and of the hold's shard.
//
// Errors: ErrNotFound, ErrNotOwner, ErrClosed, and any error from do.
func (b *Backend) own(id string, owner holds.Owner, do func(*shard, *record, instant) error) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	at, ok := b.placeIn(id)
	if !ok {
		return holds.ErrNotFound
	}
	own, who := b.identify(owner)
	own.Lock()
	defer own.Unlock()
	s := &b.shards[at.shard()]
	now := s.enter()
	defer s.Unlock()
	r := s.hold(id, at)
	if r == nil {
		return holds.ErrNotFound
	}
	if !who.has(r) {
		return holds.ErrNotOwner
	}
	return do(s, r, now)
}

// Hold implements holds.Table.
func (b *Backend) Hold(_ context.Context, id string) (holds.Hold, error) {
	if b.closed.Load() {
		return holds.Hold{}, holds.ErrClosed
	}
	at, ok := b.placeIn(id)
	if !ok {
		return holds.Hold{}, holds.ErrNotFound
	}
	s := &b.shards[at.shard()]
	s.enter()
	defer s.Unlock()
	if r := s.hold(id, at); r != nil {
		return r.Hold, nil
	}
	return holds.Hold{}, holds.ErrNotFound
}

// List implements holds.Table. It acquires all locks before it reads, so the holds of all specialists are from one
// instant.
func (b *Backend) List(_ context.Context, specialistIDs ...string) ([]holds.Hold, error) {
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	ids := slices.Clone(specialistIDs)
	shards := b.shardsOf(ids)
	for _, s := range shards {
		s.enter()
		defer s.Unlock()
	}
	if len(ids) == 0 {
		for _, s := range shards {
			for id := range s.specialists {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	var list []holds.Hold
	var taking []holds.Hold
	now := b.clock.now().mono
	for _, id := range slices.Compact(ids) {
		taking = append(taking, b.resources.list(id, now)...)
		if of := b.shardOf(id).specialists[id]; of != nil {
			list = slices.Grow(list, len(of.holds))
			for _, r := range of.holds {
				list = append(list, r.Hold)
			}
		}
	}
	if len(taking) == 0 {
		return list, nil
	}
	list = append(list, taking...)
	slices.SortFunc(list, func(x, y holds.Hold) int {
		return cmp.Or(cmp.Compare(x.SpecialistID, y.SpecialistID), x.SlotStart.Compare(y.SlotStart), x.Seat-y.Seat,
			cmp.Compare(x.ID, y.ID))
	})
	return slices.CompactFunc(list, func(x, y holds.Hold) bool { return x.ID == y.ID }), nil
}
