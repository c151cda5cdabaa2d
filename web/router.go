package web

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"
)

// handle answers one call: it leaves an answer on it, writes to its writer, or returns an error for the table.
type handle func(*call) error

// route is one line of the table of routes. Logs and metrics contain its pattern, and nothing else of a request's
// path.
type route struct {
	method  string
	pattern string // parameters in braces: /v1/appointments/{id}
	access  access
	handle  handle
}

// params are the parameters of a matched path.
type params struct{ httprouter.Params }

// newRouter registers the routes. It adds to the router: the matched pattern is known, every GET answers HEAD, there
// are no redirects, and unknown routes get the same kind of answer as all others.
func (s *Server) newRouter(all []*route) http.Handler {
	tree := httprouter.New()
	tree.RedirectTrailingSlash = false
	tree.RedirectFixedPath = false
	words := make(map[string]http.Handler) // by path: POST routes with a word where other routes have an id
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

// searchPattern has a word where /v1/appointments/{id}/cancel has an id, which the tree cannot
// represent.
const searchPattern = "/v1/appointments/search"

// unmatched answers unknown routes. Their paths are never logged.
func (s *Server) unmatched(h handle) http.Handler {
	rt := &route{pattern: "unmatched", access: anyone, handle: h}
	counted := s.metrics.route(rt)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(rt, counted, params{}, w, r) })
}

// pageRoute is a page as logs and metrics name it. Pages are found by name and not by the router, which allows no "/"
// next to a tree.
type pageRoute struct {
	route   *route
	counted *routeMetrics
}

// is gives a request that had no route the name of the page that it turned out to ask for.
func (c *call) is(pattern string) {
	c.route, c.counted = c.pages[pattern].route, c.pages[pattern].counted
}

// methodNotAllowed finds the Allow header already set.
func (s *Server) methodNotAllowed(c *call) error {
	return errMethodNotAllowed.with("This path answers " + c.rw.Header().Get("Allow") + ".")
}
