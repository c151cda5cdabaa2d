// Package nodetest is for the tests of backends that are reached over a socket: it loses what passes on it.
package nodetest

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// Proxy stands between a client and a server and loses what it is told to lose.
type Proxy struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	losing []string // the next request that has one of these gets no reply
	drops  []string // the next request that has one of these never arrives
	conns  map[net.Conn]bool
	lost   int
	away   bool
}

// Start starts a proxy that listens on one Unix socket and passes on to another; it ends with the test.
func Start(t testing.TB, listen, server string) *Proxy {
	t.Helper()
	listener, err := net.Listen("unix", listen)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, server: server, conns: make(map[net.Conn]bool)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.Cut()
		running.Wait()
	})
	return p
}

// LoseReplyTo lets the next request that contains text be done and its answer be lost, and whatever else that connection
// would have carried.
func (p *Proxy) LoseReplyTo(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing = append(p.losing, text)
}

// LoseRequest loses the next request that contains text, and whatever else that connection would have carried.
func (p *Proxy) LoseRequest(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops = append(p.drops, text)
}

// Lost is how many requests or replies were lost so far.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Cut breaks every connection there is. New ones are served, until Away.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

// Away breaks every connection there is and serves no new one, or serves them again.
func (p *Proxy) Away(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away = away; away {
		p.cut()
	}
}

func (p *Proxy) cut() {
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("unix", p.server)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	if p.away {
		p.mu.Unlock()
		client.Close()
		server.Close()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	mute := make(chan struct{})
	var replies sync.WaitGroup
	replies.Go(func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			select {
			case <-mute:
				continue
			default:
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	})
	defer replies.Wait()
	defer server.Close()
	muted, deaf := false, false
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if p.takes(&p.losing, string(buf[:n])) && !muted {
			muted = true
			close(mute)
		}
		if deaf = deaf || p.takes(&p.drops, string(buf[:n])); deaf {
			continue
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// takes reports whether a request is one of those to lose, and takes it off the list.
func (p *Proxy) takes(list *[]string, request string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, text := range *list {
		if strings.Contains(request, text) {
			*list = append((*list)[:i:i], (*list)[i+1:]...)
			p.lost++
			return true
		}
	}
	return false
}
