package memory

import (
	"context"
	"slices"
	"time"

	"holdfast/holds"
)

var _ holds.Restorer = (*Backend)(nil)

// Restore implements holds.Restorer. An id encodes the position of its hold in this backend, so a hold from another
// backend gets a new id.
func (b *Backend) Restore(_ context.Context, x holds.Remains) (holds.Hold, error) {
	if b.closed.Load() {
		return holds.Hold{}, holds.ErrClosed
	}
	var needs [][]string
	for _, resource := range x.Resources.List() {
		needs = append(needs, []string{resource})
	}
	own, id := b.identify(x.Owner)
	own.Lock()
	defer own.Unlock()
	s := b.shardOf(x.SpecialistID)
	now, leave := b.enterFor(s, &holds.Claim{Needs: needs})
	defer leave()

	if at, ok := b.placeIn(x.ID); ok && at.shard() == s.number {
		if r := s.hold(x.ID, at); r != nil && id.has(r) {
			s.restore(r, &x, now)
			s.b.log.Hold(holds.EventHeartbeat, "", now.wall, &r.Hold)
			return r.Hold, nil
		}
	}
	of := s.of(x.SpecialistID)
	near := of.near(&x.Span)
	claim := holds.Claim{Span: x.Span, Owner: x.Owner, Seats: []int{x.Seat}, Needs: needs,
		TTL: max(1, x.LapsesAt.Sub(now.wall)), MaxLife: x.Life}
	mine := func(r *record) bool { return id.has(r) && r.SameGroup(&x.Span) }
	if until, ok := firstFree(near, &claim, func(r *record) bool { return !mine(r) }); !ok {
		return holds.Hold{}, &holds.HeldError{Until: until}
	}
	resources, until, ok := b.resources.choose(&claim, now.mono, mine)
	if !ok {
		return holds.Hold{}, &holds.HeldError{Until: until}
	}
	for _, r := range slices.Clone(near) {
		if mine(r) {
			s.end(r, now, holds.EventRelease, holds.ReasonReleased)
			own.drop(r)
		}
	}
	r := s.claim(of, &claim, resources.ids, id.hash, now)
	own.add(r)
	s.restore(r, &x, now)
	return r.Hold, nil
}

// restore sets a hold's remaining time to that of another hold. Its ExpiresAt and MaxExpiresAt remain the values that
// clients have received.
func (s *shard) restore(r *record, x *holds.Remains, now instant) {
	left := func(t time.Time) time.Duration { return now.mono + max(0, t.Sub(now.wall)) }
	r.life, r.Restarts, r.Pinned, r.pinned = x.Life, x.Restarts, x.Pinned, 0
	r.expires, r.most = left(x.LapsesAt), left(x.MaxExpiresAt)
	if x.Pinned {
		r.pinned = left(x.ExpiresAt)
	}
	s.settle(r, now)
	r.ExpiresAt, r.MaxExpiresAt = x.ExpiresAt, x.MaxExpiresAt
	s.b.resources.keep(r)
}

// RestoreSelection implements holds.Restorer.
func (b *Backend) RestoreSelection(_ context.Context, x holds.Selection) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	ss := &b.selections
	now := ss.enter()
	defer ss.mu.Unlock()
	s := ss.look(x.Owner, x.Span, now)
	ss.lapseAt(s, min(s.deadline, now.mono+max(0, x.ExpiresAt.Sub(now.wall))), now)
	return nil
}

// RestorePresent implements holds.Restorer.
func (b *Backend) RestorePresent(_ context.Context, x holds.Present) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	p := &b.presence
	now := b.clock.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of(x.SpecialistID)
	p.hide(one)
	one.Deactivated, one.Max = x.Deactivated, x.Max
	one.online = x.Online || one.online && x.Deactivated
	if x.HeartbeatAt.After(one.HeartbeatAt) {
		one.HeartbeatAt, one.beat = x.HeartbeatAt.UTC(), now.mono-max(0, now.wall.Sub(x.HeartbeatAt))
	}
	if one.online && !one.Deactivated {
		one.Online = true
		p.come(one)
	}
	return nil
}
