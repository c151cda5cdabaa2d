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

// guesses slows down the guessing of passwords and codes. It counts each attempt three times: for the account from this
// network, for the network, and for the account from all networks. Once the free failures are used up, each further
// failure doubles the wait. A browser that has signed in to the account before has its own count, so other clients can
// never lock it out.
//
// An attempt counts as failed from its start until it turns out to be correct. So attempting many guesses concurrently
// gains nothing over trying them one after another. The counts are in memory only: a restart resets them.
type guesses struct {
	mu  sync.Mutex
	all map[guessKey]failures
}

// guessKey is the hash of the account, network or device that a count is for, so that long input takes no more memory
// than a hash.
type guessKey [sha256.Size]byte

type failures struct {
	count int       // failed attempts
	last  time.Time // start of the last failed attempt
	open  int       // attempts without an outcome yet
	begun time.Time // start of the last of them
}

// counted is one of the counts that an attempt adds to.
type counted struct {
	key   guessKey
	free  int           // guesses without a wait
	most  time.Duration // the longest wait
	stays bool          // a correct attempt subtracts only itself and does not reset the count
}

// guess is the list of counts that one attempt adds to.
type guess []counted

const (
	freeByPair    = 5  // for an account from one network
	freeByNetwork = 20 // a clinic's staff share one address and sign in at the same time of day
	freeByAccount = 50 // for an account from all networks together, against an attacker with many networks
	freeByDevice  = 10
	maxBackoff    = 15 * time.Minute
	// maxDeviceBackoff is short because this browser has signed in before: failures slow it down but do not lock it
	// out.
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

// guessOf returns the counts for an attempt from a browser without a device token.
func guessOf(email, address string) guess {
	network := networkOf(address)
	return guess{
		{keyOf("pair", email, network), freeByPair, maxBackoff, false}, byNetwork(network),
		{keyOf("account", email), freeByAccount, maxBackoff, false},
	}
}

// byNetwork returns the count for a network. A correct attempt does not reset it, because someone on the same network
// may be guessing at other accounts.
func byNetwork(network string) counted {
	return counted{keyOf("network", network), freeByNetwork, maxBackoff, true}
}

// guessByDevice returns the count for an attempt from a browser that is signed in to the account or has signed in to it
// before.
func guessByDevice(email, device string) guess {
	return guess{{keyOf("device", email, device), freeByDevice, maxDeviceBackoff, false}}
}

// networkOf returns the smallest network that belongs to a single household or attacker: an IPv4 address, or the
// /64 of an IPv6 address.
func networkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		network, _ := a.Prefix(64) // cannot fail: an IPv6 address has 128 bits
		return network.String()
	}
	return a.String()
}

// begin counts an attempt as failed until end corrects the count. If the attempt has to wait, begin does not count it
// and returns the earliest instant when it is allowed.
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
		f := g.since(now, c.key)
		f.open, f.begun = f.open+1, now
		g.all[c.key] = f
	}
	return time.Time{}
}

// end corrects the counts after an attempt that begin counted. A correct attempt resets the counts of the account. An
// attempt without a result, such as a correct password without the required code, is not counted. Neither of them
// changes the start of the wait: it begins at the last failure.
func (g *guesses) end(x guess, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range x {
		f := g.all[c.key]
		if f.open == 0 { // makeRoom has removed the attempt
			continue
		}
		f.open--
		switch {
		case isWrong(err):
			f.count, f.last = f.count+1, f.begun
		case err == nil && !c.stays:
			f.count = 0
		}
		if f.count+f.open == 0 {
			delete(g.all, c.key)
		} else {
			g.all[c.key] = f
		}
	}
}

// isWrong reports whether the error of a sign-in counts as a failed guess.
func isWrong(err error) bool {
	return errors.Is(err, ErrWrongPassword) || errors.Is(err, ErrWrongCode) || errors.Is(err, ErrStranger) ||
		errors.Is(err, ErrOtherIdentity)
}

// since returns the attempts that still count.
func (g *guesses) since(now time.Time, key guessKey) failures {
	f := g.all[key]
	if now.Sub(f.last) > maxBackoff {
		f.count = 0
	}
	if now.Sub(f.begun) > maxBackoff {
		f.open = 0
	}
	return f
}

// latest returns the start of the last attempt that counts as failed.
func (f failures) latest() time.Time {
	if f.open > 0 && (f.count == 0 || f.begun.After(f.last)) {
		return f.begun
	}
	return f.last
}

// makeRoom limits memory use. It removes the keys with the fewest failures first, and the oldest of those before the
// others. So an attacker who fills the memory with other keys cannot evict the key of the account under attack.
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
		a, b := g.all[keys[i]], g.all[keys[j]]
		return cmp.Or(cmp.Compare(a.count+a.open, b.count+b.open), a.latest().Compare(b.latest())) < 0
	})
	for _, key := range keys[:len(keys)/10] {
		delete(g.all, key)
	}
}

// until returns when the next attempt is allowed. A past or zero instant means now.
func (f failures) until(c counted) time.Time {
	if f.count+f.open < c.free {
		return time.Time{}
	}
	return f.latest().Add(c.wait(f.count + f.open))
}

// wait returns how long after the last failure the next attempt is allowed. count is the number of failures, at least
// c.free.
func (c counted) wait(count int) time.Duration {
	return min(time.Second<<min(count-c.free, 20), c.most)
}
