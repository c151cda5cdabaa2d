package web

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// connections limits the connections of one network: the idle ones, and all of them. Over the first limit, it closes
// the connection that has been idle longest; its client then has to reconnect, but loses no request. Over the second
// limit, it does the same, and closes the new connection if none is idle. Streams are not counted:
// Limits.StreamsPerAddress limits them. A nil *connections limits nothing. It is safe for concurrent use.
type connections struct {
	maxIdle, max int
	exempt       func(netip.Addr) bool // proxies, which connect for many clients

	mu sync.Mutex
	of map[netip.Addr]*networkConnections
	at map[net.Conn]*connection
}

type networkConnections struct {
	all  int
	idle list.List // of net.Conn, the longest idle first
}

type connection struct {
	network netip.Addr
	element *list.Element // in idle; nil while the connection is not idle
}

func newConnections(maxIdle, most int, exempt func(netip.Addr) bool) *connections {
	return &connections{
		maxIdle: maxIdle, max: most, exempt: exempt, of: make(map[netip.Addr]*networkConnections),
		at: make(map[net.Conn]*connection),
	}
}

// changed is the ConnState function of the http.Server, which calls it for every state change of a connection.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if c == nil {
		return
	}
	if over := c.note(conn, state); over != nil {
		_ = over.Close() // outside the lock, because Close causes another state change
	}
}

// note records the state of a connection and returns the connection to close, if there is one.
func (c *connections) note(conn net.Conn, state http.ConnState) (over net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateNew {
		address := parseAddress(conn.RemoteAddr().String())
		if !address.IsValid() || c.exempt(address) {
			return nil
		}
		from := network(address)
		all := c.of[from]
		if all == nil {
			all = new(networkConnections)
			c.of[from] = all
		}
		all.all++
		c.at[conn] = &connection{network: from}
		if all.all <= c.max {
			return nil
		}
		if longest := all.idle.Front(); longest != nil {
			return c.forget(longest.Value.(net.Conn))
		}
		return c.forget(conn)
	}
	known := c.at[conn]
	if known == nil {
		return nil
	}
	all := c.of[known.network]
	if known.element != nil {
		all.idle.Remove(known.element)
		known.element = nil
	}
	switch state {
	case http.StateHijacked, http.StateClosed:
		c.forget(conn)
	case http.StateIdle:
		known.element = all.idle.PushBack(conn)
		if all.idle.Len() > c.maxIdle {
			return c.forget(all.idle.Front().Value.(net.Conn))
		}
	}
	return nil
}

// forget stops counting a connection and returns the connection.
func (c *connections) forget(conn net.Conn) net.Conn {
	known := c.at[conn]
	delete(c.at, conn)
	all := c.of[known.network]
	if known.element != nil {
		all.idle.Remove(known.element)
	}
	if all.all--; all.all == 0 {
		delete(c.of, known.network)
	}
	return conn
}
