package account

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"net/netip"
	"sort"
	"sync"
	"time"
)

// guesses slows down the guessing of passwords and codes. A guess is counted for the account from this network, for the network,
// and for the account from everywhere; each failure past the free ones doubles the wait. A browser that has signed in to the account
// before is counted for itself alone: what strangers do never locks it out. A guess counts as failed from the moment it is made
// until it is found right, so that any number of guesses at once get as far as they would one after the other. It is memory only, so
// a restart forgives.
type guesses struct {
	mu  sync.Mutex
	all map[guessKey]failures
}

// guessKey is the hash of what is counted, so that what somebody types takes no more room than a hash.
type guessKey [sha256.Size]byte

type failures struct {
	count int
	last  time.Time
}

// counted is one thing that an attempt is counted for.
type counted struct {
	key   guessKey
	free  int           // guesses without a wait
	most  time.Duration // the longest wait
	stays bool          // a right guess forgives none of the others
}

// guess is what one attempt is counted for.
type guess []counted

const (
	freeByPair    = 5  // of an account from one network
	freeByNetwork = 20 // a clinic behind one address comes to work at one time
	freeByAccount = 50 // from all networks together: whoever has many
	freeByDevice  = 10
	maxBackoff    = 15 * time.Minute
	// maxDeviceBackoff is short: whoever sits there has signed in before, and is slowed down and not kept out.
	maxDeviceBackoff = 30 * time.Second
	maxGuessKeys     = 20_000
)

func keyOf(parts ...string) guessKey {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return guessKey(h.Sum(nil))
}

// guessOf is a guess by a browser that nobody knows.
func guessOf(email, address string) guess {
	network := networkOf(address)
	return guess{
		{keyOf("pair", email, network), freeByPair, maxBackoff, false}, byNetwork(network), {keyOf("account", email), freeByAccount, maxBackoff, false},
	}
}

// byNetwork counts for a network. A right guess forgives none of its others: it may guess at other accounts.
func byNetwork(network string) counted {
	return counted{keyOf("network", network), freeByNetwork, maxBackoff, true}
}

// guessByDevice is a guess by a browser that has signed in to the account, or is signed in.
func guessByDevice(email, device string) guess {
	return guess{{keyOf("device", email, device), freeByDevice, maxDeviceBackoff, false}}
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
	for _, c := range x {
		if at := g.since(now, c.key).until(c); at.After(until) {
			until = at
		}
	}
	if until.After(now) {
		return until
	}
	g.makeRoom()
	for _, c := range x {
		g.all[c.key] = failures{g.since(now, c.key).count + 1, now}
	}
	return time.Time{}
}

// end says what became of a guess that begin has counted. A right one forgives the account, and one that decided nothing,
// such as a password without its code, is not counted.
func (g *guesses) end(x guess, err error) {
	if isWrong(err) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range x {
		if f := g.all[c.key]; f.count > 1 && (err != nil || c.stays) {
			g.all[c.key] = failures{f.count - 1, f.last}
		} else {
			delete(g.all, c.key)
		}
	}
}

// isWrong reports whether a sign-in failed as a guess does.
func isWrong(err error) bool {
	return errors.Is(err, ErrWrongPassword) || errors.Is(err, ErrWrongCode) || errors.Is(err, ErrStranger) || errors.Is(err, ErrOtherIdentity)
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
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		return cmp.Or(cmp.Compare(g.all[a].count, g.all[b].count), g.all[a].last.Compare(g.all[b].last)) < 0
	})
	for _, key := range keys[:len(keys)/10] {
		delete(g.all, key)
	}
}

// until is when the next guess may be made; in the past or zero: now.
func (f failures) until(c counted) time.Time {
	if f.count < c.free {
		return time.Time{}
	}
	return f.last.Add(c.wait(f.count))
}

// wait is how long after the last of so many failures the next guess may be made; there are no fewer than are free.
func (c counted) wait(count int) time.Duration {
	return min(time.Second<<min(count-c.free, 20), c.most)
}
