package redistest

import (
	"path/filepath"
	"strconv"
	"testing"

	"holdfast/holds/node/nodetest"
)

// Proxy stands between a client and a server and loses what it is told to lose.
type Proxy struct {
	*nodetest.Proxy
	socket string
}

// Proxy starts a proxy to the server; it ends with the test.
func (s *Server) Proxy(t testing.TB) *Proxy {
	t.Helper()
	socket := filepath.Join(s.dir, "proxy"+strconv.FormatInt(s.proxies.Add(1), 10))
	return &Proxy{nodetest.Start(t, socket, s.Socket()), socket}
}

// URL is the proxy's for redis.Open.
func (p *Proxy) URL() string { return "unix://" + p.socket }
