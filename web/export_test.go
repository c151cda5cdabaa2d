package web

import "time"

// TakesGzip is how Accept-Encoding is read.
var TakesGzip = takesGzip

// RoutesOf lists the router's own table, as "GET /v1/clinic", for tests that must know of every route.
func RoutesOf(s *Server) []string {
	var all []string
	for _, rt := range s.routes() {
		all = append(all, rt.method+" "+rt.pattern)
	}
	return all
}

// NeverSweep has nobody look at the streams by the clock: what ends one is something that happened.
func NeverSweep(o *Options) { o.sweep = 1000 * time.Hour }
