package web

import "time"

// TakesGzip exports takesGzip for the tests in package web_test.
var TakesGzip = takesGzip

// RoutesOf lists the router's table, as "GET /v1/clinic", for tests that must know every route.
func RoutesOf(s *Server) []string {
	var all []string
	for _, rt := range s.routes() {
		all = append(all, rt.method+" "+rt.pattern)
	}
	return all
}

// NeverSweep turns off the periodic check of the streams, so that only events end them.
func NeverSweep(o *Options) { o.sweep = 1000 * time.Hour }
