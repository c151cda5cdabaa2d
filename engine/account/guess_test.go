package account

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestConcurrentGuessesAreCountedAlike(t *testing.T) {
	var g guesses
	var made atomic.Int32
	var all sync.WaitGroup
	now := time.Now()
	for i := range 250 {
		all.Go(func() {
			// Attack one account from many networks.
			x := guessOf("jo@clinic.example", netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}).String())
			if g.begin(now, x).IsZero() {
				made.Add(1)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != freeByAccount {
		t.Errorf("%d of 250 concurrent guesses were allowed, want %d", n, freeByAccount)
	}
}

func TestGuessesAreLimitedByNetwork(t *testing.T) {
	for _, c := range []struct {
		name, one, other string
		same             bool
	}{
		{"one IPv4 address", "192.0.2.7", "192.0.2.7", true},
		{"another IPv4 address", "192.0.2.7", "192.0.2.8", false},
		{"an IPv4 address written as IPv6", "192.0.2.7", "::ffff:192.0.2.7", true},
		{"one IPv6 network", "2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
		{"another IPv6 network", "2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"no address", "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var g guesses
			now := time.Now()
			for i := range freeByNetwork {
				if until := g.begin(now, guessOf(strings.Repeat("a", i+1), c.one)); !until.IsZero() {
					t.Fatalf("guess %d has to wait until %s", i, until)
				}
			}
			if waits := !g.begin(now, guessOf("another account", c.other)).IsZero(); waits != c.same {
				t.Errorf("the next one must wait: %t, want %t", waits, c.same)
			}
		})
	}
}

func TestCorrectGuessIsNotCounted(t *testing.T) {
	var g guesses
	now, x := time.Now(), guessOf("jo@clinic.example", "192.0.2.7")
	for i := range 4 * freeByNetwork {
		var outcome error
		if i%2 == 1 {
			outcome = ErrCodeNeeded
		}
		if until := g.begin(now, x); !until.IsZero() {
			t.Fatalf("after %d correct ones, the next waits until %s", i, until)
		}
		g.end(x, outcome)
	}
	if len(g.all) != 0 {
		t.Errorf("%d counts remain, want none", len(g.all))
	}
	for range freeByAccount {
		g.begin(now, x)
		g.end(x, ErrWrongPassword)
	}
	if g.begin(now, x).IsZero() {
		t.Error("wrong guesses are not counted")
	}
	if until := g.begin(now.Add(time.Second), x); !until.IsZero() {
		t.Errorf("after the wait: got %s, want it allowed", until)
	}
}

// TestGuessesOutliveThoseOfOthers: an attacker who fills the memory with failures for unknown accounts is still slowed
// down when guessing at the known account.
func TestGuessesOutliveThoseOfOthers(t *testing.T) {
	var g guesses
	now := time.Now()
	victim := func(i int) guess {
		return guessOf("jo@clinic.example", netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}).String())
	}
	for i := range freeByAccount {
		g.begin(now, victim(i))
	}
	for i := range 3 * maxGuessKeys {
		var from [16]byte
		binary.BigEndian.PutUint64(from[:], uint64(i+1))
		g.begin(now.Add(time.Millisecond), guessOf(strings.Repeat("x", 1000)+
			netip.AddrFrom16(from).String(), netip.AddrFrom16(from).String()))
	}
	if len(g.all) > maxGuessKeys+1 {
		t.Errorf("%d keys are stored, want at most %d", len(g.all), maxGuessKeys+1)
	}
	if g.begin(now.Add(2*time.Millisecond), victim(100)).IsZero() {
		t.Error("the account's limit of guesses was lost")
	}
}

func TestCancelledGuessIsNotCounted(t *testing.T) {
	var g guesses
	x := guessOf("jo@clinic.example", "192.0.2.7")
	g.begin(time.Now(), x)
	g.end(x, errors.New("the caller went away before the password was looked at"))
	if len(g.all) != 0 {
		t.Errorf("%d counts remain, want none", len(g.all))
	}
}

// TestCorrectGuessDoesNotProlongTheWait: after failures from a network, colleagues who sign in correctly neither start
// the wait again nor keep the failures from expiring.
func TestCorrectGuessDoesNotProlongTheWait(t *testing.T) {
	var g guesses
	now, network := time.Now(), "192.0.2.7"
	for i := range freeByNetwork {
		x := guessOf(strings.Repeat("a", i+1), network)
		g.begin(now, x)
		g.end(x, ErrWrongPassword)
	}
	for i := range 3 {
		x := guessOf("colleague", network)
		if until := g.begin(now.Add(time.Second), x); !until.IsZero() {
			t.Fatalf("a second after the last failure, correct attempt %d has to wait until %s", i, until.Sub(now))
		}
		g.end(x, nil)
	}
	for at := time.Minute; at <= maxBackoff; at += time.Minute {
		x := guessOf("colleague", network)
		g.begin(now.Add(at), x)
		g.end(x, nil)
	}
	if n := g.since(now.Add(maxBackoff+time.Second), byNetwork(network).key); n.count+n.open != 0 {
		t.Errorf("%d failures still count, %s after the last one", n.count, maxBackoff)
	}
}
