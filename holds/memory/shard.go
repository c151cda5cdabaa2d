package memory

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
)

// shard contains the holds of some specialists, indexed by place, by specialist and by deadline.
type shard struct {
	sync.Mutex
	b           *Backend
	number      int
	table       []*record // by the number in a hold's id; nil where free
	vacant      []int     // free numbers in the table; the last one is used next
	specialists map[string]*specialist
	deadlines   deadlines

	// These holds ended without their client's lock and wait for the sweeper.
	gone     []*record    // still in their clients' chains
	doubtful []holds.Hold // pinned when they expired

	spent  *record // free records for the next claims, linked through next
	spents int
}

// record is one hold in the table. It changes only under both its client's lock and its shard's lock.
type record struct {
	holds.Hold
	life    time.Duration // MaxLife of its claim, for a restart
	expires time.Duration // when it would expire without a pin, on the monotonic clock
	most    time.Duration // the monotonic time of MaxExpiresAt
	pinned  time.Duration // the end of its pin on the monotonic clock; 0 without one

	at    place // in the table; part of its id
	place int   // in its shard's deadlines
	of    *specialist
	start int64 // of its slot, in Unix seconds

	hash           uint64   // of its client
	own            *clients // its client's lock and chains
	previous, next *record  // in its client's chain
	gone           atomic.Bool
}

// deadline returns the instant from which the hold no longer exists.
func (r *record) deadline() time.Duration { return max(r.expires, r.pinned) }

func (s *shard) open(b *Backend, number int) {
	s.b, s.number = b, number
	s.specialists = make(map[string]*specialist)
}

func (b *Backend) shardOf(specialistID string) *shard {
	return &b.shards[maphash.String(b.seed, specialistID)&uint64(len(b.shards)-1)]
}

// shardsOf returns the shards of these specialists (all shards if none are given), each once and in the order in which
// to lock them.
func (b *Backend) shardsOf(specialistIDs []string) (list []*shard) {
	wanted := make([]bool, len(b.shards))
	for _, id := range specialistIDs {
		wanted[b.shardOf(id).number] = true
	}
	for i := range b.shards {
		if wanted[i] || len(specialistIDs) == 0 {
			list = append(list, &b.shards[i])
		}
	}
	return list
}

// enter locks the shard and ends the expired holds in it. So the caller sees only live holds, and events are
// published in the order in which they took effect.
func (s *shard) enter() instant {
	s.Lock()
	now := s.b.clock.now()
	for s.deadlines.next() <= now.mono {
		s.lapse(now)
	}
	return now
}

// lapse ends up to 64 holds whose deadline has passed, in deadline order.
func (s *shard) lapse(now instant) {
	var some [64]*record
	ended := some[:0]
	for s.deadlines.next() <= now.mono && len(ended) < len(some) {
		r := s.deadlines[0].r
		s.remove(r)
		s.leave(r)
		if r.Pinned && s.b.booked != nil {
			s.doubtful = append(s.doubtful, r.Hold)
			s.b.resources.drop(r)
		} else {
			ended = append(ended, r)
		}
	}
	s.b.log.Lapsed(now.wall, func(yield func(*holds.Hold) bool) {
		for _, r := range ended {
			if !yield(&r.Hold) {
				return
			}
		}
	})
	for _, r := range ended {
		s.b.resources.drop(r)
	}
}

// claim adds a new hold to the table. No other hold may conflict with it.
func (s *shard) claim(of *specialist, c *holds.Claim, resources []string, hash uint64, now instant) *record {
	r := s.take()
	r.ID, r.Span, r.Resources, r.Owner, r.hash = s.b.ids.next(now.wall, r.at), c.Span, holds.IDsOf(resources), c.Owner,
		hash
	r.life = max(c.MaxLife, c.TTL)
	r.expires, r.most = now.mono+c.TTL, now.mono+r.life
	r.ExpiresAt, r.MaxExpiresAt = now.at(r.expires), now.at(r.most)
	of.insert(r)
	s.deadlines.push(r)
	s.wakeBy(r)
	s.b.resources.keep(r)
	s.b.log.Hold(holds.EventHold, "", now.wall, &r.Hold)
	return r
}

// extend sets a hold to expire ttl from now, within its maximum and never earlier than before.
func (s *shard) extend(r *record, now instant, ttl time.Duration) {
	r.expires = max(r.expires, min(now.mono+ttl, r.most))
	s.settle(r, now)
	s.b.log.Hold(holds.EventHeartbeat, "", now.wall, &r.Hold)
}

// settle updates the heap, the wake-up and the resources after r's deadline has changed.
func (s *shard) settle(r *record, now instant) {
	r.ExpiresAt = now.at(r.deadline())
	s.deadlines.changed(r)
	s.wakeBy(r)
	s.b.resources.keep(r)
}

// wakeBy wakes the sweeper when r expires, if r is the first hold of the shard to expire. Otherwise the wake-up is
// already set for an earlier hold.
func (s *shard) wakeBy(r *record) {
	if r.place == 0 {
		s.b.wake.notLater(r.deadline())
	}
}

// displace ends every hold that conflicts with a span.
func (s *shard) displace(near []*record, span *holds.Span, now instant) {
	inTheWay := slices.Clone(near) // end changes the array under near
	for _, r := range inTheWay {
		if r.Conflicts(span) {
			s.displaceOne(r, now)
		}
	}
}

func (s *shard) displaceOne(r *record, now instant) { s.release(r, now, holds.ReasonDisplaced) }

// release ends a hold without its client's lock.
func (s *shard) release(r *record, now instant, reason holds.Reason) {
	s.end(r, now, holds.EventRelease, reason)
	s.leave(r)
	s.b.wake.notLater(now.mono)
}

// end removes a hold from the table and publishes the event.
func (s *shard) end(r *record, now instant, kind holds.EventKind, reason holds.Reason) {
	s.remove(r)
	s.b.log.Hold(kind, reason, now.wall, &r.Hold)
	s.b.resources.drop(r) // after the event, so that the next hold of these resources is published later
}

func (s *shard) remove(r *record) {
	s.table[r.at.number()] = nil
	s.vacant = append(s.vacant, r.at.number())
	r.of.remove(r)
	s.deadlines.remove(r)
}

// leave marks a hold that ended without its client's lock, for the sweeper to clean up.
func (s *shard) leave(r *record) {
	r.gone.Store(true)
	s.gone = append(s.gone, r)
}

// hold returns the hold with this id at its position, or nil if the hold has ended.
func (s *shard) hold(id string, at place) *record {
	if n := at.number(); n < len(s.table) && s.table[n] != nil && s.table[n].ID == id {
		return s.table[n]
	}
	return nil
}

// take returns an empty record with a position in the table.
func (s *shard) take() *record {
	if len(s.vacant) == 0 {
		s.vacant = append(s.vacant, len(s.table))
		s.table = append(s.table, nil)
	}
	n := s.vacant[len(s.vacant)-1]
	s.vacant = s.vacant[:len(s.vacant)-1]
	r := s.spent
	if r == nil {
		r = new(record)
	} else {
		s.spent, r.next = r.next, nil
		s.spents--
	}
	r.at = placeAt(s.number, n)
	s.table[n] = r
	return r
}

// mostSpents is the maximum number of free records that a shard retains after a burst of claims.
const mostSpents = 64

// keep stores an unreferenced record for the next claim.
func (s *shard) keep(r *record) {
	if s.spents < mostSpents {
		*r = record{next: s.spent}
		s.spent = r
		s.spents++
	}
}
