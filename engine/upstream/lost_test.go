package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// raw serves connections one at a time with fn, which does not have to use HTTP.
func raw(t *testing.T, fn func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fn(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String() + "/GetData.ashx"
}

// readRequest reads a request to its end, like a server that then fails.
func readRequest(conn net.Conn) {
	var got []byte
	buffer := make([]byte, 4096)
	for !bytes.Contains(got, []byte("</GetDataRequest>")) {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		got = append(got, buffer[:n]...)
	}
}

// TestLostCalls checks outcomes without a response, over real connections. If the other side may have read the request,
// the outcome is Unknown. If it cannot have read the request, the outcome is not Unknown.
func TestLostCalls(t *testing.T) {
	canned := func(status, body string) string {
		return raw(t, func(conn net.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, "HTTP/1.1 "+status+"\r\n"+body)
		})
	}
	yes := string(testdata(t, "appointment-added"))
	quiet := log.New(io.Discard, "", 0)
	https := httptest.NewUnstartedServer(http.NotFoundHandler())
	https.Config.ErrorLog = quiet
	https.StartTLS()
	defer https.Close()

	tests := []struct {
		name    string
		options func() Options
		class   Class
		detail  string
	}{
		{"no listener", func() Options { return options("http://127.0.0.1:1") }, NotSent, "the connection was refused"},
		{"the name is not known", func() Options {
			o := options("http://upstream.example")
			o.HTTP = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string,
				string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host",
					Name: "upstream.example", IsNotFound: true}}
			}}}
			return o
		}, NotSent, "its host name was not found"},
		{"a transport that reports nothing cannot dial", func() Options {
			o := options("http://upstream.example")
			o.HTTP = &http.Client{Transport: trip(func(*http.Request) (*http.Response, error) {
				return nil, &net.OpError{Op: "dial", Err: errors.New("no route to host")}
			})}
			return o
		}, NotSent, "no connection"},
		{"a transport that reports nothing fails", func() Options {
			o := options("http://upstream.example")
			o.HTTP = &http.Client{Transport: trip(func(*http.Request) (*http.Response, error) {
				return nil, io.ErrUnexpectedEOF
			})}
			return o
		}, Unknown, "the connection was cut before the answer"},
		{"an untrusted certificate", func() Options { return options(https.URL) },
			Misconfigured, "its certificate is not valid"},
		{"no TLS at an https address", func() Options {
			return options(strings.Replace(raw(t, func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			}), "http:", "https:", 1))
		}, Misconfigured, "it does not use TLS at this address"},
		{"neither TLS nor HTTP at an https address", func() Options {
			return options(strings.Replace(raw(t, func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, "220 mail ready\r\n")
			}), "http:", "https:", 1))
		}, Misconfigured, "it does not use TLS at this address"},
		{"cut without a byte, before reading", func() Options { return options(raw(t, func(net.Conn) {})) },
			Unknown, "the connection was cut before the answer"},
		{"cut without a byte, after reading", func() Options { return options(raw(t, readRequest)) },
			Unknown, "the connection was cut before the answer"},
		{"no HTTP", func() Options {
			return options(raw(t, func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, "hello\r\n") }))
		},
			Unknown, "the connection was cut before the answer"},
		{"cut in the middle of the answer", func() Options {
			return options(canned("200 OK", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(yes), yes[:len(yes)/2])))
		}, Unknown, "the answer was incomplete"},
		{"cut in the middle of an answer of no announced length", func() Options {
			return options(canned("200 OK", "\r\n"+yes[:len(yes)/2]))
		}, Unknown, "the answer was not complete XML"},
		{"an answer without end", func() Options {
			return options(canned("200 OK", "\r\n"+yes+strings.Repeat(" ", maxAnswer)))
		}, Unknown, "the answer was larger than 1 MiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := client(t, test.options()).SetAppointment(context.Background(), wanted(t))
			var e *Error
			if !errors.As(err, &e) || e.Class != test.class || e.Detail != test.detail {
				t.Fatalf("got %v, want class %q and %q", err, test.class, test.detail)
			}
			private(t, err)
		})
	}
}

// TestTimeoutTellsWhetherCallWasSent: a call that got no connection was not sent; if a call got no response, its
// outcome is unknown. Because time is virtual, a busy machine cannot make the timeout expire at a different step.
func TestTimeoutTellsWhetherCallWasSent(t *testing.T) {
	tests := []struct {
		name   string
		dial   func(gaveUp <-chan struct{}) (net.Conn, error)
		class  Class
		detail string
	}{
		{"dialling", func(gaveUp <-chan struct{}) (net.Conn, error) {
			<-gaveUp
			return nil, net.ErrClosed
		}, NotSent, "no connection in time"},
		{"waiting for the answer", func(<-chan struct{}) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				_, _ = io.Copy(io.Discard, there)
				_ = there.Close()
			}()
			return here, nil
		}, Unknown, "no answer in time"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options("http://127.0.0.1:1")
				gaveUp := make(chan struct{})
				defer close(gaveUp) // the transport continues to dial after the call has ended
				o.HTTP = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string,
					string) (net.Conn, error) {
					return test.dial(gaveUp)
				}}}
				_, err := client(t, o).SetAppointment(t.Context(), wanted(t))
				var e *Error
				if !errors.As(err, &e) || e.Class != test.class || e.Detail != test.detail {
					t.Fatalf("got %v, want class %q and %q", err, test.class, test.detail)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got cause %v, want context.DeadlineExceeded", errors.Unwrap(err))
				}
				private(t, err)
			})
		})
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestCallerTimeoutIsUnknown: if the caller is cancelled before the call, nothing was sent. If it is cancelled while it
// waits for the response, the outcome is unknown.
func TestCallerTimeoutIsUnknown(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	url := raw(t, func(conn net.Conn) {
		readRequest(conn)
		cancel()
		_, _ = io.Copy(io.Discard, conn)
	})
	c := client(t, options(url))
	_, err := c.SetAppointment(ctx, wanted(t))
	if ClassOf(err) != Unknown || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: got %v, want class %q and context.Canceled", err, Unknown)
	}
	_, err = c.SetAppointment(ctx, wanted(t))
	if ClassOf(err) != NotSent || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before the call: got %v, want class %q and context.Canceled", err, NotSent)
	}
	ctx, cancel = context.WithCancel(context.Background())
	o := options("http://127.0.0.1:1")
	o.HTTP = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
		_ string) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}}
	_, err = client(t, o).SetAppointment(ctx, wanted(t))
	if ClassOf(err) != NotSent || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while dialling: got %v, want class %q and context.Canceled", err, NotSent)
	}
}

// TestRedirectsAreNotFollowed: credentials are sent only to the configured address.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		visited := false
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited = true }))
		server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, status))
		for _, o := range []Options{options(server.URL), {URL: server.URL,
			ClientID: "c", User: "u", Password: "p", HTTP: &http.Client{}}} {
			_, err := client(t, o).SetAppointment(context.Background(), wanted(t))
			if ClassOf(err) != Misconfigured || visited {
				t.Errorf("%d: got %v, sent: %v; want class %q and not sent", status, err, visited, Misconfigured)
			}
		}
		server.Close()
		elsewhere.Close()
	}
}
