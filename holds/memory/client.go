package memory

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"holdfast/holds"
)

// clients contains the holds of some clients, from all shards. It is a hash table whose chains are linked through the
// records.
//
// Its lock is acquired before the lock of any shard. A record whose hold ended without this lock stays in its chain,
// marked as gone, until the next sweep.
type clients struct {
	sync.Mutex
	chains []*record // indexed by a part of the hash
	count  int
}

const fewestChains = 16

func (cs *clients) open() { cs.chains = make([]*record, fewestChains) }

// identity is an owner and its hash, which is keyed with a secret of this process.
type identity struct {
	owner holds.Owner
	hash  uint64
}

func (b *Backend) identify(owner holds.Owner) (*clients, identity) {
	hash := maphash.Bytes(b.seed, owner[:])
	return &b.clients[hash%uint64(len(b.clients))], identity{owner, hash}
}

// lockClients locks the chains of two owners, in one order for all callers.
func (b *Backend) lockClients(one, other uint64) (unlock func()) {
	n := uint64(len(b.clients))
	first, last := min(one%n, other%n), max(one%n, other%n)
	b.clients[first].Lock()
	if first == last {
		return b.clients[first].Unlock
	}
	b.clients[last].Lock()
	return func() { b.clients[last].Unlock(); b.clients[first].Unlock() }
}

// has reports whether the hold belongs to this owner. The hash is keyed with a secret, so the duration of the
// comparison reveals nothing.
func (id *identity) has(r *record) bool { return r.hash == id.hash && r.Owner == id.owner }

// chain returns the head of the chain for a hash. The low bits of the hash have already selected this table of clients.
func (cs *clients) chain(hash uint64) **record {
	return &cs.chains[hash>>32&uint64(len(cs.chains)-1)]
}

// others counts the holds that the client of a claim would have in addition to the new one. Holds that are gone, have
// expired, or are about to be replaced (old) or displaced by the claim do not count.
func (cs *clients) others(id *identity, c *holds.Claim, old *record, victims []*record, now time.Duration) (n int) {
	for r := *cs.chain(id.hash); r != nil; r = r.next {
		if r != old && id.has(r) && !r.gone.Load() && r.deadline() > now &&
			!(c.Displace && (r.Conflicts(&c.Span) || slices.Contains(victims, r))) {
			n++
		}
	}
	return n
}

func (cs *clients) add(r *record) {
	if cs.count == 2*len(cs.chains) {
		cs.grow()
	}
	cs.count++
	r.own = cs
	cs.link(r)
}

func (cs *clients) link(r *record) {
	first := cs.chain(r.hash)
	if r.next = *first; r.next != nil {
		r.next.previous = r
	}
	r.previous, *first = nil, r
}

func (cs *clients) drop(r *record) {
	cs.count--
	if r.next != nil {
		r.next.previous = r.previous
	}
	if r.previous != nil {
		r.previous.next = r.next
	} else {
		*cs.chain(r.hash) = r.next
	}
	r.next, r.previous = nil, nil
}

func (cs *clients) grow() {
	old := cs.chains
	cs.chains = make([]*record, 2*len(old))
	for _, r := range old {
		for r != nil {
			next := r.next
			cs.link(r)
			r = next
		}
	}
}
