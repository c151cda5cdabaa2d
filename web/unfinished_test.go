package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/web"
	"holdfast/web/pipetest"
)

// oneNetwork gives every connection the same address, so that the limits per address apply.
type oneNetwork struct{ *pipetest.Listener }

type connOfNetwork struct{ net.Conn }

func (l oneNetwork) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return connOfNetwork{conn}, err
}

func (c connOfNetwork) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}
}

// TestUnfinishedBodiesAreClosed: a client announces a body and does not send it. The server closes the connection after
// at most 30 seconds, or after 1 second if it has refused the request. The server responds to each of 600 such requests
// from one address, and serves other visitors in the meantime.
func TestUnfinishedBodiesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.Database(t)
		logger := slog.New(slog.DiscardHandler)
		e, err := engine.New(t.Context(), engine.Options{Store: db,
			Holds: enginetest.Holds(t, db), AdminKey: adminKey, Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Clinic.Import(t.Context(), "system", clinicFile()); err != nil {
			t.Fatal(err)
		}
		s, err := web.New(e, web.Options{Logger: logger, Version: "test", RateLimit: true})
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Run(t, e.Run)
		listener := pipetest.NewListener()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = s.Serve(ctx, oneNetwork{listener}) })
		defer running.Wait()
		defer stop()

		const each = 100
		refused := map[string]string{
			"a foreign origin": "POST /v1/holds HTTP/1.1\r\nHost: x\r\nOrigin: https://elsewhere.example\r\nSec-Fetch-Site: cross-site\r\n",
			"a bad key":        "POST /v1/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer hfk_wrong\r\n",
			"no such route":    "POST /v1/nothing HTTP/1.1\r\nHost: x\r\n",
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		took := map[string]time.Duration{} // the longest time
		send := func(name, head string) {
			conn, err := listener.Dial(t.Context(), "", "")
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			began := time.Now()
			if _, err := io.WriteString(conn, head+
				"Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"); err != nil {
				t.Error(err)
				return
			}
			_ = conn.SetReadDeadline(began.Add(5 * time.Minute))
			answer, err := io.ReadAll(conn)
			if !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
				t.Errorf("%s: answer %q, want an error", name, answer)
			}
			if errors.Is(err, io.ErrClosedPipe) {
				err = nil
			}
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("%s: the connection is still open after %s", name, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			took[name] = max(took[name], time.Since(began))
		}
		for name, head := range refused {
			for range each {
				all.Go(func() { send(name, head) })
			}
		}
		for n := range 3 * each {
			all.Go(func() {
				send("accepted", fmt.Sprintf("POST /v1/holds HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nX-Request-Id: a%d\r\n", adminKey, n))
			})
		}
		synctest.Wait()

		visitor, err := listener.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer visitor.Close()
		_, _ = io.WriteString(visitor, "GET /v1/clinic HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(visitor), nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("a visitor in the meantime: %+v, %v", answer, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		all.Wait()
		for name := range refused {
			if took[name] > 5*time.Second {
				t.Errorf("%s: closed after %s, want a second or two", name, took[name])
			}
		}
		if took["accepted"] > 35*time.Second {
			t.Errorf("accepted: closed after %s, want 30 s", took["accepted"])
		}
	})
}
