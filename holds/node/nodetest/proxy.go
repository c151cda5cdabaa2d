// Package nodetest helps to test backends that use a socket: it loses requests and responses in transit.
package nodetest

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy connects clients to a server and loses the requests and responses that the test chooses.
type Proxy struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	losing []string // the next request that contains one of these gets no reply
	drops  []string // the next request that contains one of these never arrives
	conns  map[net.Conn]bool
	lost   int
	away   bool
	mute   bool
	late   time.Duration
	nth    int // every nth response is lost; 0 means none
	count  int
}

// Start starts a proxy that listens on one Unix socket and connects to another. It stops at the end of the test.
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

// LoseReplyTo loses the response to the next request that contains text, and all later responses on that connection.
// The server executes the request.
func (p *Proxy) LoseReplyTo(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing = append(p.losing, text)
}

// LoseRequest loses the next request that contains text, and all later requests on that connection.
func (p *Proxy) LoseRequest(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops = append(p.drops, text)
}

// Lost returns how many requests and responses have been lost.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Cut breaks every open connection. New connections are served, unless Away is set.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

// Away breaks every open connection and refuses new ones, until Away is called with false.
func (p *Proxy) Away(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away = away; away {
		p.cut()
	}
}

// Mute passes every request on and loses every response, until Mute is called with false. That call breaks all
// connections, because responses are missing on them.
func (p *Proxy) Mute(mute bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute = mute; !mute {
		p.cut()
	}
}

// Delay delays every response by late, in order. Zero ends the delay for responses that the proxy has not received yet.
func (p *Proxy) Delay(late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = late
}

// LoseEvery loses every nth response and cuts its connection. Zero turns this off.
func (p *Proxy) LoseEvery(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nth = n
}

// passes reports whether and when a response is passed on, and whether the connection is cut instead.
func (p *Proxy) passes() (ok, cut bool, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	if p.nth > 0 && p.count%p.nth == 0 {
		p.lost++
		return false, true, time.Time{}
	}
	return !p.mute, false, time.Now().Add(p.late)
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
	mute, gone := make(chan struct{}), make(chan struct{})
	var replies sync.WaitGroup
	answers := make(chan answer, 1<<12)
	replies.Go(func() {
		defer close(answers)
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			ok, cut, at := p.passes()
			if cut {
				return // closes the client's connection, which closes the server's
			}
			if ok && !isClosed(mute) {
				select {
				case answers <- answer{slices.Clone(buf[:n]), at}:
				case <-gone:
				}
			}
		}
	})
	replies.Go(func() {
		defer client.Close()
		for a := range answers {
			late := time.NewTimer(time.Until(a.at))
			select {
			case <-gone:
				late.Stop()
				return
			case <-late.C:
			}
			if isClosed(mute) {
				continue
			}
			if _, err := client.Write(a.bytes); err != nil {
				return
			}
		}
	})
	defer replies.Wait()
	defer close(gone)
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

// answer is a response on its way to a client; it arrives at the instant at.
type answer struct {
	bytes []byte
	at    time.Time
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// takes reports whether a request contains one of the listed strings. If so, it removes that string from the list.
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
