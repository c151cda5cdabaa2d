package demo

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sort"
	"sync/atomic"
	"time"
)

// probe is the HTTP client that requests the state of the nodes.
var probe = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// balancer is the load balancer of the demo's cluster. It also serves the routes that the demo's page uses to kill and
// start parts. Any node can handle any request. If a request could not be sent, it goes to the next node. A request
// that was sent is never repeated, as in nginx.conf.
type balancer struct {
	*Cluster
	turn atomic.Uint64
	line *http.Transport
}

func newBalancer(c *Cluster, log *slog.Logger) http.Handler {
	f := &balancer{Cluster: c, line: &http.Transport{
		DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, MaxIdleConnsPerHost: 64,
		IdleConnTimeout: 30 * time.Second, DisableCompression: true,
	}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetXForwarded()
			r.Out.Host, r.Out.URL.Scheme, r.Out.URL.Host = r.In.Host, "http", "node" // RoundTrip sets the real host
		},
		Transport: f, FlushInterval: -1, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("GET /demo/cluster", f.states)
	mux.HandleFunc("POST /demo/cluster/{id}/{act}", f.act)
	return http.NewCrossOriginProtection().Handler(mux)
}

// RoundTrip sends a request to the next node in turn.
func (f *balancer) RoundTrip(r *http.Request) (reply *http.Response, err error) {
	turn := f.turn.Add(1)
	err = errors.New("no node is running")
	for n := range uint64(len(f.parts)) {
		x := f.parts[(turn+n)%uint64(len(f.parts))]
		x.mu.Lock()
		there := x.url != nil && x.running != nil
		x.mu.Unlock()
		if !there {
			continue
		}
		to := r.Clone(r.Context())
		to.URL.Host = x.url.Host
		reply, err = f.line.RoundTrip(to)
		var unsent *net.OpError
		if err == nil || !errors.As(err, &unsent) || unsent.Op != "dial" {
			return reply, err
		}
	}
	return nil, err
}

// states lists the state of each part.
func (f *balancer) states(w http.ResponseWriter, r *http.Request) {
	all := make([]partState, len(f.parts))
	for i, x := range f.parts {
		all[i] = x.state(r.Context())
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID }) // the nodes, then Redis
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{"parts": all})
}

// act kills a part, or starts it early. It accepts only requests to a loopback IP address: a page of another site can
// use a host name that resolves to loopback.
func (f *balancer) act(w http.ResponseWriter, r *http.Request) {
	if at, err := netip.ParseAddrPort(r.Host); err != nil || !at.Addr().IsLoopback() {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	for _, x := range f.parts {
		if x.id != r.PathValue("id") {
			continue
		}
		switch r.PathValue("act") {
		case "kill":
			x.kill()
			f.untilEnded(r.Context(), x)
		case "start":
			x.start()
		default:
			w.WriteHeader(http.StatusNotFound)
			return
		}
		f.states(w, r)
		return
	}
	w.WriteHeader(http.StatusNotFound)
}

// untilEnded waits until a killed part has ended, at most 0.5 seconds.
func (f *balancer) untilEnded(ctx context.Context, x *part) {
	for range 50 {
		x.mu.Lock()
		ended := x.running == nil
		x.mu.Unlock()
		if ended || ctx.Err() != nil {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}
