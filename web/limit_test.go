package web

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// These tests check the limits per address, and how the server determines the address.

// allow takes one token for an address, or returns the time until the next one.
func (l *limiter) allow(address netip.Addr, now time.Time) (wait time.Duration, ok bool) {
	wait = l.take(address, now) - l.window()
	return max(wait, 0), wait <= 0
}

func TestTokenBucketRefills(t *testing.T) {
	l := newLimiter(rate{every: 100 * time.Millisecond, burst: 5})
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	a, b := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("203.0.113.8")
	for i := range 5 {
		if _, ok := l.allow(a, now); !ok {
			t.Fatalf("token %d of 5 was refused", i+1)
		}
	}
	wait, ok := l.allow(a, now)
	if ok || wait != 100*time.Millisecond {
		t.Errorf("an empty bucket: got %t after %s, want to wait 100 ms", ok, wait)
	}
	if _, ok := l.allow(b, now); !ok {
		t.Error("the limit of one address applies to another")
	}
	if _, ok := l.allow(a, now.Add(wait)); !ok {
		t.Error("after the wait, there is no token")
	}
	if _, ok := l.allow(a, now.Add(wait)); ok {
		t.Error("after the wait, there are two tokens")
	}
	// A full bucket stays full, however long it goes unused.
	later := now.Add(time.Hour)
	for i := range 5 {
		if _, ok := l.allow(a, later); !ok {
			t.Fatalf("after an hour, token %d of 5 was refused", i+1)
		}
	}
	if _, ok := l.allow(a, later); ok {
		t.Error("after an hour, there are more than 5 tokens")
	}
}

func TestLimiterExpiresNetworks(t *testing.T) {
	l := newLimiter(rate{every: time.Minute, burst: 1})
	now := time.Now()
	for _, c := range []struct {
		address string
		ok      bool
	}{
		{"2001:db8:1:2::1", true}, {"2001:db8:1:2:ffff::9", false}, {"2001:db8:1:3::1", true}, // a /64 is one household
		{"192.0.2.1", true}, {"::ffff:192.0.2.1", false}, {"192.0.2.2", true},
	} {
		if _, ok := l.allow(netip.MustParseAddr(c.address), now); ok != c.ok {
			t.Errorf("%s: got %t, want %t", c.address, ok, c.ok)
		}
	}
	for range 3 {
		c := &call{rw: responseWriter{ResponseWriter: httptest.NewRecorder()}, started: now}
		if err := c.limited(l, netip.Addr{}); err != nil {
			t.Errorf("a caller without an address, such as one on a pipe: got %v, want no limit", err)
		}
		if err := c.limited(nil, netip.MustParseAddr("192.0.2.1")); err != nil {
			t.Errorf("no limiter: got %v, want no limit", err)
		}
	}
}

func TestClientAddressSkipsTrustedProxies(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler),
		options: Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}}
	for _, c := range []struct {
		name, peer string
		headers    http.Header
		want       string
	}{
		{"no proxy", "203.0.113.7:4711", nil, "203.0.113.7"},
		{"a stranger's header", "203.0.113.7:4711", http.Header{"X-Forwarded-For": {"198.51.100.1"}}, "203.0.113.7"},
		{"one proxy", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"198.51.100.1"}}, "198.51.100.1"},
		{"two proxies", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"198.51.100.1, 10.1.2.3"}}, "198.51.100.1"},
		{"two headers", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"198.51.100.1", "10.1.2.3"}}, "198.51.100.1"},
		{"an invented hop before", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"192.0.2.99, 198.51.100.1"}},
			"198.51.100.1"},
		{"with a port", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"198.51.100.1:4711"}}, "198.51.100.1"},
		{"an IPv6 address", "[fd00::1]:1", http.Header{"X-Forwarded-For": {"2001:db8::1"}}, "2001:db8::1"},
		{"an IPv6 address with a port", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"[2001:db8::1]:4711"}},
			"2001:db8::1"},
		{"an IPv4 address as IPv6", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"::ffff:198.51.100.1"}},
			"198.51.100.1"},
		{"RFC 7239", "127.0.0.1:1", http.Header{"Forwarded": {`for="198.51.100.1:4711";proto=https, for=10.1.1.1`}},
			"198.51.100.1"},
		{"RFC 7239 and IPv6", "127.0.0.1:1", http.Header{"Forwarded": {`For="[2001:db8::1]"`}}, "2001:db8::1"},
		{"RFC 7239 with an unknown hop", "127.0.0.1:1",
			http.Header{"Forwarded": {`for=192.0.2.99, proto=https;by=10.0.0.1`}}, "127.0.0.1"},
		{"RFC 7239 of a hop that hides", "127.0.0.1:1", http.Header{"Forwarded": {`for=192.0.2.99, for=_hidden`}},
			"127.0.0.1"},
		{"RFC 7239 with an open quote before", "127.0.0.1:1",
			http.Header{"Forwarded": {`for="192.0.2.99`, `for=198.51.100.1`}}, "198.51.100.1"},
		{"a stranger's RFC 7239", "203.0.113.7:4711", http.Header{"Forwarded": {"for=198.51.100.1"}}, "203.0.113.7"},
		{"two headers that agree", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"198.51.100.1"},
			"Forwarded": {"for=198.51.100.1"}}, "198.51.100.1"},
		{"two headers that disagree", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"192.0.2.99"},
			"Forwarded": {"for=198.51.100.1"}}, "127.0.0.1"},
		{"no header at all", "127.0.0.1:1", nil, "127.0.0.1"},
		{"rubbish", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"unknown"}}, "127.0.0.1"},
		{"rubbish before a proxy", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"unknown, 10.1.2.3"}}, "10.1.2.3"},
		{"only proxies", "127.0.0.1:1", http.Header{"X-Forwarded-For": {"10.9.9.9, 10.1.2.3"}}, "10.9.9.9"},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.RemoteAddr = c.peer
		if c.headers != nil {
			r.Header = c.headers
		}
		if got := s.address(r).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	r := httptest.NewRequest("POST", "/", nil)
	r.RemoteAddr = "pipe"
	if got := s.address(r); got.IsValid() {
		t.Errorf("a connection without an address has the address %s", got)
	}
}

// TestUntrustedForwardingIsLoggedOnce: behind a proxy that is not configured, all visitors seem to have one address,
// and the log must show that.
func TestUntrustedForwardingIsLoggedOnce(t *testing.T) {
	for _, header := range []string{"X-Forwarded-For", "Forwarded"} {
		var log strings.Builder
		s := &Server{log: slog.New(slog.NewTextHandler(&log, nil)),
			options: Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
		ask := func(peer, value string) {
			r := httptest.NewRequest("POST", "/", nil)
			if r.RemoteAddr = peer; value != "" {
				r.Header.Set(header, value)
			}
			s.address(r)
		}
		ask("127.0.0.1:1", "")
		ask("10.0.0.1:1", "for=198.51.100.1")
		if log.Len() > 0 {
			t.Errorf("%s: without an untrusted header, the log is %s", header, log.String())
		}
		ask("127.0.0.1:1", "for=198.51.100.77")
		ask("127.0.0.1:1", "for=198.51.100.77")
		if got := log.String(); strings.Count(got, "--trusted-proxies") != 1 || strings.Contains(got, "198.51.100.77") {
			t.Errorf("%s: got %q, want one line with the setting and without the header's value", header, got)
		}
	}
}

// connFrom is a connection with only a remote address.
type connFrom struct {
	net.Conn
	from netip.AddrPort
}

func (c *connFrom) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.from) }

func TestConnectionsPerNetworkAreBounded(t *testing.T) {
	conns := make(map[string]*connFrom)
	for _, from := range []string{"[2001:db8::1]:1", "[2001:db8::2]:2", "[2001:db8::3]:3", "[2001:db8:0:1::1]:4",
		"10.0.0.1:5", "10.0.0.1:6", "10.0.0.1:7", "[2001:db8::8]:8", "[2001:db8::9]:9"} {
		a := netip.MustParseAddrPort(from)
		conns[from[len(from)-1:]] = &connFrom{from: a}
	}
	of := newConnections(2, 4, func(a netip.Addr) bool { return a.IsPrivate() })
	const begins, waits, works, leaves, ends = http.StateNew, http.StateIdle, http.StateActive, http.StateHijacked,
		http.StateClosed
	for step, c := range []struct {
		conn, over string
		state      http.ConnState
	}{
		{"1", "", begins}, {"2", "", begins}, {"3", "", begins}, {"4", "", begins},
		{"1", "", waits}, {"2", "", waits}, {"4", "", waits}, // another network
		{"1", "", works}, {"1", "", waits}, // busy in between: now 2 has been idle longer
		{"3", "2", waits}, {"2", "", ends}, // the end of a closed connection is reported
		{"3", "", works},                                                         // 1 is idle, 3 is busy
		{"2", "", begins}, {"2", "", works}, {"8", "", begins}, {"8", "", works}, // four of the network
		{"9", "1", begins}, {"1", "", ends}, {"9", "", works}, // the idle one is closed
		{"1", "1", begins}, {"1", "", ends}, // all of them are busy: the new one is closed
		{"8", "", leaves}, {"1", "", begins}, // a stream counts as a stream
		// a proxy
		{"5", "", begins}, {"6", "", begins}, {"7", "", begins}, {"5", "", waits}, {"6", "", waits}, {"7", "", waits},
	} {
		got := ""
		if over := of.note(conns[c.conn], c.state); over != nil {
			from := over.RemoteAddr().String()
			got = from[len(from)-1:]
		}
		if got != c.over {
			t.Errorf("step %d: connection %q is closed, want %q", step, got, c.over)
		}
	}
	for _, c := range conns {
		of.note(c, ends)
	}
	if len(of.of)+len(of.at) != 0 {
		t.Errorf("%d networks and %d connections are stored, want none", len(of.of), len(of.at))
	}
}
