package redistest

import (
	"path/filepath"
	"strconv"
	"testing"

	"holdfast/holds/node/nodetest"
)

// Proxy connects clients to a server and loses the requests and responses that the test chooses.
type Proxy struct {
	*nodetest.Proxy
	socket string
}

// Proxy starts a proxy to the server. It stops at the end of the test.
func (s *Server) Proxy(t testing.TB) *Proxy {
	t.Helper()
	socket := filepath.Join(s.dir, "proxy"+strconv.FormatInt(s.proxies.Add(1), 10))
	return &Proxy{nodetest.Start(t, socket, s.Socket()), socket}
}

// URL returns the proxy's URL for redis.Open.
func (p *Proxy) URL() string { return "unix://" + p.socket }
