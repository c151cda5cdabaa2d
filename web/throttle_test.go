package web_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/web"
)

// write sends a write request directly to the handler. It does not use the network, so it is fast even on a busy machine.
func (h *house) write(headers ...header) *reply {
	h.t.Helper()
	r := httptest.NewRequest("POST", "/v1/holds", strings.NewReader("{}"))
	r.RemoteAddr = "127.0.0.1:4711"
	r.Header.Set("Content-Type", "application/json")
	for _, set := range headers {
		for name, value := range set {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.web.Handler().ServeHTTP(w, r)
	return &reply{t: h.t, status: w.Code, header: w.Header(), raw: w.Body.String()}
}

func TestWritesPerAddressAreLimited(t *testing.T) {
	h := newHouse(t, func(o *web.Options) { o.RateLimit = true })
	n, last := 0, h.write()
	if got := last.header.Get("RateLimit-Limit") + " " + last.header.Get("RateLimit-Remaining") + " " +
		last.header.Get("RateLimit-Reset"); got != "300 299 1" {
		t.Errorf("limit, remaining and reset of the first write: got %s, want 300 299 1", got)
	}
	for ; last.status == 422; last = h.write() {
		if n++; n > 5000 {
			t.Fatal("5000 writes from one address were not limited")
		}
	}
	if last.want(429).header.Get("Retry-After") == "" || !strings.Contains(last.raw, "rate_limited") {
		t.Errorf("the refusal has no Retry-After: %s", last.raw)
	}
	if got := last.header.Get("RateLimit-Remaining"); got != "0" {
		t.Errorf("remaining after the refusal: got %s, want 0", got)
	}
	if n < 299 {
		t.Errorf("the limit came after %d writes; a clinic behind one address needs more", n)
	}
	h.do("GET", "/v1/clinic", nil).want(200) // reads are not limited
	h.write(asAdmin).want(422)               // nor are programs with a key
}

// TestPollsHaveOwnLimit: a client's poll renews its selection, so polls are limited, but they do not count as writes: a
// waiting room full of polling pages can still book.
func TestPollsHaveOwnLimit(t *testing.T) {
	h := newHouse(t, func(o *web.Options) { o.RateLimit = true })
	path := "&selected=" + h.start.Format("15:04")
	n, last := 0, h.poll(1, path)
	for ; last.status == 200; last = h.poll(1, path) {
		if n++; n > 50000 {
			t.Fatal("50000 polls of a client were not limited")
		}
	}
	if last.problem(429, "rate_limited"); last.header.Get("Retry-After") == "" {
		t.Error("the refusal has no Retry-After")
	}
	if n < 599 {
		t.Errorf("the limit came after %d polls; a waiting room of 40 clients needs more", n)
	}
	h.poll(1, path, asAdmin).want(200)
	h.do("GET", "/v1/slots/poll?appointmentTypeId=checkup", nil).want(200) // a poll without a client renews nothing
	for range 200 {
		h.write().want(422) // the address has writes left
	}
}

func TestKeyGuessesAreLimited(t *testing.T) {
	h := newHouse(t, func(o *web.Options) { o.RateLimit = true })
	guess := header{"Authorization": "Bearer hfk_guess"}
	n := 0
	for h.write(guess).status == 401 {
		if n++; n > 5000 {
			t.Fatal("5000 guesses were not limited")
		}
	}
	h.write(guess)
	h.write(asAdmin).want(422)
}

func TestRateLimitOffDisablesLimits(t *testing.T) {
	h := newHouse(t)
	for range 1000 {
		h.write().want(422)
	}
}

func TestMetricsNeedAdminOrLoopback(t *testing.T) {
	h := newHouse(t)
	h.do("GET", "/v1/clinic", nil).want(200)
	r := h.do("GET", "/metrics", nil).want(200)
	if !strings.Contains(r.raw, `holdfast_http_requests_total{class="2xx",route="GET /v1/clinic"} 1`) {
		t.Errorf("the request is not counted:\n%.2000s", r.raw)
	}
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Via"} {
		h.do("GET", "/metrics", nil, header{name: "1.1 proxy"}).problem(401, "unauthorized")
		h.do("GET", "/metrics", nil, header{name: "1.1 proxy"}, asAdmin).want(200)
	}
	// A page in a browser on this machine can reach the server under a host name of its own choice, and such a request
	// does not count as local.
	for host, want := range map[string]int{
		"localhost:8788": 200, "LOCALHOST": 200, "127.0.0.1": 200, "127.8.8.8:80": 200, "[::1]:8788": 200, "[::1]": 200,
		"book.example.org": 401, "127.0.0.1.example.org": 401, "localhost.example.org:80": 401, "10.0.0.1": 401,
		"127.0.0.1:80:80": 401, "": 401,
	} {
		for _, key := range []header{nil, asAdmin} {
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.RemoteAddr, r.Host = "127.0.0.1:4711", host
			for name, value := range key {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			h.web.Handler().ServeHTTP(w, r)
			if key != nil {
				want = 200
			}
			if w.Code != want {
				t.Errorf("metrics of the host %q with %d headers: got %d, want %d", host, len(key), w.Code, want)
			}
		}
	}
}

// TestMetricsCountUnknownRoutes: several handlers serve requests without a route, but these requests share one row.
// Unknown paths and methods are counted together, so that the metrics stay readable.
func TestMetricsCountUnknownRoutes(t *testing.T) {
	h := newHouse(t)
	h.do("GET", "/v1/nothing", nil).problem(404, "not_found")
	h.do("DELETE", "/v1/clinic", nil).problem(405, "method_not_allowed")
	if r := h.do("GET", "/metrics", nil).want(200); strings.Count(r.raw,
		`holdfast_http_requests_total{class="4xx",route="unmatched"}`) != 1 {
		t.Errorf("the requests without a route are not one row:\n%.2000s", r.raw)
	}
}
