package web

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/timed"
)

// rate limits the requests from one address to a burst, followed by one request per interval.
type rate struct {
	every time.Duration
	burst int
}

// The limits should stop a script, but not the people in a waiting room: a whole clinic often shares one address.
var (
	publicWrites = rate{every: 50 * time.Millisecond, burst: 300}
	streamOpens  = rate{every: 250 * time.Millisecond, burst: 120}
	// twice the rate of a waiting room with 40 clients that poll every second
	publicPolls = rate{every: 10 * time.Millisecond, burst: 600}
)

// limiter is a token bucket per address. For each address it stores the instant at which the bucket will be full again
// (GCRA, ITU-T I.371). An address without an entry has a full bucket, and an entry whose bucket is full is deleted. If
// there are too many addresses, the limiter deletes entries early. Their addresses then have a full bucket, which is
// harmless. A nil *limiter limits nothing.
type limiter struct {
	rate
	full [16]*timed.Map[netip.Addr, time.Time] // by address
}

// maxAddresses limits the entries in each of the two halves of a limiter.
const maxAddresses = 4096

func newLimiter(r rate) *limiter {
	l := &limiter{rate: r}
	for i := range l.full {
		l.full[i] = timed.NewMap[netip.Addr, time.Time](time.Duration(r.burst)*r.every, maxAddresses)
	}
	return l
}

// window returns the time that an empty bucket needs to become full.
func (l *limiter) window() time.Duration { return time.Duration(l.burst) * l.every }

// take takes one token and returns the time after which the bucket is full again. If that time is longer than the
// window, there was no token, and the bucket has not changed.
func (l *limiter) take(address netip.Addr, now time.Time) (untilFull time.Duration) {
	address = network(address)
	bytes := address.As16()
	l.full[(bytes[15]^bytes[7]^bytes[14])%16].Update(address, now, func(full time.Time) (time.Time, bool) {
		if full.Before(now) {
			full = now
		}
		full = full.Add(l.every)
		untilFull = full.Sub(now)
		return full, untilFull <= l.window()
	})
	return untilFull
}

// limited takes one token of an address for this request. It reports the state of the bucket in RateLimit-Limit,
// RateLimit-Remaining and RateLimit-Reset (draft-ietf-httpapi-ratelimit-headers-06). RateLimit-Reset is the number of
// seconds until the bucket is full. limited returns an error if the bucket was empty. It does not limit callers without
// an address, such as those on a pipe.
func (c *call) limited(l *limiter, address netip.Addr) error {
	if l == nil || !address.IsValid() {
		return nil
	}
	untilFull := l.take(address, c.started)
	left := max(0, int((l.window()-untilFull)/l.every))
	h := c.rw.Header()
	h["Ratelimit-Limit"] = []string{strconv.Itoa(l.burst)}
	h["Ratelimit-Remaining"] = []string{strconv.Itoa(left)}
	h["Ratelimit-Reset"] = []string{strconv.Itoa(int((untilFull + time.Second - 1) / time.Second))}
	if wait := untilFull - l.window(); wait > 0 {
		return tooMany(wait)
	}
	return nil
}

// address returns the network address of a request. This is the peer's address, or, if the peer is a trusted proxy, the
// address of the nearest hop before it that is not a trusted proxy. If X-Forwarded-For and Forwarded disagree, address
// uses neither. It returns the zero Addr if the address is unknown.
func (s *Server) address(r *http.Request) netip.Addr {
	peer := parseAddress(r.RemoteAddr)
	if !s.trusts(peer) {
		if len(r.Header["X-Forwarded-For"])+len(r.Header["Forwarded"]) > 0 {
			s.warnForwarded.Do(func() {
				s.log.Warn("forwarded address ignored: the request did not come from any of --trusted-proxies")
			})
		}
		return peer
	}
	one, other := r.Header.Values("X-Forwarded-For"), r.Header.Values("Forwarded")
	if len(other) == 0 {
		return s.beforeProxies(peer, one)
	}
	forwarded := s.beforeProxies(peer, forwardedFor(other))
	if len(one) > 0 && s.beforeProxies(peer, one) != forwarded {
		return peer // the proxy writes one of the two headers, and the client wrote the other
	}
	return forwarded
}

// beforeProxies returns the nearest of these hops before the peer that is not a trusted proxy.
func (s *Server) beforeProxies(peer netip.Addr, hops []string) netip.Addr {
	list := strings.Split(strings.Join(hops, ","), ",")
	for i := len(list) - 1; i >= 0; i-- {
		hop := parseAddress(strings.TrimSpace(list[i]))
		if !hop.IsValid() {
			return peer // no trusted proxy wrote the entries before this hop
		}
		if peer = hop; !s.trusts(hop) {
			break
		}
	}
	return peer
}

func (s *Server) trusts(a netip.Addr) bool {
	for _, p := range s.options.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// forwardedFor extracts the addresses from Forwarded headers (RFC 7239), one for each hop. For a hop without "for", the
// address is empty, and beforeProxies ignores the entries before it.
func forwardedFor(headers []string) []string {
	var hops []string
	for element := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		hops = append(hops, "")
		for pair := range strings.SplitSeq(element, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if strings.EqualFold(name, "for") {
				hops[len(hops)-1] = strings.Trim(value, `"`)
			}
		}
	}
	return hops
}

// parseAddress reads an address with or without a port.
func parseAddress(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// onThisMachine reports whether a request comes from this machine, uses a loopback name or address in its Host header,
// and was not forwarded by a proxy on this machine. The check of the name prevents DNS rebinding, in which an attacker
// makes the host name of a page in a browser on this machine resolve to this server.
func (s *Server) onThisMachine(r *http.Request) bool {
	for _, name := range [...]string{"X-Forwarded-For", "Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto",
		"X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return parseAddress(r.RemoteAddr).IsLoopback() && isLoopbackHost(r.Host)
}

// isLoopbackHost reports whether a Host header is localhost or a loopback address.
func isLoopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.EqualFold(host, "localhost") || parseAddress(host).IsLoopback()
}

// base returns the base address for links: the configured address, or else the address of this request.
func (c *call) base() string {
	if said, _ := c.engine.Clinic.BaseURL(); said != "" {
		return said
	}
	return c.scheme() + "://" + c.r.Host
}

// scheme returns the scheme of this request, as far as the server can determine it.
func (c *call) scheme() string {
	if c.r.TLS != nil || c.r.Header.Get("X-Forwarded-Proto") == "https" && c.trusts(parseAddress(c.r.RemoteAddr)) {
		return "https"
	}
	return "http"
}

// fromOwnPages reports whether the request's Origin is the clinic's configured address. This detects the clinic's own
// pages even behind a proxy that rewrites Host.
func (c *call) fromOwnPages() bool {
	said, _ := c.engine.Clinic.BaseURL()
	return said != "" && c.r.Header.Get("Origin") == said
}
