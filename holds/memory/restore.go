package memory

import (
	"context"
	"slices"
	"time"

	"holdfast/holds"
)

var _ holds.Restorer = (*Backend)(nil)

// Restore implements holds.Restorer. An id names the place of its hold in this backend, so one from elsewhere is not kept.
func (b *Backend) Restore(_ context.Context, x holds.Remains) (holds.Hold, error) {
	if b.closed.Load() {
		return holds.Hold{}, holds.ErrClosed
	}
	own, id := b.identify(x.Owner)
	own.Lock()
	defer own.Unlock()
	s := b.shardOf(x.SpecialistID)
	now := s.enter()
	defer s.Unlock()

	if at, ok := b.placeIn(x.ID); ok && at.shard() == s.number {
		if r := s.hold(x.ID, at); r != nil && id.has(r) {
			s.restore(r, &x, now)
			s.b.log.Hold(holds.EventHeartbeat, "", now.wall, &r.Hold)
			return r.Hold, nil
		}
	}
	of := s.of(x.SpecialistID)
	near := of.near(&x.Span)
	claim := holds.Claim{Span: x.Span, Owner: x.Owner, Seats: []int{x.Seat}, TTL: max(1, x.LapsesAt.Sub(now.wall)), MaxLife: x.Life}
	mine := func(r *record) bool { return id.has(r) && r.SameGroup(&x.Span) }
	if until, ok := firstFree(near, &claim, func(r *record) bool { return !mine(r) }); !ok {
		return holds.Hold{}, &holds.HeldError{Until: until}
	}
	for _, r := range slices.Clone(near) {
		if mine(r) {
			s.end(r, now, holds.EventRelease, holds.ReasonReleased)
			own.drop(r)
		}
	}
	r := s.claim(of, &claim, id.hash, now)
	own.add(r)
	s.restore(r, &x, now)
	return r.Hold, nil
}

// restore sets a hold to what is left of one. Its instants for people are those that people were told.
func (s *shard) restore(r *record, x *holds.Remains, now instant) {
	left := func(t time.Time) time.Duration { return now.mono + max(0, t.Sub(now.wall)) }
	r.life, r.Restarts, r.Pinned, r.pinned = x.Life, x.Restarts, x.Pinned, 0
	r.expires, r.most = left(x.LapsesAt), left(x.MaxExpiresAt)
	if x.Pinned {
		r.pinned = left(x.ExpiresAt)
	}
	s.settle(r, now)
	r.ExpiresAt, r.MaxExpiresAt = x.ExpiresAt, x.MaxExpiresAt
}
