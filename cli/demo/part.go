package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	store "holdfast/store/postgres"
)

// backAfter is how long a part of the demo's cluster stays down after it has been killed.
const backAfter = 6 * time.Second

// part is one process of the demo's cluster. The demo restarts it whenever it exits.
type part struct {
	id      string           // node1, node2, redis or server
	url     *url.URL         // URL of a node
	socket  string           // socket of Redis
	command func() *exec.Cmd // returns a new command for each start

	mu      sync.Mutex
	running *exec.Cmd     // nil if it has ended
	back    time.Time     // when it restarts
	now     chan struct{} // a value restarts the process immediately
}

// run restarts the process whenever it ends, until ctx ends. Then it ends the process.
func (x *part) run(ctx context.Context) {
	for ctx.Err() == nil {
		c := x.command()
		harden(c, nil)
		ended := make(chan struct{})
		x.mu.Lock()
		err := c.Start()
		if err == nil {
			x.running = c
		}
		x.mu.Unlock()
		if err == nil {
			go func() { _ = c.Wait(); close(ended) }()
			select {
			case <-ended:
			case <-ctx.Done():
				endProcess(c, syscall.SIGTERM, ended)
			}
		}
		x.mu.Lock()
		x.running, x.back = nil, time.Now().Add(backAfter)
		x.mu.Unlock()
		pause := time.NewTimer(backAfter)
		select {
		case <-ctx.Done():
		case <-pause.C:
		case <-x.now:
		}
		pause.Stop()
	}
}

// endProcess sends the signal ask to a process, and kills the process if it does not end within 10 seconds.
func endProcess(c *exec.Cmd, ask syscall.Signal, ended <-chan struct{}) {
	_ = c.Process.Signal(ask)
	patience := time.NewTimer(10 * time.Second)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		_ = c.Process.Kill()
		<-ended
	}
}

// kill ends the process abruptly, like a crash. It reports whether the process was running.
func (x *part) kill() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.running != nil && x.running.Process.Kill() == nil
}

// start restarts the process immediately.
func (x *part) start() {
	select {
	case x.now <- struct{}{}:
	default:
	}
}

// partState is the state of a part, for the demo's page.
type partState struct {
	ID            string `json:"id"`
	State         string `json:"state"` // up, starting or down
	BackInSeconds int    `json:"backInSeconds,omitempty"`
	StorageMode   string `json:"storageMode,omitempty"` // storage mode of a node that is up
}

// state requests the state of the part.
func (x *part) state(ctx context.Context) partState {
	s := partState{ID: x.id, State: "starting"}
	x.mu.Lock()
	if x.running == nil {
		s.State, s.BackInSeconds = "down", max(1, int(time.Until(x.back).Round(time.Second)/time.Second))
	}
	x.mu.Unlock()
	if s.State == "down" {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if x.url == nil {
		if dials(ctx, "unix", x.socket) {
			s.State = "up"
		}
		return s
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, x.url.String()+"/readyz", nil)
	if err != nil {
		return s
	}
	reply, err := probe.Do(r)
	if err != nil {
		return s
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(reply.Body, 1<<12))
	if reply.StatusCode == http.StatusOK {
		s.State = "up"
		for _, mode := range []string{"redis", "fallback"} {
			if strings.Contains(string(text), `"storageMode":"`+mode+`"`) {
				s.StorageMode = mode
			}
		}
	}
	return s
}

// Cluster is the set of processes that this process has started.
type Cluster struct {
	parts []*part
	ends  []func() // called in reverse order
}

// begin starts a part and waits until it is up.
func (c *Cluster) begin(ctx context.Context, x *part) error {
	x.now = make(chan struct{}, 1)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { defer close(done); x.run(running) }()
	c.parts = append(c.parts, x)
	c.ends = append(c.ends, func() { stop(); <-done })
	return UntilUp(ctx, x.id, func(ctx context.Context) bool { return x.state(ctx).State == "up" })
}

// startTime is how long a part may take to start. It is long because a busy machine is slow. The operator can stop the
// wait with Ctrl-C.
const startTime = 2 * time.Minute

// UntilUp waits until up reports true, for at most startTime.
func UntilUp(ctx context.Context, what string, up func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for !up(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not respond within %s", what, startTime)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// Stop ends all parts, in reverse order.
func (c *Cluster) Stop() {
	for i := len(c.ends) - 1; i >= 0; i-- {
		c.ends[i]()
	}
}

// Programs holds the paths of the other programs that a cluster needs.
type Programs struct{ postgres, redis string } // the directory of PostgreSQL's programs; redis-server or valkey-server

// FindPrograms finds these programs on this machine. Its error names the missing ones and explains how to install them.
func FindPrograms() (found Programs, err error) {
	var missing []string
	servers, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	slices.SortFunc(servers, func(a, b string) int { return version(a) - version(b) })
	if path, err := exec.LookPath("postgres"); err == nil && len(servers) == 0 {
		servers = append(servers, path)
	}
	if len(servers) > 0 {
		found.postgres = filepath.Dir(servers[len(servers)-1])
	} else {
		missing = append(missing, "postgresql")
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			found.redis = path
		}
	}
	if found.redis == "" {
		missing = append(missing, "redis-server")
	}
	if len(missing) > 0 {
		names := strings.Join(missing, " ")
		return found, fmt.Errorf("demo --cluster needs PostgreSQL and Redis (or Valkey) on this machine. Not "+
			"installed: %s. On Debian: apt-get install %s. Without --cluster, the demo needs neither",
			strings.Join(missing, ", "), names)
	}
	return found, nil
}

// StartPostgres starts a PostgreSQL with an empty database and returns its URL. PostgreSQL refuses to run as root, so
// root runs it as the user postgres.
func (c *Cluster) StartPostgres(ctx context.Context, p Programs, dir string) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	who, err := postgresUser()
	if err != nil {
		return "", err
	}
	if who != nil {
		// The parent directory belongs to this process's user. The user postgres may only pass through it, and cannot
		// list it.
		if err := errors.Join(os.Chown(dir, who.uid, who.gid), os.Chmod(filepath.Dir(dir), 0o711)); err != nil {
			return "", err
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		x := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(p.postgres, name), args...)
		x.Dir = dir
		harden(x, who)
		return x
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "holdfast", "-A", "trust", "-E", "UTF8", "--no-sync",
		"--no-instructions").CombinedOutput(); err != nil {
		return "", fmt.Errorf("PostgreSQL's initdb: %w\n%s", err, out)
	}
	server := command("postgres", "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories="+dir,
		"-c", "max_connections=100", "-c", "log_min_messages=fatal")
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		return "", fmt.Errorf("PostgreSQL: %w", err)
	}
	ended := make(chan struct{})
	go func() { _ = server.Wait(); close(ended) }()
	c.ends = append(c.ends, func() { endProcess(server, syscall.SIGQUIT, ended) })
	at := (&url.URL{Scheme: "postgres", User: url.User("holdfast"), Path: "/postgres",
		RawQuery: url.Values{"host": {dir}, "sslmode": {"disable"}}.Encode()}).String()
	err = UntilUp(ctx, "PostgreSQL", func(ctx context.Context) bool {
		s, err := store.Open(ctx, store.Options{URL: at, Alone: true})
		return err == nil && s.Close() == nil
	})
	if err != nil {
		err = fmt.Errorf("%w. Its output: %s", err, said.String())
	}
	return at, err
}
