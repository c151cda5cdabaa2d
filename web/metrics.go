package web

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts what the server does. Labels are patterns of routes, classes of status and words from fixed lists:
// nothing that a request brings along. A route is in the list from its first request on, and its time is counted with
// those of its kind, so that a server with a hundred routes has a few hundred lines and not thousands.
type metrics struct {
	registry *prometheus.Registry
	seconds  [len(requestKinds)]prometheus.Observer
	routes   []*routeMetrics // all there are; complete before the first request
	handler  http.Handler
}

// requestKinds are the kinds of requests whose times are told apart. What waits for somebody else's server, such as an
// agent's booking, and what people ask who operate the server say nothing about how a patient is served. Streams are open
// for as long as they are open, and their time is not counted.
var requestKinds = [...]string{"page", "read", "write", "outside", "operation"}

// requestKindOf is the place of a route among requestKinds; -1 for a stream.
func requestKindOf(rt *route) int {
	kind := "write"
	switch {
	case strings.HasSuffix(rt.pattern, "/stream"):
		return -1
	case strings.HasPrefix(rt.pattern, "/v1/agent/") || rt.pattern == "/mcp" || strings.HasSuffix(rt.pattern, "/mail-test"):
		kind = "outside"
	case rt.access == operator || strings.HasPrefix(rt.pattern, "/v1/debug/") || rt.pattern == "/v1/queue-status" || rt.pattern == "/livez" || rt.pattern == "/readyz":
		kind = "operation"
	case !strings.HasPrefix(rt.pattern, "/v1/"):
		kind = "page"
	case rt.method == http.MethodGet:
		kind = "read"
	}
	return slices.Index(requestKinds[:], kind)
}

var (
	requestsDesc = prometheus.NewDesc("holdfast_http_requests_total", "Requests answered, by route and class of status; none: nothing was sent.", []string{"route", "class"}, nil)
	routeDesc    = prometheus.NewDesc("holdfast_http_route_seconds_total", "Time spent answering, by route.", []string{"route"}, nil)
)

func newMetrics(version string) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "holdfast_http_request_seconds", Help: "Time from the request's head to its answer's end, by kind of request; streams are left out.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"kind"})
	for i, kind := range requestKinds {
		m.seconds[i] = seconds.WithLabelValues(kind)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_build_info", Help: "Always 1; the label is the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	heap := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_heap_bytes", Help: "What lives on the heap, with what the next collection will free.",
	}, func() float64 { return float64(heapBytes()) })
	// The two dozen figures of runtime.MemStats stop the world for each scrape; one of the heap is enough.
	m.registry.MustRegister(m, seconds, build, heap, collectors.NewGoCollector(collectors.WithGoCollectorMemStatsMetricsDisabled()),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

// routeMetrics are those of one route.
type routeMetrics struct {
	name    string
	answers [len(statusClasses)]atomic.Uint64
	nanos   atomic.Int64
	seconds prometheus.Observer // of its kind; nil for a stream
}

// statusClasses are the classes of status; none: nothing was sent.
var statusClasses = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// route begins to count a route under "GET /v1/clinic", or under its pattern alone where it stands for any method.
func (m *metrics) route(rt *route) *routeMetrics {
	name := strings.TrimSpace(rt.method + " " + rt.pattern)
	if i := slices.IndexFunc(m.routes, func(r *routeMetrics) bool { return r.name == name }); i >= 0 {
		return m.routes[i] // what has no route is answered in three ways, and counted once
	}
	r := &routeMetrics{name: name}
	if kind := requestKindOf(rt); kind >= 0 {
		r.seconds = m.seconds[kind]
	}
	m.routes = append(m.routes, r)
	return r
}

func (r *routeMetrics) observe(status int, took time.Duration) {
	class := status / 100
	if class >= len(r.answers) || status == statusGone {
		class = 0
	}
	r.answers[class].Add(1)
	if r.seconds != nil {
		r.nanos.Add(int64(took))
		r.seconds.Observe(took.Seconds())
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	to <- requestsDesc
	to <- routeDesc
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, r := range m.routes {
		asked := false
		for class, name := range statusClasses {
			if n := r.answers[class].Load(); n > 0 {
				asked = true
				to <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(n), r.name, name)
			}
		}
		if asked && r.seconds != nil {
			to <- prometheus.MustNewConstMetric(routeDesc, prometheus.CounterValue, time.Duration(r.nanos.Load()).Seconds(), r.name)
		}
	}
}

func (s *Server) exposeMetrics(c *call) error {
	s.metrics.handler.ServeHTTP(&c.rw, c.r)
	return nil
}
