package account

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// guesses slows down the guessing of passwords and codes: for an account and for a network, each failure past the free ones
// doubles the wait. A guess counts as failed from the moment it is made until it is found right, so that any number of
// guesses at once get as far as they would one after the other. It is memory only, so a restart forgives.
type guesses struct {
	mu  sync.Mutex
	all map[guessKey]failures
}

// guessKey is the hash of an account or a network, so that what somebody types takes no more room than a hash.
type guessKey [sha256.Size]byte

type failures struct {
	count int
	last  time.Time
}

// guess is what one attempt is counted for.
type guess struct{ account, network guessKey }

const (
	freeByAccount = 5
	freeByNetwork = 20 // a clinic behind one address comes to work at one time
	maxBackoff    = 15 * time.Minute
	maxGuessKeys  = 20_000
)

func guessOf(email, address string) guess {
	return guess{sha256.Sum256([]byte("account " + email)), sha256.Sum256([]byte("network " + networkOf(address)))}
}

// networkOf is what one household or attacker has at least: an IPv4 address, or the 64-bit network of an IPv6 address.
func networkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		network, _ := a.Prefix(64) // an IPv6 address has as many bits
		return network.String()
	}
	return a.String()
}

// begin counts one guess as failed, until end says otherwise. If it has to wait it is not counted, and begin returns the
// instant from which on it may be made.
func (g *guesses) begin(now time.Time, x guess) (until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	account, network := g.since(now, x.account), g.since(now, x.network)
	if until = latest(account.until(freeByAccount), network.until(freeByNetwork)); until.After(now) {
		return until
	}
	g.makeRoom()
	g.all[x.account], g.all[x.network] = failures{account.count + 1, now}, failures{network.count + 1, now}
	return time.Time{}
}

// end says what became of a guess that begin has counted. A right one forgives the account, and one that decided nothing,
// such as a password without its code, is taken back.
func (g *guesses) end(x guess, err error) {
	if errors.Is(err, ErrWrongPassword) || errors.Is(err, ErrWrongCode) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.takeBack(x.network)
	if err == nil {
		delete(g.all, x.account)
	} else {
		g.takeBack(x.account)
	}
}

func (g *guesses) takeBack(key guessKey) {
	if f := g.all[key]; f.count > 1 {
		g.all[key] = failures{f.count - 1, f.last}
	} else {
		delete(g.all, key)
	}
}

// since returns the failures that still count.
func (g *guesses) since(now time.Time, key guessKey) failures {
	f := g.all[key]
	if now.Sub(f.last) > maxBackoff {
		return failures{}
	}
	return f
}

// makeRoom keeps the memory bounded. The keys with the fewest failures go first, and of those the oldest: whoever fills it
// with others does not get rid of the one that is being guessed.
func (g *guesses) makeRoom() {
	if g.all == nil {
		g.all = make(map[guessKey]failures)
	}
	if len(g.all) < maxGuessKeys {
		return
	}
	keys := make([]guessKey, 0, len(g.all))
	for key := range g.all {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b guessKey) int {
		return cmp.Or(cmp.Compare(g.all[a].count, g.all[b].count), g.all[a].last.Compare(g.all[b].last))
	})
	for _, key := range keys[:len(keys)/10] {
		delete(g.all, key)
	}
}

// until is when the next guess may be made, of which so many are free; in the past or zero: now.
func (f failures) until(free int) time.Time {
	if f.count < free {
		return time.Time{}
	}
	return f.last.Add(min(time.Second<<min(f.count-free, 20), maxBackoff))
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
