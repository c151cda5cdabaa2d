package memory

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
)

// record is one hold in the table. It changes under its client's lock and its shard's together.
type record struct {
	holds.Hold
	life    time.Duration // MaxLife of its claim, for a restart
	expires time.Duration // when it lapses by itself, on the monotonic clock
	most    time.Duration // MaxExpiresAt on the monotonic clock
	pinned  time.Duration // until when a pin keeps it; 0 without one
	at      place         // in the table; a part of its id
	turn    int           // in its shard's deadlines
	start   int64         // of its slot, in Unix seconds, rounded down
	of      *specialist

	gone         atomic.Bool // out of the table, though still on its client's list
	own          *clients    // its client's lock and list
	newer, older *record     // on that list
}

// deadline is the instant from which the hold does not exist.
func (r *record) deadline() time.Duration { return max(r.expires, r.pinned) }

// live reports whether the hold counts at this instant; its client's lock is enough to ask.
func (r *record) live(now instant) bool { return !r.gone.Load() && r.deadline() > now.mono }

// shard has the holds of some specialists.
type shard struct {
	sync.Mutex
	b           *Backend
	number      int
	table       []*record // by the number in a hold's id
	vacant      []int     // numbers in the table that are free
	specialists map[string]*specialist
	deadlines   deadlines
	gone        []*record // ended here, for the sweeper to take off their clients' lists
	doubtful    []holds.Hold
	free        *record // spent records, chained by older
	spare       int     // how many of them
}

// specialist has the holds of one specialist by slot start, then seat.
//
// Slots of different holds are disjoint (they would conflict) unless they are seats of one session, so few lie near any
// span; reach says how far to look for them.
type specialist struct {
	holds []*record
	reach int64 // no hold seen here goes further than this many seconds from its slot's start, either way
}

func (s *shard) open(b *Backend, number int) {
	s.b, s.number = b, number
	s.specialists = make(map[string]*specialist)
}

func (b *Backend) shardOf(specialistID string) *shard {
	return &b.shards[maphash.String(b.seed, specialistID)&uint64(len(b.shards)-1)]
}

// enter locks the shard and ends whatever has lapsed in it.
func (s *shard) enter() instant {
	s.Lock()
	now := s.b.clock.now()
	s.lapse(now)
	return now
}

// lapse ends all holds whose deadline has come, in the order of the deadlines.
func (s *shard) lapse(now instant) {
	for r := s.deadlines.first(); r != nil && r.deadline() <= now.mono; r = s.deadlines.first() {
		if r.Pinned && s.b.booked != nil {
			s.remove(r)
			s.doubtful = append(s.doubtful, r.Hold)
		} else {
			s.end(r, now, holds.EventRelease, holds.ReasonExpired)
		}
		s.leave(r)
	}
}

// claim puts a new hold into the table.
func (s *shard) claim(of *specialist, c *holds.Claim, now instant) *record {
	r := s.take()
	r.Hold = holds.Hold{ID: s.b.ids.next(now.wall, r.at), Span: c.Span, Client: c.Client}
	r.life = max(c.MaxLife, c.TTL)
	r.expires = now.mono + c.TTL
	r.most = now.mono + r.life
	r.ExpiresAt, r.MaxExpiresAt = now.at(r.expires), now.at(r.most)

	of.insert(r)
	s.deadlines.push(r)
	s.alarm(r)
	s.b.log.hold(holds.EventHold, "", now, &r.Hold)
	return r
}

// extend lets a hold live for ttl from now within its maximum, and never shorter than it would have.
func (s *shard) extend(r *record, now instant, ttl time.Duration) {
	r.expires = max(r.expires, min(now.mono+ttl, r.most))
	s.settle(r, now)
	s.b.log.hold(holds.EventHeartbeat, "", now, &r.Hold)
}

// settle follows a change of when r lapses.
func (s *shard) settle(r *record, now instant) {
	r.ExpiresAt = now.at(r.deadline())
	s.deadlines.moved(r)
	s.alarm(r)
}

// alarm sees that the sweeper is awake when r lapses.
func (s *shard) alarm(r *record) {
	if r.turn == 0 {
		s.b.alarm.notLater(r.deadline())
	}
}

// displace ends every unpinned hold in the way of a span.
func (s *shard) displace(near []*record, span *holds.Span, now instant) {
	var inTheWay []*record
	for _, r := range near {
		if r.Conflicts(span) {
			inTheWay = append(inTheWay, r)
		}
	}
	for _, r := range inTheWay {
		s.end(r, now, holds.EventRelease, holds.ReasonDisplaced)
		s.leave(r)
	}
	if len(inTheWay) > 0 {
		s.b.alarm.notLater(now.mono)
	}
}

// end takes a hold out of the table and says so.
func (s *shard) end(r *record, now instant, kind holds.EventKind, reason holds.Reason) {
	s.remove(r)
	s.b.log.hold(kind, reason, now, &r.Hold)
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

func (s *shard) of(specialistID string) *specialist {
	of := s.specialists[specialistID]
	if of == nil {
		of = &specialist{}
		s.specialists[specialistID] = of
	}
	return of
}

// near returns the holds that may conflict with a span, and perhaps some that do not.
func (of *specialist) near(span *holds.Span) []*record {
	earliest, latest := bounds(span)
	from := of.search(earliest - of.reach)
	to := from
	for to < len(of.holds) && of.holds[to].start <= latest+of.reach {
		to++
	}
	return of.holds[from:to]
}

// bounds is the stretch of everything that a span touches, in Unix seconds.
func bounds(span *holds.Span) (earliest, latest int64) {
	return min(span.SlotStart.Unix(), span.BusyStart.Unix()), max(span.SlotEnd.Unix(), span.BusyEnd.Unix()) + 1
}

// search returns the place of the first hold whose slot does not start before a second.
func (of *specialist) search(second int64) int {
	from, to := 0, len(of.holds)
	for from < to {
		if middle := (from + to) / 2; of.holds[middle].start < second {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}

func (of *specialist) insert(r *record) {
	r.of, r.start = of, r.SlotStart.Unix()
	earliest, latest := bounds(&r.Span)
	of.reach = max(of.reach, r.start-earliest, latest-r.start)
	of.holds = slices.Insert(of.holds, of.search(r.start), r)
}

func (of *specialist) remove(r *record) {
	for i := of.search(r.start); ; i++ {
		if of.holds[i] == r {
			of.holds = slices.Delete(of.holds, i, i+1)
			return
		}
	}
}

// mostSpare bounds what a shard keeps for reuse after a rush.
const mostSpare = 64

// take returns a record with nothing in it but its place in the table; nil if the table is full.
func (s *shard) take() *record {
	if len(s.vacant) == 0 {
		s.table = append(s.table, nil)
		s.vacant = append(s.vacant, len(s.table)-1)
	}
	n := s.vacant[len(s.vacant)-1]
	s.vacant = s.vacant[:len(s.vacant)-1]
	r := s.free
	if r == nil {
		r = &record{}
	} else {
		s.free, r.older = r.older, nil
		s.spare--
	}
	r.at = place(n<<8 | s.number)
	s.table[n] = r
	return r
}

// hold finds a hold by its id.
func (s *shard) hold(id string, at place) *record {
	if n := at.number(); n < len(s.table) && s.table[n] != nil && s.table[n].ID == id {
		return s.table[n]
	}
	return nil
}

// put keeps a record that is neither in the table nor on a list for the next claim.
func (s *shard) put(r *record) {
	if s.spare == mostSpare {
		return
	}
	*r = record{older: s.free}
	s.free = r
	s.spare++
}
