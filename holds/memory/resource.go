package memory

import (
	"slices"
	"sync"
	"time"

	"holdfast/holds"
)

// resources has the holds that take resources, by resource. No resource is anybody's specialist, so no shard has it; its lock is taken
// last, after those of clients and shards, and whatever changes a hold changes it here before its shard is left.
//
// A hold that has lapsed and that its shard has not ended yet is in here still and in nobody's way.
type resources struct {
	sync.Mutex
	of map[string][]*share

	// claims is taken before any shard's lock by who is about to take a resource: between choosing it and having it nobody else does,
	// whose specialist, and so whose shard, is another one.
	claims sync.Mutex
}

// share is a hold as those see it who are interested in a resource of it and do not have its shard.
type share struct {
	holds.Hold
	r        *record
	deadline time.Duration // on the monotonic clock
}

func (rs *resources) open() { rs.of = make(map[string][]*share) }

// keep notes a hold as it is now.
func (rs *resources) keep(r *record) {
	if r.Resources == "" {
		return
	}
	rs.Lock()
	defer rs.Unlock()
	for _, id := range r.Resources.List() {
		i := slices.IndexFunc(rs.of[id], func(x *share) bool { return x.r == r })
		if i < 0 {
			i = len(rs.of[id])
			rs.of[id] = append(rs.of[id], &share{r: r})
		}
		rs.of[id][i].Hold, rs.of[id][i].deadline = r.Hold, r.deadline()
	}
}

// drop forgets a hold that is over.
func (rs *resources) drop(r *record) {
	if r.Resources == "" {
		return
	}
	rs.Lock()
	defer rs.Unlock()
	for _, id := range r.Resources.List() {
		rs.of[id] = slices.DeleteFunc(rs.of[id], func(x *share) bool { return x.r == r })
	}
}

// list is the live holds that take a resource.
func (rs *resources) list(id string, now time.Duration) (list []holds.Hold) {
	rs.Lock()
	defer rs.Unlock()
	for _, x := range rs.of[id] {
		if x.deadline > now {
			list = append(list, x.Hold)
		}
	}
	return list
}

// chosen is what a claim takes of resources, and the holds that have to be displaced for it.
type chosen struct {
	ids     []string
	victims []*record
}

// choose picks the first resource of each group that no hold is in the way of, those aside that spared says. If there is none and c
// displaces, it is the first that no pinned hold is in the way of. Failing that, until is when the last of those in the way lapses.
func (rs *resources) choose(c *holds.Claim, now time.Duration, spared func(*record) bool) (picked chosen, until time.Time, ok bool) {
	if len(c.Needs) == 0 {
		return chosen{}, time.Time{}, true
	}
	rs.Lock()
	defer rs.Unlock()
	for _, group := range c.Needs {
		id, ok := "", false
		if id, until, ok = rs.firstFree(c, group, picked.ids, now, spared, false); !ok && c.Displace {
			id, until, ok = rs.firstFree(c, group, picked.ids, now, spared, true)
		}
		if !ok {
			return chosen{}, until, false
		}
		picked.ids = append(picked.ids, id)
		picked.victims = append(picked.victims, rs.inTheWay(c, id, now, spared)...)
	}
	return picked, time.Time{}, true
}

func (rs *resources) firstFree(c *holds.Claim, group, used []string, now time.Duration, spared func(*record) bool, pinnedOnly bool) (id string, until time.Time, ok bool) {
	for _, id := range group {
		if slices.Contains(used, id) {
			continue
		}
		free := true
		for _, r := range rs.inTheWay(c, id, now, spared) {
			x := rs.of[id][slices.IndexFunc(rs.of[id], func(x *share) bool { return x.r == r })]
			if pinnedOnly && !x.Pinned {
				continue
			}
			free = false
			if x.ExpiresAt.After(until) {
				until = x.ExpiresAt
			}
		}
		if free {
			return id, time.Time{}, true
		}
	}
	return "", until, false
}

// inTheWay are the live holds whose time of a resource a claim cannot have: nobody shares one.
func (rs *resources) inTheWay(c *holds.Claim, id string, now time.Duration, spared func(*record) bool) (list []*record) {
	wanted := c.Span
	wanted.SpecialistID, wanted.Seat = id, 0
	for _, x := range rs.of[id] {
		span := x.Span
		span.SpecialistID, span.Seat = id, 0
		if x.deadline > now && !spared(x.r) && span.Conflicts(&wanted) {
			list = append(list, x.r)
		}
	}
	return list
}

func nobody(*record) bool { return false }

// endLapsed ends the holds of resources that have lapsed and that nobody has seen to, so that events come in the order of their effect.
func (b *Backend) endLapsed(needs [][]string) {
	var specialists []string
	now := b.clock.now().mono
	b.resources.Lock()
	for _, group := range needs {
		for _, id := range group {
			for _, x := range b.resources.of[id] {
				if x.deadline <= now {
					specialists = append(specialists, x.SpecialistID)
				}
			}
		}
	}
	b.resources.Unlock()
	if len(specialists) == 0 {
		return
	}
	for _, s := range b.shardsOf(specialists) {
		s.enter()
		s.Unlock()
	}
}
