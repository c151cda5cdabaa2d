package memory

import (
	"crypto/subtle"
	"hash/maphash"
	"sync"

	"holdfast/holds"
)

// clients has the holds of some clients, whatever shard they lie in: a chain of records each, the newest first.
type clients struct {
	sync.Mutex
	newest map[holds.ClientID]*record
}

func (cs *clients) open() { cs.newest = make(map[holds.ClientID]*record) }

func (b *Backend) clientsOf(c holds.ClientID) *clients {
	return &b.clients[maphash.String(b.seed, string(c))%uint64(len(b.clients))]
}

// live counts the holds that the claim's client would have beside the new one: those not lapsed and not about to be
// displaced by it.
func (cs *clients) live(c *holds.Claim, now instant) (n int) {
	for r := cs.newest[c.Client]; r != nil; r = r.older {
		if r.live(now) && !(c.Displace && r.Conflicts(&c.Span)) {
			n++
		}
	}
	return n
}

func (cs *clients) add(r *record) {
	r.own, r.older = cs, cs.newest[r.Client]
	if r.older != nil {
		r.older.newer = r
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
