package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLeasesAreBounded: the init frame contains the lease, and the stream ends when the lease expires or at most a
// tenth earlier.
func TestLeasesAreBounded(t *testing.T) {
	for _, c := range []struct{ asked, want time.Duration }{
		{0, DefaultLease}, {time.Minute, time.Minute}, {MaxLease, MaxLease}, {MaxLease + time.Millisecond, MaxLease},
		{30 * 24 * time.Hour, MaxLease},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStreams(t, Options{})
			r, began := s.listen("checkup", "", c.asked), time.Now()
			var init struct{ LeaseMs int64 }
			_, data, _ := strings.Cut(r.upTo("init").text, "data: ")
			if err := json.Unmarshal([]byte(data), &init); err != nil || init.LeaseMs != c.want.Milliseconds() {
				t.Errorf("with %s requested, the lease is %d ms, want %d (%v)", c.asked, init.LeaseMs, c.want.Milliseconds(), err)
			}
			end := r.upTo("end")
			lived := time.Since(began)
			if end.Reason != string(endLeaseExpired) || lived < c.want*9/10 || lived > c.want+time.Second {
				t.Errorf("with %s requested, the stream ended after %s with %s, want at most %s and lease-expired", c.asked,
					lived, end.Reason, c.want)
			}
		})
	}
}

// TestStreamContinuesOverHTTP2: a stream whose connection cannot be taken over continues after the time limit of a
// write, until its lease expires.
func TestStreamContinuesOverHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{WriteTimeout: 5 * time.Second, Ping: 15 * time.Second})
		r, began := s.overHTTP2(Request{Topic: "checkup", Lease: 2 * time.Minute}), time.Now()
		r.upTo("connected")
		for range 3 {
			r.upTo("ping")
		}
		if end := r.upTo("end"); end.Reason != string(endLeaseExpired) || time.Since(began) < time.Minute {
			t.Errorf("the stream ended after %s with %s, want %s", time.Since(began), end.Reason, endLeaseExpired)
		}
	})
}

// overHTTP2 opens the requested stream through an HTTP/2 server.
func (s *streams) overHTTP2(q Request) *reader {
	s.t.Helper()
	near, far := net.Pipe()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	listener := &pipeListener{conns: make(chan net.Conn, 1)}
	listener.conns <- near
	server := &http.Server{Protocols: protocols, WriteTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if err := s.hub.Open(w, r, q); err != nil {
				s.t.Error(err)
			}
		})}
	go func() { _ = server.Serve(listener) }()
	calls := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return far, nil
	}}
	answer, err := (&http.Client{Transport: calls}).Get("http://clinic.test/v1/holds/stream")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = answer.Body.Close()
		calls.CloseIdleConnections()
		_ = server.Close()
		_ = far.Close()
	})
	if answer.ProtoMajor != 2 {
		s.t.Fatalf("the stream is over %s, want HTTP/2", answer.Proto)
	}
	return &reader{t: s.t, conn: far, in: bufio.NewReader(answer.Body)}
}

// pipeListener accepts the connections in conns.
type pipeListener struct{ conns chan net.Conn }

func (l *pipeListener) Accept() (net.Conn, error) {
	conn, isOpen := <-l.conns
	if !isOpen {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l *pipeListener) Close() error {
	close(l.conns)
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{} }
