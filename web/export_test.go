package web

import "time"

// TakesGzip parses Accept-Encoding.
var TakesGzip = takesGzip

// RoutesOf lists the router's table, as "GET /v1/clinic", for tests that must know every route.
func RoutesOf(s *Server) []string {
	var all []string
	for _, rt := range s.routes() {
		all = append(all, rt.method+" "+rt.pattern)
	}
	return all
}

// NeverSweep turns the periodic check of the streams off, so that only events end them.
func NeverSweep(o *Options) { o.sweep = 1000 * time.Hour }
