package web

import (
	"strings"
	"time"

	"holdfast/engine/account"
)

// Every request has a deadline, and its calls to the database and the live state inherit the deadline. So no caller
// waits forever for a call that hangs, and waiting callers do not pile up. For a stream, the deadline applies only
// while the server opens the stream.
const (
	usualPatience = 10 * time.Second
	agentPatience = 30 * time.Second // calls to the upstream have shorter limits
	longPatience  = 80 * time.Second // for operations on the whole clinic; must be less than writeTime
)

// longRoutes are the routes whose requests may take up to longPatience. Test emails wait for a mail server, and
// sign-ins wait for the identity provider. The others read or write the data of the whole clinic.
var longRoutes = map[string]bool{
	"POST /v1/import": true, "POST /v1/import/appointments": true, "POST /v1/import/appointments-plan": true,
	"GET /v1/export/appointments": true, "GET /v1/export": true, "POST /v1/people/erase": true,
	"POST /v1/people/erase-plan": true, "POST /v1/settings/mail-test": true, "POST /v1/settings/mail-server/test": true,
	"POST /v1/auth/openid": true, "GET " + account.ReturnPath: true, "PUT /v1/settings/openid": true,
}

// patience returns the time limit of a request to this route.
func (s *Server) patience(rt *route) time.Duration {
	usual := s.options.Patience
	if usual <= 0 {
		usual = usualPatience
	}
	switch {
	case longRoutes[rt.method+" "+rt.pattern]:
		return max(longPatience, usual)
	case rt.access == agentKey || strings.HasPrefix(rt.pattern, "/v1/agent/"):
		return max(agentPatience, usual)
	}
	return usual
}
