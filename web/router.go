package web

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"
)

// handle processes one call. It sets the response of the call, writes the response itself, or returns an error, which
// problemOf converts.
type handle func(*call) error

// route is one line of the table of routes. Logs and metrics contain its pattern, and nothing else of a request's
// path.
type route struct {
	method  string
	pattern string // parameters in braces: /v1/appointments/{id}
	access  access
	handle  handle
}

// params holds the parameters of a matched path.
type params struct{ httprouter.Params }

// newRouter returns a handler for all routes. Every GET route also handles HEAD. The router does not redirect, and
// unmatched requests get the same checks, headers and problems as all others.
func (s *Server) newRouter(all []*route) http.Handler {
	tree := httprouter.New()
	tree.RedirectTrailingSlash = false
	tree.RedirectFixedPath = false
	words := make(map[string]http.Handler) // by path: POST routes with a fixed word where other routes have an id
	for _, rt := range all {
		counted := s.metrics.route(rt)
		path := treePath(rt.pattern)
		answer := func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
			s.serve(rt, counted, params{p}, w, r)
		}
		if rt.pattern == searchPattern {
			words[path] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, nil) })
			continue
		}
		tree.Handle(rt.method, path, answer)
		if rt.method == http.MethodGet {
			tree.Handle(http.MethodHead, path, answer)
		}
	}
	s.preflights(tree, all)
	s.pages = make(map[string]*pageRoute)
	for _, pattern := range append(slices.Collect(maps.Keys(pageFiles)), assetPattern, loosePattern, manualPattern) {
		rt := &route{method: http.MethodGet, pattern: pattern}
		s.pages[pattern] = &pageRoute{rt, s.metrics.route(rt)}
	}
	tree.NotFound = s.unmatched(s.page)
	tree.MethodNotAllowed = s.unmatched(s.methodNotAllowed)
	tree.GlobalOPTIONS = s.unmatched(func(c *call) error { return c.empty(http.StatusNoContent) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if word, ok := words[r.URL.Path]; ok {
				word.ServeHTTP(w, r)
				return
			}
		}
		tree.ServeHTTP(w, r)
	})
}

// treePath returns a pattern in the form of the router's tree: /v1/appointments/:id.
func treePath(pattern string) string { return strings.NewReplacer("{", ":", "}", "").Replace(pattern) }

// searchPattern has a fixed word where /v1/appointments/{id}/cancel has an id. The router's tree cannot contain both.
const searchPattern = "/v1/appointments/search"

// unmatched returns a handler for requests that match no route. The paths of such requests are never logged.
func (s *Server) unmatched(h handle) http.Handler {
	rt := &route{pattern: "unmatched", access: anyone, handle: h}
	counted := s.metrics.route(rt)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(rt, counted, params{}, w, r) })
}

// pageRoute is the route of a page in logs and metrics. The pages are not in the router's tree: page finds them by
// name.
type pageRoute struct {
	route   *route
	counted *routeMetrics
}

// is sets the route of a request that matched no route to the route of the requested page.
func (c *call) is(pattern string) {
	c.route, c.counted = c.pages[pattern].route, c.pages[pattern].counted
}

// methodNotAllowed responds with 405. The router has already set the Allow header.
func (s *Server) methodNotAllowed(c *call) error {
	return errMethodNotAllowed.with("This path supports only " + c.rw.Header().Get("Allow") + ".")
}
