package memory

import (
	"slices"
	"sync"
	"time"

	"holdfast/holds"
)

// resources maps each resource to the holds that take it. A resource is never a specialist, so it is in no shard. The
// lock of resources is acquired last, after the locks of clients and shards. When a hold changes, resources is updated
// before the lock of the hold's shard is released.
//
// An expired hold that its shard has not ended yet is still in this table, but conflicts with no claim.
type resources struct {
	sync.Mutex
	of map[string][]*share

	// A claim that is about to take a resource locks claims before any shard. So no claim for another specialist, who
	// may be in another shard, can take the resource between the choice and the insertion.
	claims sync.Mutex
}

// share is a copy of a hold. Code that reads one of the hold's resources without the lock of its shard reads this copy.
type share struct {
	holds.Hold
	r        *record
	deadline time.Duration // on the monotonic clock
}

func (rs *resources) open() { rs.of = make(map[string][]*share) }

// keep stores a hold's current state.
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

// drop removes a hold that has ended.
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

// list returns the live holds that take a resource.
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

// chosen contains the resources that a claim takes, and the holds that it has to displace for them.
type chosen struct {
	ids     []string
	victims []*record
}

// choose picks the first resource in each group that no live hold takes for a conflicting time. It ignores the holds
// for which spared returns true. If there is no such resource and c displaces, it picks the first one without a
// conflicting pinned hold. If that fails too, until is the instant at which the last of the conflicting holds expires.
func (rs *resources) choose(c *holds.Claim, now time.Duration, spared func(*record) bool) (picked chosen,
	until time.Time, ok bool) {
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

func (rs *resources) firstFree(c *holds.Claim, group, used []string, now time.Duration, spared func(*record) bool,
	pinnedOnly bool) (id string, until time.Time, ok bool) {
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

// inTheWay returns the live holds of a resource whose time conflicts with the claim. Two seats of a session conflict
// too: a resource is never shared.
func (rs *resources) inTheWay(c *holds.Claim, id string, now time.Duration,
	spared func(*record) bool) (list []*record) {
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

// lapsed returns the specialists of the expired holds on these resources that their shards have not ended yet.
func (rs *resources) lapsed(needs [][]string, now time.Duration) (specialists []string) {
	if len(needs) == 0 {
		return nil
	}
	rs.Lock()
	defer rs.Unlock()
	for _, group := range needs {
		for _, id := range group {
			for _, x := range rs.of[id] {
				if x.deadline <= now {
					specialists = append(specialists, x.SpecialistID)
				}
			}
		}
	}
	return specialists
}
