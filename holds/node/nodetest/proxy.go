// Package nodetest is for the tests of backends that are reached over a socket: it loses what passes on it.
package nodetest

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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
	mute   bool
	late   time.Duration
	nth    int // each so many answers one is lost; 0: none
	count  int
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

// Mute has everything be done that is asked and every answer be lost, or ends that, and with it the connections on which answers
// are missing.
func (p *Proxy) Mute(mute bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute = mute; !mute {
		p.cut()
	}
}

// Delay has every answer come that much later, in order. Zero ends it for the answers that are not on their way yet.
func (p *Proxy) Delay(late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = late
}

// LoseEvery has each n-th answer be lost, with its connection. Zero ends it.
func (p *Proxy) LoseEvery(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nth = n
}

// passes says whether an answer passes, and when, or whether the connection is cut in its place.
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
				return // which closes the client's connection, and that the server's
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

// answer is on its way to a client, where it arrives at an instant.
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
