package memory

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
)

// shard has the holds of some specialists: in a table by place, by specialist, and by deadline.
type shard struct {
	sync.Mutex
	b           *Backend
	number      int
	table       []*record // by the number in a hold's id; nil where vacant
	vacant      []int     // numbers in the table to be used next, the last one first
	specialists map[string]*specialist
	deadlines   deadlines

	// What ended here without its client's lock, until the sweeper sees to it.
	gone     []*record    // still in their clients' chains
	doubtful []holds.Hold // pinned when they lapsed

	spent  *record // for the next claims, chained by next
	spents int
}

// record is one hold in the table. It changes under its client's lock and its shard's together.
type record struct {
	holds.Hold
	life    time.Duration // MaxLife of its claim, for a restart
	expires time.Duration // when it lapses by itself, on the monotonic clock
	most    time.Duration // MaxExpiresAt on the monotonic clock
	pinned  time.Duration // until when a pin keeps it; 0 without one

	at    place // in the table; a part of its id
	place int   // in its shard's deadlines
	of    *specialist
	start int64 // of its slot, in Unix seconds

	hash           uint64   // of its client
	own            *clients // its client's lock and chains
	previous, next *record  // in its chain
	gone           atomic.Bool
}

// deadline is the instant from which the hold does not exist.
func (r *record) deadline() time.Duration { return max(r.expires, r.pinned) }

func (s *shard) open(b *Backend, number int) {
	s.b, s.number = b, number
	s.specialists = make(map[string]*specialist)
}

func (b *Backend) shardOf(specialistID string) *shard {
	return &b.shards[maphash.String(b.seed, specialistID)&uint64(len(b.shards)-1)]
}

// shardsOf returns the shards of these specialists, of all if none are given, each once and in the order to lock them.
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

// enter locks the shard and ends whatever has lapsed in it, so that whoever is inside meets live holds only and events
// are published in the order in which they took effect.
func (s *shard) enter() instant {
	s.Lock()
	now := s.b.clock.now()
	for s.deadlines.next() <= now.mono {
		s.lapse(now)
	}
	return now
}

// lapse ends the holds whose deadline has come, in the order of the deadlines: some of them, if they are many.
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

// claim puts a new hold into the table. Nothing may be in its way.
func (s *shard) claim(of *specialist, c *holds.Claim, resources []string, hash uint64, now instant) *record {
	r := s.take()
	r.ID, r.Span, r.Resources, r.Owner, r.hash = s.b.ids.next(now.wall, r.at), c.Span, holds.IDsOf(resources), c.Owner, hash
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

// extend lets a hold live for ttl from now within its maximum, and never shorter than it would have.
func (s *shard) extend(r *record, now instant, ttl time.Duration) {
	r.expires = max(r.expires, min(now.mono+ttl, r.most))
	s.settle(r, now)
	s.b.log.Hold(holds.EventHeartbeat, "", now.wall, &r.Hold)
}

// settle follows a change of r's deadline.
func (s *shard) settle(r *record, now instant) {
	r.ExpiresAt = now.at(r.deadline())
	s.deadlines.changed(r)
	s.wakeBy(r)
	s.b.resources.keep(r)
}

// wakeBy sees that the sweeper is awake when r lapses; what lapses before r has seen to it already.
func (s *shard) wakeBy(r *record) {
	if r.place == 0 {
		s.b.wake.notLater(r.deadline())
	}
}

// displace ends every hold in the way of a span.
func (s *shard) displace(near []*record, span *holds.Span, now instant) {
	inTheWay := slices.Clone(near) // near is a part of what end changes
	for _, r := range inTheWay {
		if r.Conflicts(span) {
			s.displaceOne(r, now)
		}
	}
}

func (s *shard) displaceOne(r *record, now instant) {
	s.end(r, now, holds.EventRelease, holds.ReasonDisplaced)
	s.leave(r)
	s.b.wake.notLater(now.mono)
}

// end takes a hold out of the table and says so.
func (s *shard) end(r *record, now instant, kind holds.EventKind, reason holds.Reason) {
	s.remove(r)
	s.b.log.Hold(kind, reason, now.wall, &r.Hold)
	s.b.resources.drop(r) // not before: who takes them next has to be told of later
}

func (s *shard) remove(r *record) {
	s.table[r.at.number()] = nil
	s.vacant = append(s.vacant, r.at.number())
	r.of.remove(r)
	s.deadlines.remove(r)
}

// leave leaves a hold that ended without its client's lock to the sweeper.
func (s *shard) leave(r *record) {
	r.gone.Store(true)
	s.gone = append(s.gone, r)
}

// hold returns the hold with this id, which names its place; nil if it is over.
func (s *shard) hold(id string, at place) *record {
	if n := at.number(); n < len(s.table) && s.table[n] != nil && s.table[n].ID == id {
		return s.table[n]
	}
	return nil
}

// take returns a record with a place in the table and nothing else.
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

// mostSpents bounds what a shard keeps after a rush.
const mostSpents = 64

// keep keeps a record that nothing points to any more for the next claim.
func (s *shard) keep(r *record) {
	if s.spents < mostSpents {
		*r = record{next: s.spent}
		s.spent = r
		s.spents++
	}
}
