package web

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"holdfast/engine"
	"holdfast/holds"
)

// metrics counts what the server does. Labels are methods, patterns of routes and classes of status: nothing that a
// request brings along.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	handler  http.Handler
}

func newMetrics(version string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_http_requests_total", Help: "Requests answered, by route and class of status.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "holdfast_http_request_seconds", Help: "Time from the request's head to its answer's end, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"method", "route"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_build_info", Help: "Always 1; the label is the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.seconds, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

// presence adds what is so at the moment of asking. A live state that cannot be read is shown as NaN.
func (m *metrics) presence(e *engine.Engine) {
	gauge := func(name, help string, ask func(context.Context) (int, error)) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			n, err := ask(ctx)
			if err != nil {
				return math.NaN()
			}
			return float64(n)
		}))
	}
	stat := func(of func(holds.Stats) int) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			s, err := e.HoldStats(ctx)
			return of(s), err
		}
	}
	gauge("holdfast_specialists_online", "Specialists who are online.", stat(func(s holds.Stats) int { return s.Online }))
	gauge("holdfast_specialists_available", "Specialists who can take a session, at most 10 seconds old.", e.Beacon)
	gauge("holdfast_selections", "Clients who are looking at a slot.", stat(func(s holds.Stats) int { return s.Selections }))
}

// routeMetrics are those of one route, looked up once.
type routeMetrics struct {
	answers [6]prometheus.Counter // by class of status; 0: none was sent
	seconds prometheus.Observer
}

func (m *metrics) route(rt *route) *routeMetrics {
	method := rt.method
	if method == "" {
		method = "any"
	}
	r := &routeMetrics{seconds: m.seconds.WithLabelValues(method, rt.pattern)}
	for class := range r.answers {
		label := strconv.Itoa(class) + "xx"
		if class == 0 {
			label = "none"
		}
		r.answers[class] = m.requests.WithLabelValues(method, rt.pattern, label)
	}
	return r
}

func (r *routeMetrics) observe(status int, took time.Duration) {
	class := status / 100
	if class >= len(r.answers) || status == statusGone {
		class = 0
	}
	r.answers[class].Inc()
	r.seconds.Observe(took.Seconds())
}

func (s *Server) exposeMetrics(c *call) error {
	s.metrics.handler.ServeHTTP(&c.rw, c.r)
	return nil
}
