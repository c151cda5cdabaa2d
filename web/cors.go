package web

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"
)

// crossSite contains the routes that a page of another website can call from a browser, if the setting corsOrigins
// lists the page's origin: reading, holding, booking, and requesting a session. All are open to anonymous visitors.
// Manage links, sign-in, and everything that needs a key are not included. The keys are the names of routes, as in
// routeMetrics.
var crossSite = map[string]bool{
	"GET /v1/clinic":                                true,
	"GET /v1/appointment-types":                     true,
	"GET /v1/appointment-types/{id}":                true,
	"GET /v1/appointment-types/{id}/timeslots":      true,
	"GET /v1/appointment-types/{id}/next-available": true,
	"GET /v1/appointment-types/{id}/explain":        true,
	"GET /v1/specialists":                           true,
	"GET /v1/specialists/{id}":                      true,
	"GET /v1/specialists/{id}/picture":              true,
	"GET /v1/holds":                                 true,
	"POST /v1/holds":                                true,
	"PATCH /v1/holds":                               true,
	"DELETE /v1/holds":                              true,
	"POST /v1/holds/release":                        true,
	"POST /v1/holds/stream-ticket":                  true,
	"GET /v1/holds/stream":                          true,
	"POST /v1/slots/select":                         true,
	"POST /v1/slots/deselect":                       true,
	"GET /v1/slots/poll":                            true,
	"POST /v1/appointment-types/{id}/book":          true,
	"POST /v1/appointment-types/{id}/waitlist":      true,
	"GET /v1/presence/snapshot":                     true,
	"POST /v1/sessions":                             true,
	"GET /v1/sessions/{id}":                         true,
	"POST /v1/sessions/{id}/cancel":                 true,
	"GET /openapi.json":                             true,
	"GET /openapi.yaml":                             true,
}

// Header values of CORS (Fetch standard, section 3.3). Access-Control-Allow-Credentials is never sent, so a browser
// neither sends cookies nor lets the page read the response to a request that carried cookies. Authorization is not
// among the allowed headers, so a page cannot send an API key.
var (
	corsHeaders = []string{
		"Content-Type, Idempotency-Key, Holdfast-Client, If-None-Match, Last-Event-ID, X-Request-Id, Traceparent",
	}
	corsExposed = []string{
		"ETag, Retry-After, X-Request-Id, Location, Date, Idempotency-Replayed, RateLimit-Limit, RateLimit-Remaining, " +
			"RateLimit-Reset",
	}
	corsMaxAge = []string{"600"} // seconds
)

// admitSite detects a request from a page whose origin is in corsOrigins. It allows the page to read the response, and
// removes the cookies that the browser adds automatically, so that the caller is an anonymous visitor.
func (c *call) admitSite() {
	if !crossSite[c.counted.name] {
		return
	}
	origins := c.engine.Clinic.Settings().CORSOrigins
	if len(origins) == 0 {
		return
	}
	c.rw.perOrigin = true
	origin := c.r.Header["Origin"]
	if len(origin) != 1 || !slices.Contains(origins, origin[0]) || c.r.Header["Authorization"] != nil {
		return
	}
	c.site = origin[0]
	c.r.Header.Del("Cookie")
	h := c.rw.Header()
	h["Access-Control-Allow-Origin"] = origin
	h["Access-Control-Expose-Headers"] = corsExposed
}

// preflights registers the routes for preflight requests. With such a request, a browser asks whether a page of another
// website may send the real request.
func (s *Server) preflights(tree *httprouter.Router, all []*route) {
	methods := make(map[string][]string)   // by pattern: those that other websites may use
	supported := make(map[string][]string) // by pattern: all
	for _, rt := range all {
		if crossSite[rt.method+" "+rt.pattern] {
			methods[rt.pattern] = append(methods[rt.pattern], rt.method)
		}
		supported[rt.pattern] = append(supported[rt.pattern], rt.method)
		if rt.method == http.MethodGet {
			supported[rt.pattern] = append(supported[rt.pattern], http.MethodHead)
		}
	}
	rt := &route{method: http.MethodOptions, pattern: "preflight", access: anyone}
	counted := s.metrics.route(rt)
	for _, pattern := range slices.Sorted(maps.Keys(methods)) {
		allowed := []string{strings.Join(methods[pattern], ", ")}
		allow := []string{strings.Join(append(supported[pattern], http.MethodOptions), ", ")}
		rt := &route{method: rt.method, pattern: rt.pattern, access: anyone, handle: func(c *call) error {
			c.rw.Header()["Allow"] = allow
			return c.preflight(allowed)
		}}
		tree.Handle(http.MethodOptions, treePath(pattern), func(w http.ResponseWriter,
			r *http.Request, p httprouter.Params) {
			s.serve(rt, counted, params{p}, w, r)
		})
	}
}

// preflight returns the methods that a page of an allowed origin may use on a path. For any other origin, the response
// has no CORS headers, and the browser does not send the real request.
func (c *call) preflight(methods []string) error {
	h := c.rw.Header()
	origins := c.engine.Clinic.Settings().CORSOrigins
	c.rw.perOrigin = len(origins) > 0
	if origin := c.r.Header["Origin"]; len(origin) == 1 && slices.Contains(origins, origin[0]) {
		h["Access-Control-Allow-Origin"] = origin
		h["Access-Control-Allow-Methods"] = methods
		h["Access-Control-Allow-Headers"] = corsHeaders
		h["Access-Control-Max-Age"] = corsMaxAge
	}
	return c.empty(http.StatusNoContent)
}
