package web

import (
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/store"
)

// metrics counts requests and their durations. Labels are route patterns, status classes and words from fixed lists; no
// part of a label comes from a request. A route is listed from its first request on. The duration histograms are per
// kind of request and not per route, so a server with a hundred routes has a few hundred lines instead of thousands.
type metrics struct {
	version string
	started time.Time
	seconds [len(requestKinds)]store.Durations
	routes  []*routeMetrics // all routes; complete before the first request
}

// requestKinds are the kinds of requests whose durations are measured separately. Requests that wait for an external
// server (such as an agent's booking) and requests of operators have their own kinds, because their durations do not
// show how long patients wait. The durations of streams are not measured.
var requestKinds = [...]string{"page", "read", "write", "outside", "operation"}

// requestKindOf returns the index of a route's kind in requestKinds, or -1 for a stream.
func requestKindOf(rt *route) int {
	kind := "write"
	switch {
	case strings.HasSuffix(rt.pattern, "/stream"):
		return -1
	case strings.HasPrefix(rt.pattern, "/v1/agent/") || rt.pattern == "/mcp" ||
		strings.HasSuffix(rt.pattern, "/mail-test") || strings.HasSuffix(rt.pattern, "/webhook-test") ||
		strings.HasSuffix(rt.pattern, "/mail-server/test") || strings.HasSuffix(rt.pattern, "/sms-gateway/test") ||
		strings.Contains(rt.pattern, "/openid"):
		kind = "outside"
	case rt.access == operator || strings.HasPrefix(rt.pattern, "/v1/debug/") || rt.pattern == "/v1/queue-status" ||
		rt.pattern == "/livez" || rt.pattern == "/readyz":
		kind = "operation"
	case !strings.HasPrefix(rt.pattern, "/v1/"):
		kind = "page"
	case rt.method == http.MethodGet:
		kind = "read"
	}
	return slices.Index(requestKinds[:], kind)
}

var (
	requestsDesc = described("http_requests_total", "Requests, by route and status class; none: nothing was sent.",
		"class", "route")
	routeDesc   = described("http_route_seconds_total", "Time spent answering, by route.", "route")
	secondsDesc = described("http_request_seconds",
		"Time from the request's header to the end of its response, by kind of request, without streams.", "kind")
	buildDesc = described("build_info", "Always 1; the label is the version.", "version")
	heapDesc  = described("heap_bytes", "Heap memory in use, including garbage that the next collection frees.")

	// These names are the same in every Go program, so that existing dashboards work.
	goDesc         = &metric{"go_info", "Information about the Go environment.", []string{"version"}}
	goroutinesDesc = &metric{"go_goroutines", "Number of goroutines that currently exist.", nil}
	startDesc      = &metric{"process_start_time_seconds", "Start time of the process since unix epoch in seconds.", nil}
	cpuDesc        = &metric{"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", nil}
	residentDesc   = &metric{"process_resident_memory_bytes", "Resident memory size in bytes.", nil}
	filesDesc      = &metric{"process_open_fds", "Number of open file descriptors.", nil}
	mostFilesDesc  = &metric{"process_max_fds", "Maximum number of open file descriptors.", nil}
)

func newMetrics(version string) *metrics { return &metrics{version: version, started: time.Now()} }

// routeMetrics holds the counters of one route.
type routeMetrics struct {
	name    string
	answers [len(statusClasses)]atomic.Uint64
	nanos   atomic.Int64
	seconds *store.Durations // durations of the route's kind; nil for a stream
}

// statusClasses are the classes of status codes; "none" counts requests without a response.
var statusClasses = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// route creates the counters of a route. Their name is the method and the pattern, such as "GET /v1/clinic", or only
// the pattern if the route accepts any method.
func (m *metrics) route(rt *route) *routeMetrics {
	name := strings.TrimSpace(rt.method + " " + rt.pattern)
	if i := slices.IndexFunc(m.routes, func(r *routeMetrics) bool { return r.name == name }); i >= 0 {
		return m.routes[i] // the three handlers of unmatched requests share their counters
	}
	r := &routeMetrics{name: name}
	if kind := requestKindOf(rt); kind >= 0 {
		r.seconds = &m.seconds[kind]
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
		r.seconds.Observe(took)
	}
}

func (m *metrics) expose(to *exposition) {
	for _, r := range m.routes {
		asked := false
		for class, name := range statusClasses {
			if n := r.answers[class].Load(); n > 0 {
				asked = true
				to.counter(requestsDesc, n, name, r.name)
			}
		}
		if asked && r.seconds != nil {
			to.value(routeDesc, "counter", time.Duration(r.nanos.Load()).Seconds(), r.name)
		}
	}
	for i, kind := range requestKinds {
		to.durations(secondsDesc, m.seconds[i].Counts(), kind)
	}
	to.gauge(buildDesc, 1, m.version)
	to.gauge(heapDesc, float64(heapBytes()))
	to.gauge(goDesc, 1, runtime.Version())
	to.gauge(goroutinesDesc, float64(runtime.NumGoroutine()))
	to.gauge(startDesc, float64(m.started.UnixMilli())/1000)
	// Omit values that the operating system does not provide.
	if n := residentBytes(); n > 0 {
		to.gauge(residentDesc, float64(n))
	}
	if took, ok := processorTime(); ok {
		to.value(cpuDesc, "counter", took.Seconds())
	}
	if open, most, ok := openFiles(); ok {
		to.gauge(filesDesc, float64(open))
		to.gauge(mostFilesDesc, float64(most))
	}
}

func (s *Server) exposeMetrics(c *call) error {
	var to exposition
	s.metrics.expose(&to)
	gauges{s}.expose(c.ctx(), &to)
	return c.document(expositionType, to.text())
}
