package web_test

import (
	"net/netip"
	"strings"
	"testing"

	"holdfast/web"
)

// limited is a house with limits, behind a proxy on this machine.
func limited(o *web.Options) {
	o.RateLimit = true
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
}

// exhaust writes from an address until it is refused and returns how often it could.
func (h *house) exhaust(from header) (n int, refused *reply) {
	h.t.Helper()
	for n = range 2000 {
		r := h.do("POST", "/v1/holds", "{}", from)
		if r.status == 429 {
			return n, r
		}
		r.want(422)
	}
	h.t.Fatal("2000 writes from one address were not limited")
	return 0, nil
}

func TestOneAddressCannotWriteWithoutEnd(t *testing.T) {
	h := newHouse(t, limited)
	n, refused := h.exhaust(header{"X-Forwarded-For": "203.0.113.7"})
	refused.problem(429, "rate_limited")
	if refused.header.Get("Retry-After") == "" {
		t.Error("the refusal does not say when to come again")
	}
	if n < 100 {
		t.Errorf("the limit came after %d writes; a clinic behind one address needs more", n)
	}
	// Others, reading, and programs with a key are not its business.
	h.do("POST", "/v1/holds", "{}", header{"X-Forwarded-For": "203.0.113.8"}).problem(422, "validation_failed")
	h.do("GET", "/v1/clinic", nil, header{"X-Forwarded-For": "203.0.113.7"}).want(200)
	h.do("POST", "/v1/holds", "{}", asAdmin, header{"X-Forwarded-For": "203.0.113.7"}).problem(422, "validation_failed")
	// Guessing keys counts.
	h.do("GET", "/v1/clinic", nil, header{"X-Forwarded-For": "203.0.113.7", "Authorization": "Bearer hfk_guess"}).problem(429, "rate_limited")
}

func TestTheAddressIsTheOneBeforeTheTrustedProxies(t *testing.T) {
	h := newHouse(t, limited)
	if _, refused := h.exhaust(header{"X-Forwarded-For": "198.51.100.1"}); refused.status != 429 {
		t.Fatal("not limited")
	}
	for _, same := range []header{
		{"X-Forwarded-For": "198.51.100.1, 10.1.2.3"},                      // through a second trusted proxy
		{"X-Forwarded-For": "192.0.2.99, 198.51.100.1"},                    // what stands before it may be invented
		{"X-Forwarded-For": "198.51.100.1:4711"},                           // with a port
		{"Forwarded": `for="198.51.100.1:4711";proto=https, for=10.1.1.1`}, // RFC 7239
		{"X-Forwarded-For": "::ffff:198.51.100.1"},
	} {
		h.do("POST", "/v1/holds", "{}", same).problem(429, "rate_limited")
	}
	h.do("POST", "/v1/holds", "{}", header{"X-Forwarded-For": "198.51.100.2"}).problem(422, "validation_failed")
}

func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	h := newHouse(t, limited)
	h.exhaust(header{"X-Forwarded-For": "2001:db8:1:2::1"})
	h.do("POST", "/v1/holds", "{}", header{"X-Forwarded-For": "2001:db8:1:2:ffff::9"}).problem(429, "rate_limited")
	h.do("POST", "/v1/holds", "{}", header{"X-Forwarded-For": "2001:db8:1:3::1"}).problem(422, "validation_failed")
}

func TestForwardedAddressesOfStrangersAreNotBelieved(t *testing.T) {
	h := newHouse(t, func(o *web.Options) { o.RateLimit = true })
	n := 0
	for h.do("POST", "/v1/holds", "{}", header{"X-Forwarded-For": netip.AddrFrom4([4]byte{203, 0, byte(n >> 8), byte(n)}).String()}).status != 429 {
		if n++; n > 2000 {
			t.Fatal("whoever invents addresses is not limited")
		}
	}
}

func TestMetricsAreForAdminsAndThisMachine(t *testing.T) {
	h := newHouse(t)
	h.do("GET", "/v1/clinic", nil).want(200)
	r := h.do("GET", "/metrics", nil).want(200)
	if !strings.Contains(r.raw, `holdfast_http_requests_total{method="GET",route="/v1/clinic",status="2xx"} 1`) {
		t.Errorf("the request is not counted:\n%.2000s", r.raw)
	}
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Via"} {
		h.do("GET", "/metrics", nil, header{name: "1.1 proxy"}).problem(401, "unauthorized")
		h.do("GET", "/metrics", nil, header{name: "1.1 proxy"}, asAdmin).want(200)
	}
}
