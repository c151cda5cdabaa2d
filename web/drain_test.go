package web_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/web"
)

const plainGet = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"

// answered reads one response from a connection and closes it.
func answered(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	answer, err := answerOn(conn)
	if err != nil {
		t.Fatalf("the request got no answer: %v", err)
	}
	return answer
}

func answerOn(conn net.Conn) (*http.Response, error) {
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	return answer, answer.Body.Close()
}

// TestShutdownAnswersIdleConnection: a request on an idle connection gets a response even though the server has already
// been asked to stop. The response closes the connection. The server only waits half a second for such requests, so the
// test tries again if the machine was too busy to send one in this time.
func TestShutdownAnswersIdleConnection(t *testing.T) {
	t.Parallel() // waits on the real clock
	for attempt := range 6 {
		answer, err := askStoppingServer(t)
		if err != nil {
			t.Logf("attempt %d: %v", attempt, err)
			continue
		}
		if answer.StatusCode != http.StatusOK || !answer.Close {
			t.Errorf("got %d, close %v; want 200 and the connection closed", answer.StatusCode, answer.Close)
		}
		return
	}
	t.Error("no request got an answer")
}

// askStoppingServer sends a request on an idle connection of a server that no longer accepts new connections.
func askStoppingServer(t *testing.T) (*http.Response, error) {
	t.Helper()
	h := newHouse(t)
	address, stop, ended := h.serve()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, plainGet); err != nil {
		t.Fatal(err)
	}
	first, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || first.Close {
		t.Fatalf("before: got %+v, %v", first, err)
	}
	stop()
	for { // until the server refuses new connections
		late, err := net.DialTimeout("tcp", address, 20*time.Millisecond)
		if errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
		if err == nil { // an error means that the machine is busy and the dial timed out
			late.Close()
		}
	}
	_, err = io.WriteString(conn, plainGet)
	answer, readErr := answerOn(conn)
	if err := within(t, time.Minute, ended, "the end of Serve"); err != nil {
		t.Errorf("Serve returned %v, want nil", err)
	}
	return answer, errors.Join(err, readErr)
}

// gated is a listener that accepts no connection until its server is stopped.
type gated struct {
	*net.TCPListener
	opening sync.Once
	open    chan struct{}
}

func (g *gated) Accept() (net.Conn, error) { <-g.open; return g.TCPListener.Accept() }
func (g *gated) SetDeadline(t time.Time) error {
	defer g.opening.Do(func() { close(g.open) })
	return g.TCPListener.SetDeadline(t)
}
func (g *gated) Close() error {
	defer g.opening.Do(func() { close(g.open) })
	return g.TCPListener.Close()
}

// TestShutdownAnswersNewConnection: a request on a connection in the backlog gets a response, even though the server
// had not accepted the connection before the stop.
func TestShutdownAnswersNewConnection(t *testing.T) {
	h := newHouse(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := web.New(h.engine, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, &gated{TCPListener: l.(*net.TCPListener), open: make(chan struct{})}) }()
	var waiting []net.Conn
	for range 30 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			_, err = io.WriteString(conn, plainGet)
		}
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, conn)
	}
	stop()
	for _, conn := range waiting {
		answered(t, conn)
	}
	if err := within(t, time.Minute, ended, "the end of Serve"); err != nil {
		t.Errorf("Serve returned %v, want nil", err)
	}
}
