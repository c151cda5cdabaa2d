package memory

import (
	"crypto/subtle"
	"hash/maphash"
	"sync"

	"holdfast/holds"
)

// clients has the holds of some clients, whatever shard they lie in: for each client a list, the newest first.
//
// Its lock is taken before a shard's. What ended without it stays on the list for a moment, marked as gone.
type clients struct {
	sync.Mutex
	newest map[holds.ClientID]*record
}

func (cs *clients) open() { cs.newest = make(map[holds.ClientID]*record) }

func (b *Backend) clientsOf(c holds.ClientID) *clients {
	return &b.clients[maphash.String(b.seed, string(c))%uint64(len(b.clients))]
}

// others counts, from a client's newest hold on, those it would have beside the one claimed: what is neither gone, nor
// lapsed, nor about to be displaced by the claim itself.
func (r *record) others(c *holds.Claim, now instant) (n int) {
	for ; r != nil; r = r.older {
		if !r.gone.Load() && r.deadline() > now.mono && !(c.Displace && r.Conflicts(&c.Span)) {
			n++
		}
	}
	return n
}

// add puts a record before its client's newest, which may be nil.
func (cs *clients) add(r, newest *record) {
	r.own, r.older = cs, newest
	if newest != nil {
		newest.newer = r
	}
	cs.newest[r.Client] = r
}

func (cs *clients) drop(r *record) {
	if r.older != nil {
		r.older.newer = r.newer
	}
	switch {
	case r.newer != nil:
		r.newer.older = r.older
	case r.older != nil:
		cs.newest[r.Client] = r.older
	default:
		delete(cs.newest, r.Client)
	}
	r.newer, r.older = nil, nil
}

// same compares two clients in a time that does not tell where they differ.
func same(a, b holds.ClientID) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
