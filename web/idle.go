package web

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// idleConns bounds the connections of one network that wait for their next request. Past the bound the one that has
// waited longest is closed, which costs its owner a new connection and nobody a request. A nil one bounds nothing.
type idleConns struct {
	max    int
	exempt func(netip.Addr) bool // proxies, who speak for many

	mu sync.Mutex
	of map[netip.Addr]*list.List // of net.Conn, the longest idle first
	at map[net.Conn]idleConn
}

type idleConn struct {
	network netip.Addr
	element *list.Element
}

func newIdleConns(most int, exempt func(netip.Addr) bool) *idleConns {
	return &idleConns{max: most, exempt: exempt, of: make(map[netip.Addr]*list.List), at: make(map[net.Conn]idleConn)}
}

// changed is told of every change of a connection, as http.Server.ConnState.
func (i *idleConns) changed(conn net.Conn, state http.ConnState) {
	if i == nil || state == http.StateNew {
		return // the head of a first request has a deadline of its own
	}
	if over := i.note(conn, state == http.StateIdle); over != nil {
		_ = over.Close()
	}
}

// note counts a connection as idle or not, and returns the one to be closed, if there is one.
func (i *idleConns) note(conn net.Conn, idle bool) (over net.Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if was, known := i.at[conn]; known {
		i.drop(conn, was)
	}
	if !idle {
		return nil
	}
	address := parseAddress(conn.RemoteAddr().String())
	if !address.IsValid() || i.exempt(address) {
		return nil
	}
	from := network(address)
	waiting := i.of[from]
	if waiting == nil {
		waiting = list.New()
		i.of[from] = waiting
	}
	i.at[conn] = idleConn{from, waiting.PushBack(conn)}
	if waiting.Len() > i.max {
		over = waiting.Front().Value.(net.Conn)
		i.drop(over, i.at[over])
	}
	return over
}

func (i *idleConns) drop(conn net.Conn, was idleConn) {
	delete(i.at, conn)
	waiting := i.of[was.network]
	if waiting.Remove(was.element); waiting.Len() == 0 {
		delete(i.of, was.network)
	}
}
