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

// keenListener accepts connections that close within vanishTime after their peer has vanished. While it drains, it
// still accepts the connections in the backlog: for their clients these connections are open, and a client may already
// have sent its request.
type keenListener struct {
	net.Listener
	draining atomic.Bool
	latest   time.Time // the latest end of draining; set before draining
}

const (
	// vanishTime is how long data can stay unacknowledged before the kernel closes the connection. Without this limit,
	// the kernel resends the data for 15 minutes.
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
			continue // drain began during this Accept; accept again, because a client may have just connected
		}
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			giveUpSoon(tcp, vanishTime)
		}
		return conn, err
	}
}

// drain makes Accept return an error once the backlog is empty. It returns false if the listener does not support this.
func (l *keenListener) drain() bool {
	if _, ok := l.Listener.(interface{ SetDeadline(time.Time) error }); !ok {
		return false
	}
	l.latest = time.Now().Add(drainTime)
	l.draining.Store(true)
	return l.quiet() == nil
}

// quiet limits the next wait for a connection to quietTime. After the latest end of draining, it returns errDrained.
func (l *keenListener) quiet() error {
	now := time.Now()
	if now.After(l.latest) {
		return errDrained
	}
	return l.Listener.(interface{ SetDeadline(time.Time) error }).SetDeadline(now.Add(quietTime))
}

// openConns counts the open connections of a server, except streams.
type openConns struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when no connection is open; nil while wait is not running
}

// count is the ConnState function of the http.Server.
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

// wait returns when no connection is open, but after d at the latest.
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
