package cli

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestHungServerSendsNoWatchdog: the watchdog reports stop while the server does not respond, and continue when it
// responds again.
func TestHungServerSendsNoWatchdog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hung atomic.Bool
		hung.Store(true)
		reports := make(chan string, 100)
		m := &manager{
			notify: func(state string) { reports <- state },
			alive: func(ctx context.Context) error {
				if hung.Load() {
					return errors.New("connection refused")
				}
				return nil
			},
			watchdog: 20 * time.Second,
		}
		ctx, stop := context.WithCancel(t.Context())
		go m.run(ctx)
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for len(reports) > 0 {
				got = append(got, <-reports)
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("%s: got %v, want %v", when, got, want)
			}
		}
		time.Sleep(time.Minute)
		expect("before the server answers")
		hung.Store(false)
		time.Sleep(time.Second)
		expect("after the first answer", "READY=1", "WATCHDOG=1")
		time.Sleep(20 * time.Second)
		expect("20 s later", "WATCHDOG=1", "WATCHDOG=1")
		hung.Store(true)
		time.Sleep(time.Minute)
		expect("while the server hangs")
		hung.Store(false)
		time.Sleep(10 * time.Second)
		expect("after it answers again", "WATCHDOG=1")
		stop()
		expect("at the end", "STOPPING=1")
	})
}

// TestServeNotifiesServiceManager starts a server with a socket like that of systemd.
func TestServeNotifiesServiceManager(t *testing.T) {
	t.Parallel()
	short, err := os.MkdirTemp("", "notify") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(short, "socket"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	s := startedWith(t, []string{"NOTIFY_SOCKET=" + socket.LocalAddr().String(), "WATCHDOG_USEC=400000"},
		"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0")
	next := func() string {
		t.Helper()
		_ = socket.SetReadDeadline(time.Now().Add(10 * time.Minute))
		b := make([]byte, 1<<10)
		n, err := socket.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	for i, want := range []string{"STATUS=Starting", "READY=1\nSTATUS=Serving " + s.base, "WATCHDOG=1", "WATCHDOG=1"} {
		if got := next(); got != want {
			t.Errorf("message %d: got %q, want %q", i, got, want)
		}
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for {
		got := next()
		if got == "STOPPING=1" {
			break
		}
		if got != "WATCHDOG=1" {
			t.Fatalf("at the stop: got %q, want STOPPING=1", got)
		}
	}
	if code := s.ended(t); code != 0 {
		t.Errorf("exit code %d, want 0; it logged %s", code, s.stderr)
	}
}
