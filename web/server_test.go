package web_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/holds/node/nodetest"
	"holdfast/web"
)

// serve runs Serve on a free port until the test ends or stop is called.
func (h *house) serve(change ...func(*web.Options)) (address string, stop context.CancelFunc, ended <-chan error) {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	// Run a second server, because the house's server is already running.
	var o web.Options
	for _, c := range change {
		c(&o)
	}
	s, err := web.New(h.engine, o)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	return l.Addr().String(), stop, done
}

// within fails the test unless the channel delivers within d.
func within[T any](t *testing.T, d time.Duration, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(d):
		t.Fatalf("%s did not happen within %s", what, d)
		panic("unreachable")
	}
}

func TestServeShutsDownInOrder(t *testing.T) {
	h := newHouse(t)
	address, stop, ended := h.serve()

	stream, err := http.Get("http://" + address + "/v1/holds/stream?appointmentTypeId=checkup&clientId=" + client(1))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"connected"`) {
	}

	// A request whose body arrives while the server stops still gets a response.
	slow, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	body := `{"appointmentTypeId":"checkup","slotStartDate":"` + h.at(0) + `","clientId":"` + client(2) + `"}`
	request := "POST /v1/holds HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	if _, err := io.WriteString(slow, request); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(slow)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("got %q, %v", line, err)
	}
	stop()
	heard := make(chan string, 1)
	go func() {
		said := ""
		for lines.Scan() {
			said += lines.Text() + "\n"
		}
		heard <- said
	}()
	if said := within(t, time.Minute, heard, "the end of the stream"); !strings.Contains(said,
		`"reason":"server-shutdown"`) {
		t.Errorf("the stream ended with %q", said)
	}
	if _, err := io.WriteString(slow, body); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(answers)
	if err != nil || !strings.Contains(string(rest), "201 Created") {
		t.Errorf("the running request got %q, %v", rest, err)
	}
	if err := within(t, time.Minute, ended, "the end of Serve"); err != nil {
		t.Errorf("Serve returned %v, want nil", err)
	}
	if _, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		t.Error("the server still accepts connections")
	}
}

func TestServeReportsListenerError(t *testing.T) {
	h := newHouse(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := web.New(h.engine, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), l) }()
	if err := within(t, time.Minute, ended, "the end of Serve"); err == nil {
		t.Error("Serve on a closed listener returned nil")
	}
}

func TestRequestHeadsAreBounded(t *testing.T) {
	t.Parallel() // waits for the real timeout
	h := newHouse(t)
	address, stop, ended := h.serve()
	defer func() { stop(); <-ended }()
	r, err := http.NewRequest("GET", "http://"+address+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Big", strings.Repeat("x", 32<<10))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a head of 32 KiB: got %d, want 431", answer.StatusCode)
	}
	began := time.Now()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\n"); err != nil {
		t.Fatal(err)
	}
	// without the server's timeout, the connection would stay open
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	took := nodetest.Took(func() { _, err = io.ReadAll(conn) }) // returns when the server's timeout has passed
	if took > 30*time.Second || time.Since(began) < 3*time.Second || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server waited %s (%v) for the rest of a head, want about 5 s", took, err)
	}
}

func TestNewNeedsEngine(t *testing.T) {
	if _, err := web.New(nil, web.Options{}); err == nil {
		t.Error("New returned a server without an engine")
	}
}

// TestIdleConnectionsPerNetworkAreBounded: only a limited number of idle connections from one network stay open. A
// proxy, which carries many visitors, has no such limit.
func TestIdleConnectionsPerNetworkAreBounded(t *testing.T) {
	t.Parallel() // waits on the real clock
	for _, c := range []struct {
		name    string
		options func(*web.Options)
		closed  int
	}{
		{"a visitor", func(o *web.Options) { o.RateLimit, o.Limits = true, web.Limits{IdlePerAddress: 2} }, 3},
		{"a proxy", limited(web.Limits{IdlePerAddress: 2}), 0},
		{"without the limits", func(o *web.Options) { o.Limits = web.Limits{IdlePerAddress: 2} }, 0},
	} {
		h := newHouse(t)
		address, stop, ended := h.serve(c.options)
		open := make([]net.Conn, 5)
		heads := make([]*bufio.Reader, len(open))
		const request = "HEAD /livez HTTP/1.1\r\nHost: x\r\n\r\n"
		for i := range open {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Minute))
			open[i], heads[i] = conn, bufio.NewReader(conn)
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(heads[i], &http.Request{Method: "HEAD"})
			if err != nil {
				t.Fatalf("%s: request %d: %v", c.name, i, err)
			}
			answer.Body.Close()
		}
		type read struct {
			conn  int
			alive bool
		}
		reads, left := make(chan read, len(open)), map[int]bool{}
		for i := range open {
			left[i] = true
			go func() {
				_, err := heads[i].ReadByte()
				reads <- read{i, err == nil}
			}()
		}
		for range c.closed {
			r := within(t, time.Minute, reads, c.name+": the end of a connection that waited longest")
			if delete(left, r.conn); r.alive {
				t.Errorf("%s: connection %d received data", c.name, r.conn)
			}
		}
		for i := range left {
			_, _ = io.WriteString(open[i], request)
		}
		for range left {
			if r := within(t, time.Minute, reads, c.name+": an answer"); !r.alive {
				t.Errorf("%s: connection %d was closed, but only %d of %d are open", c.name, r.conn, len(left),
					len(open))
			}
		}
		stop()
		within(t, time.Minute, ended, "the end of Serve")
	}
}
