package web

import "net/http"

// protectedResource is the path of the metadata that describes how programs authenticate (RFC 9728). It is for the API;
// the path with /mcp appended is for MCP.
const protectedResource = "/.well-known/oauth-protected-resource"

// protectedResourceJSON states that a key is sent as a bearer token. It names no authorization server, because there is
// none: the clinic creates the keys and hands them out.
type protectedResourceJSON struct {
	Resource      string   `json:"resource"`
	Name          string   `json:"resource_name"`
	Methods       []string `json:"bearer_methods_supported"`
	Documentation string   `json:"resource_documentation"`
}

func (s *Server) describeResource(path string) handle {
	return func(c *call) error {
		c.rw.Header()["Cache-Control"] = noCache
		base := c.base()
		return c.json(http.StatusOK, protectedResourceJSON{base + path, s.engine.Clinic.Schedule().Clinic.Name,
			[]string{"header"}, base + "/docs"})
	}
}

// challenge returns the WWW-Authenticate headers for a caller without a credential. On /mcp, they contain the URL of
// the metadata, which MCP clients read.
func (c *call) challenge() []string {
	if c.route.pattern == "/mcp" {
		return []string{bearerChallenge[0] + `, resource_metadata="` + c.base() + protectedResource + `/mcp"`}
	}
	return bearerChallenge
}
