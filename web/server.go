package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a connection. Streams have their own deadlines, one per frame.
const (
	headerTime = 5 * time.Second
	idleTime   = 60 * time.Second
	writeTime  = 90 * time.Second // from the end of a request's head to the end of its response
	maxHeader  = 16 << 10
	finishTime = 10 * time.Second       // for running requests when the server stops
	graceTime  = 500 * time.Millisecond // for requests that were sent on idle connections just before the stop
)

// Door is a listener for TLS connections.
type Door struct {
	Listener net.Listener
	TLS      *tls.Config // only the configuration of the first door is used
}

// Serve serves requests on l, and with TLS on the doors, and runs Run, until ctx ends. Then it drains: it accepts only
// the clients that have already connected, notifies the streams and waits at most 2 s for them, responds to every
// request that has been sent, and closes the connections. It returns nil if it stopped because ctx ended.
func (s *Server) Serve(ctx context.Context, l net.Listener, doors ...Door) error {
	keen := []*keenListener{{Listener: l}}
	open := new(openConns)
	server := &http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		ConnState:         open.count,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		WriteTimeout:      writeTime,
		MaxHeaderBytes:    maxHeader - 4<<10, // net/http adds 4 KiB to it
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	if s.options.RateLimit {
		of := newConnections(s.limits.IdlePerAddress, s.limits.ConnectionsPerAddress, s.trusts)
		server.ConnState = func(conn net.Conn, state http.ConnState) {
			open.count(conn, state)
			of.changed(conn, state)
		}
	}
	var all sync.WaitGroup
	defer all.Wait()
	stop := make(chan error, 1+len(doors))
	for _, d := range doors {
		keen, server.TLSConfig = append(keen, &keenListener{Listener: d.Listener}), doors[0].TLS
	}
	all.Go(func() { stop <- server.Serve(keen[0]) })
	for _, door := range keen[1:] {
		all.Go(func() { stop <- server.ServeTLS(door, "", "") })
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	all.Go(func() { s.Run(working) }) // the streams are notified when Run ends
	select {
	case err := <-stop:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	s.draining.Store(true)
	drained := 0
	for _, each := range keen {
		if each.drain() {
			drained++
		}
	}
	for range drained {
		<-stop
	}
	if drained > 0 {
		open.wait(graceTime)
	}
	finish, cancelFinish := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancelFinish()
	err := server.Shutdown(finish)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("stopped with requests still running", "waited", finishTime)
		return server.Close()
	}
	return err
}

// serveHTTP handles a request. While the server drains, the response closes the connection, so that the client sends no
// further request on this connection.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		w.Header().Set("Connection", "close")
	}
	s.router.ServeHTTP(w, r)
}
