package redistest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

// Watched is a primary, its replica, and a Sentinel that promotes the replica when Promote is called.
type Watched struct {
	t        testing.TB
	sentinel string // port
	ports    [2]string
	servers  [2]*exec.Cmd
}

const (
	// calm is how long the primary may be unreachable before Promote, in milliseconds. A busy machine can stall servers
	// for half a second: with a shorter time, the Sentinel would promote the replica even though the primary is alive.
	calm = "600000"
	// prompt is the same limit during Promote.
	prompt = "500"
	// tilt is how long a Sentinel does nothing after its process has been stopped for 2 s.
	tilt = 30 * time.Second
)

// StartWatched starts all three servers with one of the Programs, on loopback ports: a Sentinel does not support Unix
// sockets.
func StartWatched(t testing.TB, program string) *Watched {
	t.Helper()
	w := &Watched{t: t}
	w.ports[0], w.ports[1] = strconv.Itoa(clitest.Port(t)), strconv.Itoa(clitest.Port(t))
	w.servers[0] = run(t, program, w.ports[0])
	w.servers[1] = run(t, program, w.ports[1], "--replicaof", "127.0.0.1 "+w.ports[0], "--repl-diskless-sync-delay",
		"0")
	w.await("the replica follows", func() bool {
		return strings.Contains(ask(w.ports[1], "INFO replication"), "master_link_status:up")
	})
	w.sentinel = strconv.Itoa(clitest.Port(t))
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor clinic 127.0.0.1 %s 1\nsentinel down-after-milliseconds clinic %s\n"+
		"sentinel failover-timeout clinic 3000\n", w.sentinel, w.ports[0], calm)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	runCommand(t, w.sentinel, exec.Command(program, file, "--sentinel"))
	w.await("the Sentinel knows both", func() bool {
		said := ask(w.sentinel, "INFO sentinel")
		return strings.Contains(said, "status=ok") && strings.Contains(said, "slaves=1")
	})
	return w
}

// URL returns the Sentinel's URL for redis.Open.
func (w *Watched) URL() string { return "redis://127.0.0.1:" + w.sentinel + "/0?master_name=clinic" }

// Kill kills the primary. There is no primary until Promote.
func (w *Watched) Kill() {
	_ = w.servers[0].Process.Kill()
	_ = w.servers[0].Wait()
}

// Promote lets the Sentinel notice that the primary is dead, and waits until it has promoted the replica.
func (w *Watched) Promote() {
	w.t.Helper()
	said := ask(w.sentinel, "SENTINEL SET clinic down-after-milliseconds "+prompt)
	if !strings.HasPrefix(said, "+OK") {
		w.t.Fatalf("SENTINEL SET: got %q", said)
	}
	w.await("the replica is promoted", func() bool {
		return strings.Contains(ask(w.ports[1], "INFO replication"), "role:master")
	})
}

func (w *Watched) await(what string, ok func() bool) {
	w.t.Helper()
	for began := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 20*tilt {
			w.t.Fatalf("still not: %s\nSentinel:\n%s\nprimary:\n%s\nreplica:\n%s", what,
				ask(w.sentinel, "INFO sentinel"), ask(w.ports[0], "INFO replication"),
				ask(w.ports[1], "INFO replication"))
		}
	}
}

// run starts a server on a port, without persistence. It stops at the end of the test.
func run(t testing.TB, program, port string, args ...string) *exec.Cmd {
	t.Helper()
	return runCommand(t, port, exec.Command(program,
		append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--appendonly",
			"no"}, args...)...))
}

func runCommand(t testing.TB, port string, c *exec.Cmd) *exec.Cmd {
	t.Helper()
	dieWithParent(c)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	for began := time.Now(); !strings.Contains(ask(port, "PING"), "PONG"); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("%s does not answer", c.Path)
		}
	}
	return c
}

// ask sends one command and returns the reply.
func ask(port, command string) string {
	c, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte(command + "\r\nPING\r\n")); err != nil {
		return ""
	}
	var said strings.Builder
	for lines := bufio.NewScanner(c); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if lines.Text() == "+PONG" {
			break
		}
	}
	return said.String()
}
