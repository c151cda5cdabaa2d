// Package redistest starts Redis and Valkey servers for tests and simulates their failures: it kills, freezes and
// disconnects them, and starts them empty. A server listens on a Unix socket in its own directory and stops at the end
// of its test.
package redistest

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Programs lists the installed server programs. If there are none, it skips the test.
func Programs(t testing.TB) (found []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("short run: no Redis")
	}
	for _, program := range []string{"redis-server", "valkey-server"} {
		if _, err := exec.LookPath(program); err == nil {
			found = append(found, program)
		}
	}
	if len(found) == 0 {
		t.Skip("SKIPPED: neither redis-server nor valkey-server is installed; apt-get install redis-server")
	}
	return found
}

// Server is one running server without persistence.
type Server struct {
	t       testing.TB
	program string
	dir     string
	command *exec.Cmd
	proxies atomic.Int64
}

// Start starts one of the Programs and waits until it responds.
func Start(t testing.TB, program string) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-redis") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, program: program, dir: dir}
	t.Cleanup(func() {
		s.Kill()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s.Restart()
	return s
}

// Socket returns the path of the server's socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, "socket") }

// URL returns the server's URL for redis.Open.
func (s *Server) URL() string { return "unix://" + s.Socket() }

// Kill kills the server, as a crash would. Its data is lost.
func (s *Server) Kill() {
	if s.command != nil {
		_ = s.command.Process.Kill()
		_ = s.command.Wait()
		s.command = nil
	}
}

// Restart starts an empty server. If the old server is still running, Restart kills it first.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.command = exec.Command(s.program, "--port", "0", "--unixsocket", s.Socket(), "--dir", s.dir, "--save", "",
		"--appendonly", "no",
		"--logfile", filepath.Join(s.dir, "log"))
	dieWithParent(s.command)
	if err := s.command.Start(); err != nil {
		s.command = nil
		s.t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Minute)
	for !s.answers() {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s does not answer", s.program)
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *Server) answers() bool { return s.ask("PING") == "+PONG\r\n" }

// ask sends a command and returns the first line of the reply, or an empty string if there is none.
func (s *Server) ask(command string) string {
	c, err := net.Dial("unix", s.Socket())
	if err != nil {
		return ""
	}
	defer c.Close()
	if _, err := c.Write([]byte(command + "\r\n")); err != nil {
		return ""
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return ""
	}
	return line
}

// Set sets a key to a value without spaces.
func (s *Server) Set(key, value string) {
	s.t.Helper()
	if got := s.ask("SET " + key + " " + value); got != "+OK\r\n" {
		s.t.Fatalf("SET %s: got %q", key, got)
	}
}

// Flush empties the server. Its connections stay open.
func (s *Server) Flush() {
	s.t.Helper()
	if got := s.ask("FLUSHALL"); got != "+OK\r\n" {
		s.t.Fatalf("FLUSHALL: got %q", got)
	}
}

// Freeze suspends the server: connections stay open, but requests get no response.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw resumes a frozen server, which then handles the requests that arrived while it was frozen.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.command.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
