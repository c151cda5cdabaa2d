package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Times of a connection. Streams have their own deadlines, one per frame.
const (
	headerTime = 5 * time.Second
	idleTime   = 60 * time.Second
	writeTime  = 90 * time.Second // from the end of a request's head to the end of its answer
	maxHeader  = 16 << 10
	finishTime = 10 * time.Second // for requests under way when the server is asked to stop
)

// Serve answers on l until ctx ends, and then drains: no more connections are taken, the streams are told and waited
// for at most two seconds, the requests under way are finished, and everything is closed. It does the work of Run
// meanwhile. It returns nil if ctx ended it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.router,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		WriteTimeout:      writeTime,
		MaxHeaderBytes:    maxHeader - 4<<10, // net/http reads 4 KiB more than it is told
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	if s.options.RateLimit {
		server.ConnState = newIdleConns(s.limits.IdlePerAddress, s.trusts).changed
	}
	var all sync.WaitGroup
	defer all.Wait()
	stop := make(chan error, 1)
	all.Go(func() { stop <- server.Serve(&keenListener{l}) })
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	all.Go(func() { s.Run(working) }) // its end tells the streams
	select {
	case err := <-stop:
		return err
	case <-ctx.Done():
	}
	s.draining.Store(true)
	finish, cancelFinish := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancelFinish()
	err := server.Shutdown(finish)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("some requests were still under way when the server stopped", "waited", finishTime)
		return server.Close()
	}
	return err
}

// keenListener hands out connections that notice a vanished peer soon.
type keenListener struct{ net.Listener }

// vanishTime is how long data may stay unacknowledged before the connection is given up. Without it the kernel keeps
// trying for a quarter of an hour.
const vanishTime = 5 * time.Second

func (l *keenListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		giveUpSoon(tcp, vanishTime)
	}
	return conn, err
}
