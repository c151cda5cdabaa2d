package web

import (
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// keenListener returns connections that notice a vanished peer soon. While it drains, it still accepts the
// connections in the backlog: to a client such a connection is open, and its request may have been sent.
type keenListener struct {
	net.Listener
	draining atomic.Bool
	latest   time.Time // when draining ends in any case; set before draining
}

const (
	// vanishTime is how long data can stay unacknowledged before the connection is closed. Without it the kernel
	// keeps trying for 15 minutes.
	vanishTime = 5 * time.Second
	// quietTime is how long a draining listener waits without a new connection before it ends.
	quietTime = 20 * time.Millisecond
	drainTime = time.Second
)

// errDrained ends http.Server.Serve, which closes the listener.
var errDrained = errors.New("every waiting connection was accepted")

func (l *keenListener) Accept() (net.Conn, error) {
	for {
		draining := l.draining.Load()
		if draining {
			if err := l.quiet(); err != nil {
				return nil, err
			}
		}
		conn, err := l.Listener.Accept()
		if l.draining.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
			if draining {
				return nil, errDrained
			}
			continue // the deadline passed before drain, and a client may have connected in the same moment
		}
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			giveUpSoon(tcp, vanishTime)
		}
		return conn, err
	}
}

// drain makes Accept return an error once the backlog is empty. It reports whether it can: not every kind of listener
// supports it.
func (l *keenListener) drain() bool {
	if _, ok := l.Listener.(interface{ SetDeadline(time.Time) error }); !ok {
		return false
	}
	l.latest = time.Now().Add(drainTime)
	l.draining.Store(true)
	return l.quiet() == nil
}

// quiet bounds the next wait for a connection.
func (l *keenListener) quiet() error {
	now := time.Now()
	if now.After(l.latest) {
		return errDrained
	}
	return l.Listener.(interface{ SetDeadline(time.Time) error }).SetDeadline(now.Add(quietTime))
}

// openConns counts the connections that a server has, streams aside.
type openConns struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when the waiting server has none left; nil while no server waits
}

// count is the server's ConnState.
func (o *openConns) count(_ net.Conn, state http.ConnState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch state {
	case http.StateNew:
		o.n++
	case http.StateHijacked, http.StateClosed:
		if o.n--; o.n == 0 && o.none != nil {
			close(o.none)
			o.none = nil
		}
	}
}

// wait returns when there are none left, and after d at the latest.
func (o *openConns) wait(d time.Duration) {
	o.mu.Lock()
	if o.n == 0 {
		o.mu.Unlock()
		return
	}
	none := make(chan struct{})
	o.none = none
	o.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	}
}
