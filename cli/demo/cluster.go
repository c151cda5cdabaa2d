package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"holdfast/engine/clinic"
)

// Server describes a server of the demo: a process of this program with the hidden command `demo node`.
type Server struct {
	ID   string   // as shown on the demo's page
	Dir  string   // its data directory
	Log  string   // the file for its log
	Args []string // further arguments of the command
	Env  []string // all its environment variables
}

// StartServer starts a server and waits until it is up.
func (c *Cluster) StartServer(ctx context.Context, s Server) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the demo cannot find its own executable, which it needs to start another process: %w", err)
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	at, err := url.Parse("http://" + address)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"demo", "node", "--data", s.Dir, "--listen", address, "--trusted-proxies",
		"127.0.0.1/32"}, s.Args)
	return c.begin(ctx, &part{id: s.ID, url: at, command: func() *exec.Cmd {
		x := exec.Command(self, args...)
		x.Env, x.Stderr = s.Env, log
		return x
	}})
}

// StartRedis starts a Redis without a disk, with its socket and its log in dir, and returns its URL.
func (c *Cluster) StartRedis(ctx context.Context, p Programs, dir string) (string, error) {
	socket := filepath.Join(dir, "redis.sock")
	err := c.begin(ctx, &part{id: "redis", socket: socket, command: func() *exec.Cmd {
		return exec.Command(p.redis, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir",
			dir,
			"--logfile", filepath.Join(dir, "redis.log"))
	}})
	return "unix://" + socket, err
}

// Servers returns the id and the address of each server, in the order in which the servers were started.
func (c *Cluster) Servers() (all [][2]string) {
	for _, x := range c.parts {
		if x.url != nil {
			all = append(all, [2]string{x.id, x.url.String()})
		}
	}
	return all
}

// Serve serves the load balancer on front, with the visitors and the agent of a clinic, until ctx ends.
func (c *Cluster) Serve(ctx context.Context, front net.Listener, adminKey string, f clinic.File,
	log *slog.Logger) (err error) {
	base := "http://" + front.Addr().String()
	server := &http.Server{Handler: newBalancer(c, log), ReadHeaderTimeout: 5 * time.Second}
	defer server.Close()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(front) }()
	visitors, agent := NewVisitors(base, adminKey, f, log), NewAgent(base, adminKey, f, log)
	var crowd sync.WaitGroup
	visiting, leave := context.WithCancel(ctx)
	crowd.Go(func() { visitors.Run(visiting) })
	crowd.Go(func() { agent.Run(visiting) })
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	leave()
	crowd.Wait()
	return err
}

// freeAddress returns a free loopback address. A part listens on the same address after each restart.
func freeAddress() (string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return free.Addr().String(), free.Close()
}

// dials reports whether a process listens on an address.
func dials(ctx context.Context, network, address string) bool {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, network, address)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}
